"""The arrivals of one-liners, and the capacity that they are a share of."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter

import pytest

from support.heard import heard
from tts_service.bench.capacity import chars_per_s
from tts_service.bench.one_liners import BOOK_AHEAD_S, arrivals, book, chars_of, closed_loop, one_liners
from tts_service.bench.texts import SENTENCES
from tts_service.errors import Unavailable


@pytest.mark.parametrize("chars_per_s_", [100.0, 5000.0])
def test_the_arrivals_offer_the_load_asked_for(chars_per_s_: float) -> None:
    found = arrivals(chars_per_s_, 60.0, seed=3)
    offered = chars_of([caller.requests[0] for caller in found]) / 60.0
    assert offered == pytest.approx(chars_per_s_, abs=max(map(len, SENTENCES)) / 60.0)
    assert all(len(caller.requests) == 1 for caller in found)


def test_the_arrivals_are_random_and_the_same_for_the_same_seed() -> None:
    found = arrivals(5000.0, 60.0, seed=1)
    assert found == arrivals(5000.0, 60.0, seed=1)
    assert found != arrivals(5000.0, 60.0, seed=2)
    times_s = [caller.at_s for caller in found]
    assert times_s == sorted(times_s)
    assert times_s[0] >= BOOK_AHEAD_S
    gaps_s = [late - early for early, late in itertools.pairwise(times_s)]
    # Exponential intervals spread as far as their mean.
    assert statistics.stdev(gaps_s) == pytest.approx(statistics.mean(gaps_s), rel=0.1)


def test_every_forty_arrivals_ask_for_each_sentence_once() -> None:
    asked = [caller.requests[0] for caller in arrivals(5000.0, 60.0, seed=1)]
    assert sorted(asked[:40]) == sorted(asked[40:80]) == list(range(len(SENTENCES)))


def test_even_the_smallest_load_has_an_arrival() -> None:
    assert len(arrivals(0.1, 1.0, seed=1)) == 1


def test_a_closed_loop_shares_its_requests_out() -> None:
    found = closed_loop(8, 80, seed=0)
    assert [len(caller.requests) for caller in found] == [10] * 8
    assert Counter(request for caller in found for request in caller.requests) == Counter(list(range(40)) * 2)


def test_a_book_has_so_many_sentences() -> None:
    assert book(41) == " ".join([*SENTENCES, SENTENCES[0]])
    assert [body["input"] for body in one_liners()] == list(SENTENCES)


def test_the_capacity_is_what_was_done_while_all_were_at_work() -> None:
    # Sentence 0 each time; both clients are at work from 0 to 8 s, and end one every second.
    found = [heard(caller=0, request=0, at_s=float(n), total_s=1.0) for n in range(8)]
    found += [heard(caller=1, request=0, at_s=n + 0.5, total_s=1.0) for n in range(20)]
    # From 1.0 to 8.0 s: 7 of the first, 7 of the second.
    assert chars_per_s(found) == pytest.approx(14 * len(SENTENCES[0]) / 7.0)


def test_a_single_answer_is_no_capacity() -> None:
    with pytest.raises(Unavailable, match="too few"):
        chars_per_s([heard()])
