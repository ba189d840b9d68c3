"""`tts-service key`: makes an API key."""

from __future__ import annotations

import click

from tts_service.errors import UsageError


@click.command("key")
@click.argument("name")
def command(name: str) -> None:
    """Make an API key: its table for gateway.api_keys_file goes to stdout, the key itself to stderr, this once.

    For example: tts-service key open-webui >> keys.toml
    """
    from tts_service.gateway.api_keys import NAME, digest_of, new_key

    if not NAME.fullmatch(name):
        raise UsageError(f"{name}: expected a name of up to 64 letters, digits and . _ @ -")
    key = new_key()
    # A dot would make two tables of the name.
    click.echo(f'["{name}"]\nsha256 = "{digest_of(key).hex()}"\n')
    click.echo(f"the key of {name}, which is kept nowhere: {key}", err=True)
