"""Reads a book of 1 MB as a gateway does: how long it takes, what memory, and how long other threads wait for it.

python tests/bench/read_a_book.py [--chars N] [--one-line] [--ssml] [--limit-ms 20]

The hold is counted in the CPU time of the reading thread between two turns of another one, so that a busy machine does
not show. Exit code 1 where it is over the limit.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable

from tts_service.gateway.body import read_body
from tts_service.text.front_end import Reading, check, segments
from tts_service.text.scripts import check_scripts

PARAGRAPH = (
    "It was Jan. 5, 1984, at 9:42 p.m., when Dr. Müller — who had paid $3.50 for 2 1/2 lbs. of **salt & pepper** — "
    "opened the door. “Who's there?” he asked; nobody answered!!! The thermometer, an old one from the U.S., "
    "showed 98.6°F, i.e. 37°C, and the rain (it had rained for 3 days) went on. See example.com/story for more 🙂."
)


def book(n_chars: int, *, one_line: bool, ssml: bool) -> str:
    """Return a text of this length, in paragraphs or in one line, or a document of SSML."""
    if ssml:
        paragraph = "<p>" + PARAGRAPH.replace("&", "&amp;") + "</p>"
        return "<speak>" + paragraph * (n_chars // len(paragraph)) + "</speak>"
    between = " " if one_line else "\n\n"
    return between.join([PARAGRAPH] * (n_chars // len(PARAGRAPH)))


def longest_hold_s(work: Callable[[], None]) -> float:
    """Return the longest CPU time that `work`, on a thread of its own, spent while this one waited for its turn."""
    worker = threading.Thread(target=work)
    longest_s, spent_s = 0.0, 0.0
    worker.start()
    clock = time.pthread_getcpuclockid(worker.ident or 0)
    while worker.is_alive():
        # Gives the lock away, and waits for it at once.
        time.sleep(0)
        try:
            now_s = time.clock_gettime(clock)
        except OSError:
            break
        longest_s = max(longest_s, now_s - spent_s)
        spent_s = now_s
    worker.join()
    return longest_s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chars", type=int, default=1_000_000)
    parser.add_argument("--one-line", action="store_true")
    parser.add_argument("--ssml", action="store_true")
    parser.add_argument("--limit-ms", type=float, default=20.0)
    options = parser.parse_args()
    text = book(options.chars, one_line=options.one_line, ssml=options.ssml)
    reading = Reading("en-US", 300, ssml=options.ssml)
    body = json.dumps({"input": text}).encode()
    figures: dict[str, float] = {"chars": len(text)}

    def read_first() -> None:
        started_s = time.thread_time()
        read_body(body, len(text))
        check_scripts(text, ["LATIN"], "voice")
        check(text, reading)
        next(segments(text, reading))
        figures["first_segment_cpu_s"] = time.thread_time() - started_s

    def read_all() -> None:
        started_s = time.thread_time()
        figures["segments"] = sum(1 for _ in segments(text, reading))
        figures["cpu_s"] = time.thread_time() - started_s

    # Tables of months, units and emoji are read at their first use.
    list(segments(PARAGRAPH, Reading("en-US", 300)))
    figures["first_hold_ms"] = 1000 * longest_hold_s(read_first)
    figures["hold_ms"] = 1000 * longest_hold_s(read_all)
    tracemalloc.start()
    for _ in segments(text[: 200_000 if not options.ssml else None], reading):
        pass
    figures["peak_kib"] = tracemalloc.get_traced_memory()[1] / 1024
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))
    return int(max(figures["hold_ms"], figures["first_hold_ms"]) > options.limit_ms)


if __name__ == "__main__":
    sys.exit(main())
