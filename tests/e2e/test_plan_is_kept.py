"""The CPU plan, the memory limit and the metrics, on a real service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.service import Service, running, wait_until

pytestmark = pytest.mark.system


def metric(service: Service, name: str) -> float:
    """Return the sum of all samples of this name."""
    with service.connect() as connection:
        text = connection.get("/metrics").body().decode()
    families = text_string_to_metric_families(text)
    return sum(sample.value for family in families for sample in family.samples if sample.name == name)


def test_an_affinity_changed_from_outside_is_reported_and_forgiven() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    assert len(cpus) > 1, "this test needs two CPUs"
    with running("--engine", "tone", "--workers", "1") as service:
        (worker,) = service.workers()
        assert worker["faults"] == []
        planned, other = worker["cpus"], [cpu for cpu in cpus if cpu not in worker["cpus"]][:1]
        for thread in os.listdir(f"/proc/{worker['pid']}/task"):
            os.sched_setaffinity(int(thread), other)
        fault = wait_until(lambda: service.workers()[0]["faults"], 5, "a report of the fault")
        assert f"planned {planned[0]}" in fault[0]
        assert metric(service, "tts_worker_plan_faults") == 1
        assert "differs from its plan" in service.text_of_log()
        for thread in os.listdir(f"/proc/{worker['pid']}/task"):
            os.sched_setaffinity(int(thread), planned)
        wait_until(lambda: not service.workers()[0]["faults"], 5, "the end of the fault")


def test_a_worker_that_grows_past_its_limit_is_replaced_and_every_request_answered() -> None:
    env = {
        "TTS_SERVICE_POOLS_DEFAULT_OPTIONS": "{faults = true, step_cost_s = 0.01}",
        "TTS_SERVICE_WORKERS_MEMORY_LIMIT_MIB": "160",
    }
    with running("--engine", "tone", "--workers", "1", env=env) as service:
        pid = service.workers()[0]["pid"]
        expected = service.pcm("The tank is full again.", seed=1)
        statuses: list[int] = []

        def speak() -> None:
            answer, _ = service.speak("The tank is full again. [[leak amount=20]]", response_format="pcm")
            statuses.append(answer.status)

        threads = [threading.Thread(target=speak) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert statuses == [200] * 12
        wait_until(lambda: service.workers()[0]["pid"] not in (0, pid), 20, "a fresh process")
        wait_until(service.is_ready, 20, "ready")
        assert service.workers()[0]["exits"] == {"memory": 1}
        assert service.pcm("The tank is full again.", seed=1) == expected


def test_workers_that_need_more_than_the_total_are_refused() -> None:
    env = {"TTS_SERVICE_WORKERS_MEMORY_TOTAL_MIB": "20"}
    with running("--engine", "tone", "--workers", "1", env=env, wait=False) as service:
        assert service.process.wait(30) == 71
        assert "memory_total_mib is 20" in service.text_of_log()


def test_metrics_see_every_request_and_pass_promtool() -> None:
    with running("--engine", "tone", "--workers", "1") as service:
        for _ in range(3):
            service.pcm("Count me.", stream=True)
        service.speak("Count me.", voice="nobody")
        service.get("/no/such/route")
        wait_until(lambda: metric(service, "tts_delivered_audio_seconds_total") > 0, 5, "a report")
        with service.connect() as connection:
            text = connection.get("/metrics").body()
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()
        shown = text.decode()
        assert 'tts_requests_total{outcome="complete",route="/v1/audio/speech"} 3.0' in shown
        assert 'tts_requests_total{outcome="voice_not_found",route="/v1/audio/speech"} 1.0' in shown
        assert 'tts_requests_total{outcome="not_found",route="other"} 1.0' in shown
        assert 'tts_first_audio_seconds_count{mode="streamed",pool="default"} 3.0' in shown
        assert "/no/such/route" not in shown
        assert metric(service, "tts_worker_segments_total") == 3


def test_answers_say_where_their_time_went() -> None:
    with running("--engine", "tone", "--workers", "1") as service:
        answer, _ = service.speak("A timing.", response_format="wav")
        assert {part.split(";")[0] for part in answer.headers["Server-Timing"].split(", ")} == {
            "queue", "first-audio", "synthesis", "encoding",
        }  # fmt: skip


def test_the_plan_command_and_the_service_agree() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tts_service", "plan", "--json"], capture_output=True, text=True, check=True
    )
    with running("--engine", "tone") as service:
        assert [worker["cpus"] for worker in service.workers()] == [
            worker["cpus"] for worker in json.loads(done.stdout)["workers"]
        ]
