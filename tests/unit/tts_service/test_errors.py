"""Codes, statuses and exit codes: complete, and as clients rely on them."""

from __future__ import annotations

import pytest

from tts_service import errors
from tts_service.errors import Code, ExitCode, ProcessMustEnd, RequestFailed, TtsError


@pytest.mark.parametrize("code", Code)
def test_every_code_has_an_error_status(code: Code) -> None:
    assert 400 <= code.status <= 599


def test_refusals_that_pass_with_time_are_503() -> None:
    for code in (Code.TOO_MANY_REQUESTS, Code.QUEUE_FULL, Code.NOT_READY, Code.DRAINING, Code.WORKER_DIED):
        assert code.status == 503


def test_only_losses_that_another_worker_can_make_good_are_resubmitted() -> None:
    losses = {Code.WORKER_DIED, Code.ENGINE_FAILED_TOGETHER, Code.DISPATCHER_LOST, Code.DRAINING}
    assert {code for code in Code if code.resubmittable} == losses


def test_an_unknown_code_is_no_code() -> None:
    with pytest.raises(ValueError, match="no_such_code"):
        Code("no_such_code")


def test_a_request_failure_carries_what_the_answer_needs() -> None:
    error = RequestFailed(Code.QUEUE_FULL, "full", param="input", retry_after_s=2.5)
    assert (error.code, error.message, error.param, error.retry_after_s) == (Code.QUEUE_FULL, "full", "input", 2.5)
    assert str(error) == "full"


def test_every_error_has_one_root_and_a_failed_request_ends_no_process() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(classes) > 8
    assert all(issubclass(kind, TtsError) for kind in classes)
    assert not issubclass(RequestFailed, ProcessMustEnd)


def test_every_error_that_ends_a_process_has_a_named_exit_code_of_its_own() -> None:
    kinds = ProcessMustEnd.__subclasses__()
    codes = [kind.exit_code for kind in kinds]
    assert len(kinds) >= 6
    assert ExitCode.OK not in codes
    assert len(set(codes)) == len(codes)
