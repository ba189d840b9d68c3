"""Limits of open files and tasks, compared with what a half is going to use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tts_service.errors import CannotStart
from tts_service.room import Needs, check_room, gateway_needs, tasks_left, workers_needs
from tts_service.settings import GatewaySettings


def machine(root: Path, membership: str, **groups: tuple[str, str]) -> Path:
    """Write a machine on which this process is in a control group, with (limit, used) of groups by path."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(membership)
    for path, (limit, used) in groups.items():
        folder = root / "sys/fs/cgroup" / path.replace("__", "/")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pids.max").write_text(f"{limit}\n")
        (folder / "pids.current").write_text(f"{used}\n")
    return root


def test_the_smallest_room_of_all_levels_counts_in_version_2(tmp_path: Path) -> None:
    root = machine(tmp_path, "0::/a/b\n", a=("50", "20"), a__b=("max", "5"))
    assert tasks_left(root) == 30


def test_version_1_has_a_tree_of_its_own_for_tasks(tmp_path: Path) -> None:
    membership = "8:pids:/x\n1:cpu:/y\n"
    root = machine(tmp_path, membership, pids__x=("100", "90"), pids=("max", "3"), cpu__y=("1", "1"))
    assert tasks_left(root) == 10


def test_a_path_that_only_the_machine_can_see_stands_for_the_mount(tmp_path: Path) -> None:
    assert tasks_left(machine(tmp_path, "8:pids:/docker/123\n", pids=("64", "4"))) == 60


def test_no_limit_is_no_limit(tmp_path: Path) -> None:
    assert tasks_left(tmp_path) is None
    assert tasks_left(machine(tmp_path, "0::/a\n", a=("max", "7"))) is None


def test_too_few_tasks_are_refused_with_both_numbers_and_what_would_help(tmp_path: Path) -> None:
    root = machine(tmp_path, "0::/a\n", a=("50", "20"))
    with pytest.raises(CannotStart, match=r"30 more .* 31 are needed with fewer things"):
        check_room(Needs(8, 31, "fewer things"), root)
    check_room(Needs(8, 30, "fewer things"), root)


def test_both_halves_together_need_the_sum_of_tasks_and_the_larger_number_of_files() -> None:
    gateway, workers = gateway_needs(GatewaySettings(processes=2, threads=10, max_requests=5)), workers_needs([1, 3])
    assert gateway.tasks == 1 + 2 * (10 + 4)
    assert workers.tasks == 3 + 3 + 5
    both = gateway + workers
    assert both.tasks == gateway.tasks + workers.tasks
    assert both.descriptors == max(gateway.descriptors, workers.descriptors)
    assert both.wanted_descriptors > both.descriptors
