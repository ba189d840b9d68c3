"""Settings of property tests: the same examples in every run, and no limit on the time of one on a busy machine."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def property_settings(max_examples: int, n_steps: int = 50) -> settings:
    """Return settings for this number of examples, of `n_steps` steps each where it is a state machine."""
    return settings(
        max_examples=max_examples,
        stateful_step_count=n_steps,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
