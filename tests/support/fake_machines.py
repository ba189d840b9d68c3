"""Machines that tests cannot have: /sys, /proc and control group trees in the kernel's own formats."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tts_workers.machine import Machine, cpu_ranges
from tts_workers.sysfs import read_machine


@dataclass(frozen=True)
class FakeMachine:
    """A machine to be written as files. CPUs are numbered as Linux does it: first siblings, then the others."""

    name: str
    sockets: int = 1
    cores: int = 1
    """Per socket, E-cores not counted."""
    smt: int = 1
    l3_cores: int = 0
    """Cores that share an L3; 0: all of a socket; below 0: there is no L3."""
    e_cores: int = 0
    """Further cores without SMT, of the slower kind of an Intel hybrid."""
    capacities: tuple[int, ...] = ()
    """cpu_capacity of each CPU (arm64)."""
    offline: tuple[int, ...] = ()
    affinity: tuple[int, ...] | None = None
    cgroup: dict[str, str] = field(default_factory=dict)
    """Files below /sys/fs/cgroup, by path."""
    membership: str = "0::/\n"
    """/proc/self/cgroup."""
    mounts: str = "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    """/proc/self/mountinfo."""

    @property
    def n_cpus(self) -> int:
        """All CPUs, offline ones included."""
        return self.sockets * self.cores * self.smt + self.e_cores

    @property
    def online(self) -> list[int]:
        """CPUs that are online."""
        return [cpu for cpu in range(self.n_cpus) if cpu not in self.offline]

    def allowed(self) -> set[int]:
        """The affinity of the process."""
        return set(self.affinity if self.affinity is not None else self.online)

    def write(self, root: Path) -> Path:
        """Write the trees below `root` and return it."""
        folder = root / "sys/devices/system/cpu"
        _put(folder / "present", f"0-{self.n_cpus - 1}")
        _put(folder / "online", cpu_ranges(self.online))
        for cpu in self.online:
            self._write_cpu(folder / f"cpu{cpu}", cpu)
        if self.e_cores:
            first_e = self.n_cpus - self.e_cores
            _put(root / "sys/devices/cpu_core/cpus", f"0-{first_e - 1}")
            _put(root / "sys/devices/cpu_atom/cpus", f"{first_e}-{self.n_cpus - 1}")
        _put(root / "proc/self/cgroup", self.membership)
        _put(root / "proc/self/mountinfo", self.mounts)
        for name, text in self.cgroup.items():
            _put(root / "sys/fs/cgroup" / name, text)
        return root

    def _write_cpu(self, own: Path, cpu: int) -> None:
        n_first = self.sockets * self.cores
        is_e = cpu >= n_first * self.smt
        core = cpu if is_e else cpu % n_first
        socket = 0 if is_e else core // self.cores
        siblings = [cpu] if is_e else [core + level * n_first for level in range(self.smt)]
        package = [
            other
            for other in range(self.n_cpus)
            if other >= n_first * self.smt or (other % n_first) // self.cores == socket
        ]
        _put(own / "topology/core_id", str(core))
        _put(own / "topology/physical_package_id", str(socket))
        _put(own / "topology/core_cpus_list", self._list(siblings))
        _put(own / "topology/package_cpus_list", self._list(package))
        _put(own / f"node{socket}/cpulist", self._list(package))
        self._write_caches(own, siblings, package, core)
        if self.capacities:
            _put(own / "cpu_capacity", str(self.capacities[cpu]))

    def _write_caches(self, own: Path, siblings: list[int], package: list[int], core: int) -> None:
        n_first = self.sockets * self.cores
        caches = [("1", "Data", siblings), ("1", "Instruction", siblings), ("2", "Unified", siblings)]
        if self.l3_cores >= 0:
            size = self.l3_cores or self.cores
            first = core // size * size
            sharing = [first + n + level * n_first for n in range(size) for level in range(self.smt)]
            caches.append(("3", "Unified", package if not self.l3_cores else sharing))
        for index, (level, kind, cpus) in enumerate(caches):
            _put(own / f"cache/index{index}/level", level)
            _put(own / f"cache/index{index}/type", kind)
            _put(own / f"cache/index{index}/shared_cpu_list", self._list(cpus))

    def _list(self, cpus: list[int]) -> str:
        return cpu_ranges([cpu for cpu in cpus if cpu not in self.offline])


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.endswith("\n") else text + "\n")


_V1_MOUNTS = (
    "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "32 24 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
)

ONE_CPU = FakeMachine("1 CPU")
TWO_CORES = FakeMachine("2 cores", cores=2)
FOUR_CORES_SMT = FakeMachine("4 cores, SMT", cores=4, smt=2)
HYBRID = FakeMachine("hybrid, 6 P + 8 E cores", cores=6, e_cores=8)
HYBRID_SMT = FakeMachine("hybrid, 6 P + 8 E cores, SMT", cores=6, smt=2, e_cores=8)
ONE_SOCKET = FakeMachine("64 cores, 128 CPUs, 8 L3", cores=64, smt=2, l3_cores=8)
TWO_SOCKETS = FakeMachine("2 × 64 cores, 256 CPUs, 16 L3", sockets=2, cores=64, smt=2, l3_cores=8)
ODD_CPUSET = FakeMachine("8 cores, cpuset 1,4,7", cores=8, cgroup={"cpuset.cpus.effective": "1,4,7"})
ONE_CPU_CPUSET = FakeMachine("8 cores, cpuset 5", cores=8, cgroup={"cpuset.cpus.effective": "5"})
SMALL_QUOTA = FakeMachine("4 cores, quota 1.5", cores=4, cgroup={"cpu.max": "150000 100000"})
LARGE_QUOTA = FakeMachine(
    "16 cores, nested quota 7.65",
    cores=16,
    membership="0::/slice/pod/box\n",
    cgroup={
        "slice/cpu.max": "max 100000",
        "slice/pod/cpu.max": "765000 100000",
        "slice/pod/box/cpu.max": "1200000 100000",
    },
)
TINY_QUOTA = FakeMachine("4 cores, quota 0.5", cores=4, cgroup={"cpu.max": "50000 100000"})
V1_QUOTA = FakeMachine(
    "8 cores, version 1 quota 3, cpuset 2-7",
    cores=8,
    membership="4:cpu,cpuacct:/box\n3:cpuset:/box\n",
    mounts=_V1_MOUNTS,
    cgroup={
        "cpu,cpuacct/box/cpu.cfs_quota_us": "300000",
        "cpu,cpuacct/box/cpu.cfs_period_us": "100000",
        "cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "cpu,cpuacct/cpu.cfs_period_us": "100000",
        "cpuset/box/cpuset.effective_cpus": "2-7",
    },
)
CONTAINER = FakeMachine(
    "container, --cpus 2.5 --cpuset-cpus 8-11, of 16 cores",
    cores=16,
    affinity=(8, 9, 10, 11),
    membership="0::/../../docker/abc\n",
    mounts="30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
    cgroup={"cpu.max": "250000 100000", "cpuset.cpus.effective": "8-11"},
)
OFFLINE = FakeMachine("8 cores, 2 and 5 offline", cores=8, offline=(2, 5))
BIG_LITTLE = FakeMachine(
    "arm64, 4 little, 3 big, 1 prime", cores=8, l3_cores=-1, capacities=(250, 250, 250, 250, 760, 760, 760, 1024)
)

ALL = (
    ONE_CPU,
    TWO_CORES,
    FOUR_CORES_SMT,
    HYBRID,
    HYBRID_SMT,
    ONE_SOCKET,
    TWO_SOCKETS,
    ODD_CPUSET,
    ONE_CPU_CPUSET,
    SMALL_QUOTA,
    LARGE_QUOTA,
    TINY_QUOTA,
    V1_QUOTA,
    CONTAINER,
    OFFLINE,
    BIG_LITTLE,
)

_read: dict[str, Machine] = {}


def machine_of(fake: FakeMachine) -> Machine:
    """Return a fake machine as it is read from its files; large trees are written only once."""
    if fake.name not in _read:
        with tempfile.TemporaryDirectory() as folder:
            _read[fake.name] = read_machine(fake.allowed(), fake.write(Path(folder)))
    return _read[fake.name]
