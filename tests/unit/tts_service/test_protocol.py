"""The wire format: fixed byte for byte, and closed to whatever is not of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.messages import EXAMPLES, golden, message_types
from support.properties import property_settings
from tts_service.errors import ProtocolError
from tts_service.protocol import (
    FROM_GATEWAY,
    FROM_WORKER,
    TO_GATEWAY,
    TO_WORKER,
    Assign,
    Hello,
    Job,
    JobKey,
    Message,
    Submit,
    decode,
    encode,
)

DECODERS: list[msgspec.msgpack.Decoder[Any]] = [FROM_GATEWAY, TO_GATEWAY, FROM_WORKER, TO_WORKER]


def decoders_of(kind: type) -> list[msgspec.msgpack.Decoder[Any]]:
    return [decoder for decoder in DECODERS if kind in getattr(decoder.type, "__args__", ())]


def test_every_type_of_message_has_an_example() -> None:
    assert sorted(type(message).__name__ for message in EXAMPLES) == sorted(kind.__name__ for kind in message_types())


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_a_message_has_the_bytes_that_its_version_promises(message: Message) -> None:
    assert encode(message).hex() == golden()[type(message).__name__]


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_the_promised_bytes_are_read_back_by_every_receiver(message: Message) -> None:
    frame = bytes.fromhex(golden()[type(message).__name__])
    receivers = decoders_of(type(message))
    assert receivers
    for decoder in receivers:
        assert decode(decoder, frame) == message


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_a_message_to_somebody_else_is_refused(message: Message) -> None:
    others = [decoder for decoder in DECODERS if decoder not in decoders_of(type(message))]
    for decoder in others:
        with pytest.raises(ProtocolError):
            decode(decoder, encode(message))


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_a_truncated_message_is_refused_wherever_it_is_cut(message: Message) -> None:
    decoder = decoders_of(type(message))[0]
    frame = encode(message)
    for n_bytes in range(len(frame)):
        with pytest.raises(ProtocolError, match=f"of {n_bytes} bytes"):
            decode(decoder, frame[:n_bytes])


@pytest.mark.parametrize(
    "value",
    [
        {"type": "Teleport"},
        {"type": 5},
        {},
        {"protocol": 1, "package": "0.1.0"},
        {"type": "Hello", "protocol": "1", "package": "0.1.0"},
        {"type": "Hello", "protocol": 1.5, "package": "0.1.0"},
        {"type": "Hello", "protocol": 1, "package": None},
        {"type": "Hello", "package": "0.1.0"},
        {"type": "Cancel", "key": ["r", 0]},
        {"type": "Cancel", "key": {"request_id": "r", "segment": 0, "attempt": 1}},
        {"type": "Cancel", "key": ["r", "0", 1]},
        ["Hello", 1, "0.1.0"],
        "Hello",
        None,
        7,
    ],
    ids=str,
)
def test_an_unknown_type_or_a_field_of_another_type_is_refused(value: Any) -> None:
    with pytest.raises(ProtocolError):
        decode(FROM_GATEWAY, msgspec.msgpack.encode(value))


@pytest.mark.parametrize("frame", [b"", b"\xc1", b"\xa5\xff\xfe\xfd\xfc\xfb", b"{}", b"\xdf\xff\xff\xff\xff"])
def test_bytes_that_are_no_message_are_refused(frame: bytes) -> None:
    for decoder in DECODERS:
        with pytest.raises(ProtocolError):
            decode(decoder, frame)


def test_a_field_that_this_version_does_not_know_is_ignored() -> None:
    frame = msgspec.msgpack.encode({"type": "Hello", "protocol": 2, "package": "9.0", "colour": "blue"})
    # A Hello of a later version has to be readable: it is answered with Refused, which says what to do.
    assert decode(FROM_GATEWAY, frame) == Hello(2, "9.0")


INT64 = st.integers(-(2**63), 2**64 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JOBS = st.builds(
    Job,
    key=st.builds(JobKey, TEXT, INT64, INT64),
    pool=TEXT,
    generation=TEXT,
    voice=TEXT,
    text=TEXT,
    language=TEXT,
    speed=st.floats(allow_nan=False),
    seed=INT64,
    streamed=st.booleans(),
    from_sample=INT64,
    max_samples=INT64,
    deadline_s=st.floats(allow_nan=False),
    credit_bytes=INT64,
    arrived_s=st.floats(allow_nan=False),
    give_up_s=st.floats(allow_nan=False),
)


@property_settings(100)
@given(JOBS)
def test_any_job_arrives_as_it_was_sent(job: Job) -> None:
    assert decode(FROM_GATEWAY, encode(Submit(job))) == Submit(job)
    assert decode(TO_WORKER, encode(Assign(job))) == Assign(job)
