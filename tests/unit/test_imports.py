"""Imports point one way: errors ← protocol, settings ← {gateway} and {tts_workers}; the cli on top."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {"tts_service": ROOT / "tts_service", "tts_workers": ROOT / "workers" / "tts_workers"}


def modules() -> dict[str, Path]:
    """Return every module of the product and its file."""
    found = {}
    for package, folder in SOURCES.items():
        for path in folder.rglob("*.py"):
            parts = (package, *path.relative_to(folder).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path], *, inside_functions: bool) -> set[str]:
    """Return the product's modules that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if inside_functions else iter(tree.body)
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names}
    return {name for name in names if name in known}


MODULES = modules()


def test_no_module_imports_itself_through_others() -> None:
    graph = {name: imports(path, MODULES, inside_functions=False) - {name} for name, path in MODULES.items()}
    # The initialisation of a package runs before its modules', whether they name it or not.
    for name, found in graph.items():
        graph[name] = {other for other in found if not name.startswith(f"{other}.")}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_point_one_way(name: str) -> None:
    found = imports(MODULES[name], MODULES, inside_functions=True)
    upper = ("tts_service.cli", "tts_service.bench")
    if not name.startswith((*upper, "tts_service.__main__")):
        assert not [other for other in found if other.startswith(upper)], found
    if name.startswith("tts_workers"):
        assert not [other for other in found if other.startswith("tts_service.gateway")], found
    if name.startswith("tts_service") and not name.startswith(upper):
        assert not [other for other in found if other.startswith("tts_workers")], found


@pytest.mark.parametrize("name", [name for name in sorted(MODULES) if name.startswith("tts_service.cli")])
def test_a_command_imports_the_halves_only_when_it_runs(name: str) -> None:
    found = imports(MODULES[name], MODULES, inside_functions=False)
    # These are imported by `say` and `render` when they run.
    if name.rpartition(".")[2] not in ("sources", "progress", "audio_file", "own_workers", "renderers", "text_sources"):
        assert not [other for other in found if other.startswith(("tts_workers", "tts_service.gateway"))], found


@pytest.mark.parametrize(
    ("loaded", "absent"),
    [
        ("tts_service.gateway.server, tts_service.gateway.app", {"onnxruntime", "tts_workers", "hibari"}),
        ("tts_workers.half, tts_workers.process", {"flask", "gunicorn", "onnxruntime", "tts_service.gateway"}),
        ("tts_service.cli.main", {"flask", "onnxruntime", "numpy", "zmq", "tts_workers"}),
        ("tts_workers.entry", {"numpy", "onnxruntime", "zmq", "flask"}),
    ],
)
def test_a_process_does_not_load_what_is_not_its_own(loaded: str, absent: set[str]) -> None:
    code = f"import sys\nimport {loaded}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not absent & set(done.stdout.split())
