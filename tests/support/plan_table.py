"""The table in docs/cpu-plans.md: what the planner does on every fake machine. Run as a script to write it again."""

from __future__ import annotations

import sys
from pathlib import Path

from support import fake_machines
from tts_workers.cpuplan import PoolDemand, make_cpu_plan
from tts_workers.machine import cpu_ranges

PAGE = Path(__file__).parents[2] / "docs" / "cpu-plans.md"
THREADS = (1, 2, 4)
START = "<!-- table -->\n"
_SHOWN = 4


def table() -> str:
    """Return the table as Markdown."""
    lines = [
        "| machine | threads | workers | on CPUs | kept free | warnings |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for fake in fake_machines.ALL:
        machine = fake_machines.machine_of(fake)
        for n_threads in THREADS:
            if n_threads > len(machine.cores) or (machine.quota or n_threads) < n_threads > 1:
                continue
            plan = make_cpu_plan(machine, [PoolDemand("p", 0, n_threads)])
            shown = [cpu_ranges(worker.cpus) for worker in plan.workers]
            places = " ".join(shown[:_SHOWN]) + (f" … {shown[-1]}" if len(shown) > _SHOWN else "")
            warnings = "; ".join(dict.fromkeys(plan.warnings))
            cells = [
                fake.name,
                str(n_threads),
                str(len(shown)),
                places,
                cpu_ranges(plan.reserved) or "-",
                warnings or "-",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the page with a fresh table."""
    return PAGE.read_text(encoding="utf-8").partition(START)[0] + START + table()


if __name__ == "__main__":
    sys.exit(PAGE.write_text(page(), encoding="utf-8") == 0)
