"""The table of scenarios. A new one is a module with a class like scenario.Scenario, and a line here."""

from __future__ import annotations

from importlib import import_module

from tts_service.bench.scenario import Scenario

# Command, then module, class, and what it measures.
_SCENARIOS = {
    "threads": ("tts_service.bench.threads", "ThreadsDrill", "threads, switches and cores over fresh connections"),
    "throughput": ("tts_service.bench.throughput", "Throughput", "audio per second and latency, by concurrency"),
    "first-audio": ("tts_service.bench.first_audio", "FirstAudio", "when streams begin, and whether they run dry"),
    "lone": ("tts_service.bench.lone", "LoneSentence", "one request at a time on an idle server"),
    "paragraph": ("tts_service.bench.paragraph", "Paragraph", "one text of ten sentences, against one process alone"),
    "mix": ("tts_service.bench.mixed_load", "Mix", "one-liners beside a book, by the order of the queue"),
    "chaos": ("tts_service.bench.chaos", "Chaos", "workers and dispatcher killed under load: the same bytes"),
    "longtext": ("tts_service.bench.longtext", "Longtext", "one long text by several workers and by one"),
    "soak": ("tts_service.bench.soak", "Soak", "half an hour of mixed load: does anything grow?"),
    "overload": ("tts_service.bench.overload", "Overload", "three times of what the server can do"),
    "encoders": ("tts_service.bench.encoders", "Encoders", "what each audio format costs, without a server"),
    "leavers": ("tts_service.bench.leavers", "LeaversDrill", "clients that leave at random moments"),
}


def summaries() -> dict[str, str]:
    """Return the scenarios by name, each with what it measures. Imports none."""
    return {name: text for name, (_, _, text) in _SCENARIOS.items()}


def scenario_class(name: str) -> type[Scenario]:
    """Return the class of a scenario that is in the table."""
    module, attribute, _ = _SCENARIOS[name]
    found: type[Scenario] = getattr(import_module(module), attribute)
    return found
