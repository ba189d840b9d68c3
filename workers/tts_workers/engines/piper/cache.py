"""Keeps cut voices on disk, one directory a voice, named by the hash of its file and of what cut it.

A directory appears whole or not at all. Its weights are in a file of their own, which onnxruntime maps into memory:
all workers share its pages. Where nothing can be kept, a voice is cut into a directory that vanishes with the process.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
import onnx
from onnx import ModelProto, TensorProto, numpy_helper

from tts_service.errors import EngineBroken
from tts_workers.engines.piper.cutting import Cut
from tts_workers.engines.piper.synthesis import Facts

logger = logging.getLogger(__name__)

# Part of an entry's name: changes with whatever changes entries.
VERSION = 1
WEIGHTS, FACTS = "weights.bin", "facts.json"
# Smaller tensors stay in the graph, where onnxruntime can fold them at load. Maps begin at pages.
EXTERNAL_BYTES = 1024
PAGE_BYTES = 4096


class Record(msgspec.Struct, frozen=True):
    """The last file of an entry to be written."""

    facts: Facts
    sizes: dict[str, int]
    """Bytes of each other file, so that a truncated one is seen."""


@dataclass(frozen=True)
class Entry:
    """A cut voice in its directory."""

    directory: Path
    facts: Facts

    def parts(self) -> dict[str, ModelProto]:
        """Return the parts without their weights, which stay in `weights.bin`."""
        files = sorted(self.directory.glob("*.onnx"))
        return {path.stem: onnx.load(path, load_external_data=False) for path in files}


def default_directory(environment: Mapping[str, str]) -> Path:
    """Return where cut voices are kept: systemd's CacheDirectory, else the user's."""
    # systemd gives a list where there are several.
    if own := environment.get("CACHE_DIRECTORY", "").partition(":")[0]:
        return Path(own) / "piper"
    base = environment.get("XDG_CACHE_HOME") or os.path.join(environment.get("HOME") or "/", ".cache")
    return Path(base) / "tts-service" / "piper"


def digest_of(path: Path) -> str:
    """Return the hash of a file that names its entry. EngineBroken where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EngineBroken(f"cannot read {path}: {error.strerror}") from error


class Cache:
    """Entries below one directory. Owned by the thread that loads the engine."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._temporary: list[tempfile.TemporaryDirectory[str]] = []

    def get(self, digest: str, make: Callable[[], Cut]) -> Entry:
        """Return the entry of a voice whose file has the hash `digest`; cut by `make` where there is none."""
        name = f"{digest[:32]}-{VERSION}"
        if found := read_entry(self.directory / name):
            return found
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(self.directory / "lock"):
                # Another worker may have been faster.
                if found := read_entry(self.directory / name):
                    return found
                return _keep(self.directory, name, make())
        except OSError as error:
            logger.warning(
                "cannot keep cut voices in %s (%s): they are cut again at each start, and not shared",
                self.directory,
                error.strerror,
            )
        try:
            place = tempfile.TemporaryDirectory(prefix="tts-piper-")
            self._temporary.append(place)
            return _keep(Path(place.name), name, make())
        except OSError as error:
            raise EngineBroken(f"cannot write cut voices into {tempfile.gettempdir()}: {error.strerror}") from error


def read_entry(directory: Path) -> Entry | None:
    """Return what a directory holds; None where there is nothing that can be read, or something is missing."""
    try:
        record = msgspec.json.decode((directory / FACTS).read_bytes(), type=Record)
        sizes = {name: (directory / name).stat().st_size for name in record.sizes}
    except (OSError, msgspec.DecodeError):
        return None
    return Entry(directory, record.facts) if sizes == record.sizes else None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file, so that workers which start together do not all do the same work."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _keep(directory: Path, name: str, cut: Cut) -> Entry:
    place = directory / name
    # Damaged, or the rests of attempts that were killed: nobody else is at it.
    for rest in (place, *directory.glob(f".{name}-*")):
        shutil.rmtree(rest, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=directory))
    try:
        _write(made, cut)
        made.rename(place)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return Entry(place, cut.facts)


def _write(directory: Path, cut: Cut) -> None:
    places: dict[str, tuple[int, int]] = {}
    with (directory / WEIGHTS).open("wb") as weights:
        for name, part in cut.parts.items():
            light = ModelProto()
            light.CopyFrom(part)
            for tensor in light.graph.initializer:
                _move_out(tensor, weights, places)
            (directory / f"{name}.onnx").write_bytes(light.SerializeToString())
        weights.flush()
        os.fsync(weights.fileno())
    sizes = {path.name: path.stat().st_size for path in directory.iterdir()}
    (directory / FACTS).write_bytes(msgspec.json.format(msgspec.json.encode(Record(cut.facts, sizes))))


def _move_out(tensor: TensorProto, weights: BinaryIO, places: dict[str, tuple[int, int]]) -> None:
    """Move a tensor's values into the file; parts of one voice that share a tensor share its place."""
    if tensor.name not in places:
        values = np.ascontiguousarray(numpy_helper.to_array(tensor))
        if values.nbytes < EXTERNAL_BYTES:
            return
        weights.write(b"\0" * (-weights.tell() % PAGE_BYTES))
        places[tensor.name] = weights.tell(), values.nbytes
        weights.write(values.tobytes())
    bare = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    bare.data_location = TensorProto.EXTERNAL
    for key, value in zip(("offset", "length"), places[tensor.name], strict=True):
        bare.external_data.add(key=key, value=str(value))
    bare.external_data.add(key="location", value=WEIGHTS)
    tensor.CopyFrom(bare)
