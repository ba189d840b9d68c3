"""GET /metrics, as far as scenarios ask for it."""

from __future__ import annotations

from tts_service.errors import Unavailable
from tts_service.http_client import Connection

TIMEOUT_S = 10.0


def read_metrics(url: str) -> str:
    """Return the text that Prometheus would read; Unavailable where there is none."""
    with Connection(url, TIMEOUT_S) as connection:
        answer = connection.get("/metrics")
        text = answer.body().decode()
    if answer.status != 200:
        raise Unavailable(f"the server at {url} answers GET /metrics with status {answer.status}")
    return text


def total(text: str, name: str) -> float:
    """Return the sum of a metric over all its labels; 0 where it has no sample."""
    lines = (line for line in text.splitlines() if line.startswith((f"{name}{{", f"{name} ")))
    return sum(float(line.rpartition(" ")[2]) for line in lines)
