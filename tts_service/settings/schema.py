"""The settings schema: every key with its type, limits, unit and default. Pure data, read by both halves."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

MAX_TEXT_CHARS = 100_000_000

LogLevel = Literal["debug", "info", "warning", "error"]


def _meta(text: str, unit: str = "", **limits: Any) -> Meta:
    """Return the constraint and the documentation of one key."""
    return Meta(description=text, extra={"unit": unit}, **limits)


class ServiceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What both halves share."""

    runtime_dir: Annotated[
        str,
        _meta(
            "Directory of the sockets between gateway and workers, private to one user; the same for both halves. "
            'Empty: $RUNTIME_DIRECTORY (systemd), else "tts-service" in $XDG_RUNTIME_DIR, else /tmp/tts-service-UID.'
        ),
    ] = ""
    log_level: Annotated[LogLevel, _meta("Least severe messages that are logged (to stderr).")] = "info"


class GatewaySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The HTTP side: what it listens to, what it accepts, how it delivers."""

    host: Annotated[str, _meta("Address to listen on; 0.0.0.0 for all of IPv4.")] = "127.0.0.1"
    port: Annotated[int, _meta("TCP port to listen on; 0 takes a free one.", ge=0, le=65535)] = 8000
    processes: Annotated[
        int,
        _meta("Gateway processes. One carries as many streams as it has threads for, up to about 500.", ge=1, le=64),
    ] = 1
    threads: Annotated[int, _meta("Request threads of each gateway process.", ge=4, le=4096)] = 64
    max_requests: Annotated[
        int,
        _meta(
            "Speech requests in progress in each gateway process; more get 503. Less than `threads`, so that "
            "/health and /workers always find a thread.",
            ge=1,
            le=4095,
        ),
    ] = 48
    max_body_bytes: Annotated[
        int, _meta("Longest request body; longer ones get 413.", "bytes", ge=1024, le=1 << 30)
    ] = 1 << 20
    max_text_chars: Annotated[int, _meta("Longest `input` of a request.", "characters", ge=1, le=MAX_TEXT_CHARS)] = (
        100_000
    )
    max_audio_s: Annotated[
        float, _meta("Longest audio of a request that is answered in one piece (not streamed).", "s", gt=0, le=86400)
    ] = 7200.0
    max_segment_s: Annotated[float, _meta("Longest audio of one segment (sentence).", "s", gt=0, le=3600)] = 120.0
    sample_rate_hz: Annotated[
        Literal[0, 8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000],
        _meta("Sample rate of answers where the request names none; 0 for the voice's own.", "Hz"),
    ] = 24_000
    segment_chars: Annotated[
        int,
        _meta("Longest segment; never more than the engine takes.", "characters", ge=20, le=100_000),
    ] = 300
    segments_ahead: Annotated[
        int,
        _meta(
            "Segments of one request in the workers or waiting for its reader; bounds the memory of a slow reader.",
            ge=1,
            le=64,
        ),
    ] = 4
    sentence_pause_s: Annotated[
        float, _meta("Silence put between sentences, on top of what the voice leaves.", "s", ge=0, le=10)
    ] = 0.0
    line_pause_s: Annotated[
        float, _meta("Silence at a line's end, as in lists, on top of what the voice leaves.", "s", ge=0, le=10)
    ] = 0.15
    paragraph_pause_s: Annotated[
        float, _meta("Silence between paragraphs and after headings, likewise.", "s", ge=0, le=10)
    ] = 0.4
    first_segment_chars: Annotated[
        int,
        _meta(
            "The first segment of a text ends at a clause within this length, where there is one, so that its audio "
            "comes sooner; 0: like all others, at a sentence's end.",
            "characters",
            ge=0,
            le=100_000,
        ),
    ] = 0
    lexicon: Annotated[
        str,
        _meta("Directory of pronunciation lexicons, one file a language (en.toml); read again when they change."),
    ] = ""
    first_chunk_s: Annotated[float, _meta("Audio in the first chunk of a stream.", "s", ge=0.02, le=5)] = 0.2
    chunk_s: Annotated[float, _meta("Audio in each later chunk of a stream.", "s", ge=0.02, le=5)] = 0.5
    mp3_kbps: Annotated[Literal[32, 40, 48, 56, 64, 80, 96, 112, 128, 160], _meta("Bit rate of mp3.", "kbit/s")] = 64
    opus_kbps: Annotated[Literal[8, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128], _meta("Bit rate of opus.", "kbit/s")] = 32
    aac_kbps: Annotated[
        Literal[24, 32, 40, 48, 56, 64, 80, 96, 128], _meta("Bit rate of aac; at 8 kHz 48 at most.", "kbit/s")
    ] = 64
    voice_aliases: Annotated[
        dict[str, str],
        _meta(
            "Other names of voices: alias = id. A voice of that name goes first. OpenAI's names that are neither here "
            "nor a voice stand for the pool's voices in turn."
        ),
    ] = {}
    cache_max_age_s: Annotated[
        int,
        _meta(
            "How long caches may keep the audio of a GET before they ask again; 0: ask each time.",
            "s",
            ge=0,
            le=31536000,
        ),
    ] = 86_400
    max_attempts: Annotated[
        int, _meta("Workers that a segment may end while it runs alone, before its request fails.", ge=1, le=20)
    ] = 3
    first_audio_target_s: Annotated[float, _meta("Time to first audio that the queue aims at.", "s", gt=0, le=600)] = (
        1.0
    )
    buffered_slack: Annotated[
        float,
        _meta(
            "Answers in one piece may take this many times their expected work before they are urgent.", ge=1, le=100
        ),
    ] = 3.0
    audio_budget_mib: Annotated[
        int,
        _meta("Audio in flight in each gateway process; what is beyond is asked for later.", "MiB", ge=1, le=1 << 20),
    ] = 256
    cache_mib: Annotated[
        int,
        _meta(
            "Finished segments that are kept, to be spoken again without a worker; 0 for none. In memory each gateway "
            "process keeps so much, on disk all together.",
            "MiB",
            ge=0,
            le=1 << 24,
        ),
    ] = 0
    cache_dir: Annotated[
        str, _meta("Directory of its own in which they are kept, private to one user; empty for in memory.")
    ] = ""
    progress_timeout_s: Annotated[
        float,
        _meta(
            "A request that hears nothing for so long fails, its wait in the queue included. Workers that hang and a "
            "dispatcher that is lost are found much sooner, by limits of their own.",
            "s",
            gt=0,
            le=86400,
        ),
    ] = 1800.0
    reconnect_timeout_s: Annotated[
        float, _meta("How long requests wait for a lost dispatcher to come back.", "s", ge=0, le=600)
    ] = 20.0
    send_timeout_s: Annotated[
        float, _meta("A client that takes no byte of its answer for so long is cut off.", "s", ge=1, le=3600)
    ] = 60.0
    api_keys_file: Annotated[
        str,
        _meta(
            "TOML file with the API keys that requests need, one table for each (see the README); empty: none is "
            "needed, unless TTS_SERVICE_API_KEYS has some. It is read again when it changes."
        ),
    ] = ""
    keyless_lists: Annotated[
        bool,
        _meta(
            "Models, voices, /openapi.json and /docs need no key (Open WebUI asks for them without); "
            "/health and /ready never do."
        ),
    ] = True
    cors_origins: Annotated[
        str,
        _meta(
            'Origins whose pages may use the service, like "https://a.example http://b.example:3000"; "*" for all; '
            "empty for none.",
            pattern=r"^(\*|(https?://[A-Za-z0-9.:-]+ ?)*)$",
        ),
    ] = ""
    header_timeout_s: Annotated[
        float,
        _meta(
            "A client that takes longer to send the head of its request is cut off. It holds no request thread.",
            "s",
            ge=0.5,
            le=3600,
        ),
    ] = 10.0
    body_timeout_s: Annotated[
        float,
        _meta("A client that takes longer to send the body of its request is cut off.", "s", ge=0.5, le=86400),
    ] = 60.0
    keepalive_s: Annotated[
        int, _meta("How long an idle client connection is kept; longer than the proxy's in front.", "s", ge=0, le=3600)
    ] = 75
    graceful_timeout_s: Annotated[
        int, _meta("On SIGTERM: how long requests in progress may take to finish.", "s", ge=0, le=3600)
    ] = 60

    def __hash__(self) -> int:
        # Settings are keys of caches, and a table has no hash of its own.
        return hash(msgspec.json.encode(self, order="deterministic"))


class WorkerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The synthesis processes: which CPUs, how they are watched and replaced."""

    cpus: Annotated[
        str,
        _meta('CPUs to use, for example "0-3,8"; empty for all that this process may run on.', pattern=r"^[0-9,\- ]*$"),
    ] = ""
    reserve_cpus: Annotated[
        int | Literal["auto"],
        _meta(
            "Physical cores that get no worker, for the gateway and the system. auto: none below 8 cores, then one for "
            "each 16, at least one."
        ),
    ] = "auto"
    heartbeat_s: Annotated[
        float, _meta("Longest silence of a healthy worker between two steps.", "s", ge=0.05, le=60)
    ] = 1.0
    load_timeout_s: Annotated[float, _meta("Time limit for loading a model.", "s", gt=0, le=3600)] = 120.0
    warm_up_timeout_s: Annotated[float, _meta("Time limit for the warm-up run.", "s", gt=0, le=3600)] = 60.0
    prepare_timeout_s: Annotated[float, _meta("Time limit for preparing one segment.", "s", gt=0, le=600)] = 10.0
    step_timeout_s: Annotated[float, _meta("Time limit for one engine step.", "s", gt=0, le=600)] = 10.0
    drain_timeout_s: Annotated[
        float, _meta("On SIGTERM: how long segments in progress may take to finish.", "s", ge=0, le=3600)
    ] = 10.0
    memory_limit_mib: Annotated[
        int,
        _meta(
            "A worker that grows larger finishes its segments and is replaced; 0 for no limit.", "MiB", ge=0, le=1 << 24
        ),
    ] = 0
    memory_total_mib: Annotated[
        int,
        _meta(
            "All workers together, once loaded; with more the service refuses to start; 0 for no limit.",
            "MiB",
            ge=0,
            le=1 << 24,
        ),
    ] = 0
    backoff_max_s: Annotated[
        float, _meta("Longest wait before a worker that keeps dying is started again.", "s", ge=0, le=3600)
    ] = 30.0
    gateway_timeout_s: Annotated[
        float, _meta("A gateway that is silent for so long is taken for dead; its jobs are dropped.", "s", ge=1, le=600)
    ] = 15.0


class PoolSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One pool: an engine with its models, and the processes that run it."""

    engine: Annotated[Literal["hibari", "piper", "tone"], _meta("What synthesizes.")] = "hibari"
    models: Annotated[str, _meta("Directory of the engine's model files, where it takes any.")] = ""
    workers: Annotated[
        int, _meta("Synthesis processes; 0 for as many as the CPUs carry at `threads` each.", ge=0, le=1024)
    ] = 0
    threads: Annotated[
        int, _meta("Intra-op threads of each process; 0 for what the engine prefers.", ge=0, le=1024)
    ] = 0
    wide: Annotated[
        bool | Literal["auto"],
        _meta(
            "One more process, with a thread on each CPU of the pool, which speaks lone sentences while nothing else "
            "goes on. auto: where the engine gains from it and its samples do not depend on the number of threads."
        ),
    ] = "auto"
    weight: Annotated[float, _meta("Share of the cores, among the pools that leave `workers` at 0.", gt=0, le=1000)] = (
        1.0
    )
    slots: Annotated[
        int, _meta("Segments in progress in each process; one of them is kept for urgent ones.", ge=1, le=256)
    ] = 3
    order: Annotated[
        Literal["deadline", "segments", "requests"],
        _meta("Order of the queue: by deadline, or first come first served by segments or requests (to compare with)."),
    ] = "deadline"
    urgent_s: Annotated[
        float, _meta("Segments due within this time may use the slot that each worker keeps.", "s", ge=0, le=600)
    ] = 2.0
    max_wait_s: Annotated[
        float, _meta("Requests whose expected wait is longer are refused with 503.", "s", gt=0, le=86400)
    ] = 30.0
    queue_limit: Annotated[
        int, _meta("Segments waiting before new requests are refused with 503.", ge=1, le=1_000_000)
    ] = 256
    default_voice: Annotated[str, _meta("Voice where a request names none; empty for the engine's default.")] = ""
    default_seed: Annotated[
        int | Literal["random"],
        _meta('Seed where a request names none: a number makes the same request sound the same, "random" varies.'),
    ] = 0
    options: Annotated[dict[str, bool | int | float | str], _meta("Options of the engine itself; see the README.")] = {}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of the service."""

    service: ServiceSettings = ServiceSettings()
    gateway: GatewaySettings = GatewaySettings()
    workers: WorkerSettings = WorkerSettings()
    pools: dict[str, PoolSettings] = msgspec.field(default_factory=lambda: {"default": PoolSettings()})
