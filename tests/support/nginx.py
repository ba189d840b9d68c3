"""A real nginx with the shipped configuration: only addresses and directories are the test's own."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.service import Service, wait_until

FOLDER = Path(__file__).parents[2] / "deploy" / "nginx"

_MAIN = """\
daemon off;
pid nginx.pid;
worker_processes 2;
error_log error.log info;
events {{ worker_connections 1024; }}
http {{
    access_log access.log;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include {file};
}}
"""


class Proxy(Service):
    """nginx, to be talked to like the service behind it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder

    def errors(self) -> str:
        """Return nginx's error log."""
        return (self.folder / "error.log").read_text()


def configure(folder: Path, name: str, listen: str, nodes: Sequence[str]) -> None:
    """Write a configuration whose shipped file `name` listens at `listen` and has these nodes."""
    (folder / "tts-service").mkdir()
    (folder / "tts-service" / "locations.conf").write_text((FOLDER / "locations.conf").read_text())
    text = (FOLDER / name).read_text().replace("/var/cache/nginx", str(folder / "cache"))
    (folder / "cache").mkdir()
    (server, *_) = re.findall(r"^ +server [\d.]+:\d+(.*;)", text, re.MULTILINE)
    text = re.sub(r"^ +server [\d.]+:\d+.*\n", "", text, flags=re.MULTILINE)
    lines = "".join(f"    server {node}{server}\n" for node in nodes)
    text = text.replace("    keepalive 32;\n", f"{lines}    keepalive 32;\n").replace("listen 80;", f"listen {listen};")
    (folder / name).write_text(text)
    (folder / "nginx.conf").write_text(_MAIN.format(file=name))


@contextmanager
def nginx(name: str, listen: str, nodes: Sequence[str], prefix: tuple[str, ...] = ()) -> Iterator[Proxy]:
    """Run nginx with a shipped configuration. `prefix` goes before the command."""
    with tempfile.TemporaryDirectory(prefix="tts-nginx-") as directory:
        folder = Path(directory)
        folder.chmod(0o755)
        configure(folder, name, listen, nodes)
        command = [*prefix, "nginx", "-p", directory, "-c", str(folder / "nginx.conf")]
        with (folder / "output").open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
        proxy = Proxy(f"http://{listen}", folder)
        try:
            wait_until(
                lambda: (folder / "nginx.pid").exists() or process.poll() is not None, 10.0, "the start of nginx"
            )
            assert process.poll() is None, (folder / "output").read_text()
            yield proxy
        finally:
            process.terminate()
            process.wait(10)
