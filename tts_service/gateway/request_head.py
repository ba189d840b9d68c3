"""What the first bytes of a request say about how much of it is still to come. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

# Longer heads are refused: gunicorn itself takes 8 KiB for one line, and 100 lines.
MAX_HEAD_BYTES = 64 << 10
_END = b"\r\n\r\n"
# A client that ends its lines without CR never sends the end that is waited for.
_BARE_END = b"\n\n"
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z\r\n-]")
_LENGTH = re.compile(rb"\r\nContent-Length:[ \t]*(\d{1,18})[ \t]*(?=\r\n)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\nTransfer-Encoding:[^\r\n]*chunked", re.IGNORECASE)
_EXPECT = re.compile(rb"\r\nExpect:[ \t]*100-continue[ \t]*(?=\r\n)", re.IGNORECASE)
_LAST_CHUNK = b"0\r\n\r\n"


class Head(NamedTuple):
    """A head that is complete."""

    n_bytes: int
    """With the blank line at its end."""
    body_bytes: int
    """As the head has it; 0 for a chunked body."""
    chunked: bool
    expects_continue: bool
    """Its client sends the body when it is told to go on."""

    def is_whole(self, data: bytearray) -> bool:
        """Return True where `data`, which begins with this head, has the body, too.

        A chunked body may be taken for whole too early, by what stands in it, but never too late.
        """
        if not self.chunked:
            return len(data) >= self.n_bytes + self.body_bytes
        # The last chunk, or that and trailers.
        return len(data) > self.n_bytes and (data.endswith(_END) or data.find(_LAST_CHUNK, self.n_bytes) >= 0)


def is_no_request(data: bytearray) -> bool:
    """Return True for bytes that begin no request of HTTP/1: another protocol's, a line that ends without CR."""
    return _TOKEN.match(data) is None or (_BARE_END in data and _END not in data)


def find_head(data: bytearray, n_seen: int) -> Head | None:
    """Return the head at the beginning of `data`, None where its end is not there yet; `n_seen` bytes were seen before.

    What is wrong with a head is not looked at here: a body whose length cannot be read counts as none.
    """
    end = data.find(_END, max(0, n_seen - len(_END) + 1))
    if end < 0:
        return None
    head = bytes(data[: end + 2])
    lengths = set(_LENGTH.findall(head))
    return Head(
        n_bytes=end + len(_END),
        body_bytes=int(lengths.pop()) if len(lengths) == 1 else 0,
        chunked=_CHUNKED.search(head) is not None,
        # HTTP/1.0 has no such thing.
        expects_continue=b" HTTP/1.1\r\n" in head and _EXPECT.search(head) is not None,
    )


def without_expect(data: bytearray, head: Head) -> bytearray:
    """Return `data` without the line that asks to be told to go on, once its client has been told."""
    kept = _EXPECT.sub(b"", bytes(data[: head.n_bytes]))
    return bytearray(kept) + data[head.n_bytes :]
