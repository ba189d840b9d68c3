"""Start of a synthesis process: `python -m tts_workers.entry SPEC`.

It ends with its parent and takes its CPU set before numpy, onnxruntime or anything else that counts CPUs is imported.
"""

from __future__ import annotations

import json
import os
import sys

from tts_service.errors import ExitCode, ProcessMustEnd
from tts_service.orphans import die_with_parent, name_process


def main() -> int:
    """Run the process; return its exit code."""
    facts = json.loads(sys.argv[1])
    try:
        die_with_parent(facts["parent_pid"])
    except ProcessMustEnd:
        return ExitCode.UNAVAILABLE
    name_process(f"tts-worker-{facts['index']}")
    os.sched_setaffinity(0, facts["cpus"])

    from tts_workers.process import run
    from tts_workers.spec import WorkerSpec

    return run(WorkerSpec.from_json(sys.argv[1]))


if __name__ == "__main__":
    sys.exit(main())
