"""`tts-service`: finds the command, and turns errors into one line and a named exit code."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from tts_service import __version__
from tts_service.errors import ExitCode, ProcessMustEnd, RequestFailed

_COMMANDS = {
    "serve": "start the whole service on this machine",
    "gateway": "start the HTTP half",
    "workers": "start the synthesis half",
    "say": "speak a text into a file",
    "render": "speak a list of phrases into the cache",
    "plan": "show the machine and which worker gets which CPUs",
    "voices": "list and check a directory of Piper voices",
    "check": "check the settings and print those in effect",
    "key": "make an API key",
    "drain": "take a running service out of use without cutting anybody off",
    "reload": "take new voices and settings, one worker after the other",
    "install-units": "install the systemd units for this virtual environment",
    "bench": "measure a server",
}


class LazyGroup(click.Group):
    """Imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command, or None where there is none of that name."""
        if name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"tts_service.cli.{name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="tts-service")
def cli() -> None:
    """Text to speech on CPUs, by a fixed set of pinned processes."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command and end the process."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run a command; return its exit code. Errors are one line on stderr.

    When the reader of our output has left, click ends the process at once, with status 1 and no complaint.
    """
    # numpy's linear algebra would start a thread for every CPU when it is imported; nothing here uses it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_standard_streams()
    try:
        result = cli.main(arguments, standalone_mode=False)
        return result if isinstance(result, int) else ExitCode.OK
    except ProcessMustEnd as error:
        return _complain(str(error), error.exit_code)
    except RequestFailed as error:
        return _complain(error.message, ExitCode.BAD_INPUT if error.code.status < 500 else ExitCode.UNAVAILABLE)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else str(error))
        return ExitCode.OK
    except click.ClickException as error:
        return _complain(f"{error.format_message()} (see `tts-service --help`)", ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        return _complain("interrupted", ExitCode.FAILED)
    except OSError as error:
        return _complain(f"{error.filename or 'system'}: {error.strerror or error}", ExitCode.CANNOT_WRITE)


def _open_standard_streams() -> None:
    """Put /dev/null where a parent has closed input, output or error: else a socket of ours would get such a number."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(handle, True)
    os.close(handle)


def _complain(message: str, code: ExitCode) -> int:
    click.echo(f"tts-service: error: {message}", err=True)
    return code
