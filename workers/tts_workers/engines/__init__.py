"""Engines by name. Each is imported only in the process that runs it."""

from __future__ import annotations

from importlib import import_module

from tts_workers.engines.base import Engine, EngineOptions

_CLASSES = {
    "hibari": ("tts_workers.engines.hibari", "HibariEngine"),
    "piper": ("tts_workers.engines.piper.engine", "PiperEngine"),
    "tone": ("tts_workers.engines.tone", "ToneEngine"),
}

__all__ = ["Engine", "EngineOptions", "engine_class"]


def engine_class(name: str) -> type[Engine]:
    """Return the class of the engine called `name`, which the settings schema has checked."""
    module, attribute = _CLASSES[name]
    found: type[Engine] = getattr(import_module(module), attribute)
    return found
