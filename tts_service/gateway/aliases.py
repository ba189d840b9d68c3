"""Other names of voices: those that the settings give, and OpenAI's. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tts_service.allowed import shorten
from tts_service.errors import Code, RequestFailed
from tts_service.protocol import PoolInfo, Voice

# In OpenAI's order; a client's default is one of them, and its user may have no way to send another.
OPENAI_VOICES = (
    "alloy",
    "ash",
    "ballad",
    "coral",
    "echo",
    "fable",
    "onyx",
    "nova",
    "sage",
    "shimmer",
    "verse",
    "marin",
    "cedar",
)


def real_voice(wanted: str, table: Mapping[str, str], pools: list[PoolInfo]) -> str:
    """Return the voice that `wanted` stands for by the settings' table; a voice of that name goes before an alias."""
    known = {voice.id for pool in pools for voice in pool.engine.voices}
    if wanted in known or wanted not in table:
        return wanted
    if table[wanted] not in known:
        message = f"voice = {shorten(wanted)}: gateway.voice_aliases makes it {shorten(table[wanted])}, and there is "
        raise RequestFailed(Code.VOICE_NOT_FOUND, message + "no such voice", param="voice")
    return table[wanted]


def is_openai_voice(wanted: str | None, pools: list[PoolInfo]) -> bool:
    """Return True for a name of OpenAI's that no voice here has: any voice may answer to it."""
    return wanted in OPENAI_VOICES and not any(voice.id == wanted for pool in pools for voice in pool.engine.voices)


def stand_in(wanted: str, pool: PoolInfo) -> str:
    """Return the pool's voice for one of OpenAI's names: in turn its default voice, then the others as it lists them.

    Only voices that share a language with the default voice, so that a name does not change what text can be spoken.
    """
    default = next((voice for voice in pool.engine.voices if voice.id == pool.default_voice), None)
    if default is None:
        return pool.default_voice
    others = [voice for voice in pool.engine.voices if voice is not default and _share_language(voice, default)]
    ring = [default, *others]
    return ring[OPENAI_VOICES.index(wanted) % len(ring)].id


def _share_language(one: Voice, other: Voice) -> bool:
    return bool({primary(tag) for tag in one.languages} & {primary(tag) for tag in other.languages})


def primary(tag: str) -> str:
    """Return the language of a BCP 47 tag, without script and region: "en" of "en-GB"."""
    return tag.replace("_", "-").partition("-")[0].lower()


def check_language(wanted: str | None, voice: Voice) -> None:
    """Raise RequestFailed where a voice does not speak the language `wanted`; one that lists none speaks any.

    A language without a region is any region's, and a voice without a region speaks for all of them.
    """
    if not wanted or not voice.languages:
        return
    asked = _subtags(wanted)
    for spoken in map(_subtags, voice.languages):
        n = min(len(asked), len(spoken))
        if asked[:n] == spoken[:n]:
            return
    message = f"language = {shorten(wanted)}: voice {voice.id} speaks {', '.join(voice.languages)}"
    raise RequestFailed(Code.INVALID_REQUEST, message, param="language")


def _subtags(tag: str) -> list[str]:
    return tag.replace("_", "-").lower().split("-")
