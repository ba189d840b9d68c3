"""Whatever is submitted, cancelled, finished, killed and lost in whatever order: each job is answered exactly once."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from support.dispatching import DispatcherWorld
from support.properties import property_settings
from tts_service.errors import Code
from tts_service.protocol import Assign, Cancel, Cancelled, Chunk, Done, Failed, JobKey

GATEWAYS = (b"g1", b"g2")
gateways = st.sampled_from(GATEWAYS)


class FakeWorker:
    """What a synthesis process has in its slots, and the orders it has not read yet."""

    def __init__(self, n_slots: int) -> None:
        self.n_slots = n_slots
        self.alive = True
        self.jobs: list[JobKey] = []
        self.suspect: JobKey | None = None
        """The last job that had to run alone."""

    def read(self, order: object) -> JobKey | None:
        """Carry out an order; return the job that it stopped, if it did."""
        if isinstance(order, Assign):
            assert not order.job.alone or not self.jobs, "a suspect is not alone"
            assert self.suspect not in self.jobs, "a job beside a suspect"
            self.suspect = order.job.key if order.job.alone else self.suspect
            self.jobs.append(order.job.key)
            assert len(self.jobs) <= self.n_slots, "more jobs than slots"
        elif isinstance(order, Cancel) and order.key in self.jobs:
            self.jobs.remove(order.key)
            return order.key
        return None


class DispatcherMachine(RuleBasedStateMachine):
    """Two gateways and some workers, of which any may vanish at any moment, and come back."""

    @initialize(
        n_slots=st.lists(st.integers(1, 3), min_size=1, max_size=3), limit=st.integers(1, 6), wide=st.booleans()
    )
    def start(self, n_slots: list[int], limit: int, wide: bool) -> None:
        has_wide = wide and len(n_slots) > 1
        self.world = DispatcherWorld(*n_slots, queue_limit=limit, wide=has_wide)
        self.workers = [FakeWorker(n) for n in [*n_slots, *[1] * has_wide]]
        self.n_read = 0
        self.n_jobs = 0
        self.owner: dict[JobKey, tuple[bytes, int]] = {}
        """Gateway of each accepted job, and which of its lives submitted it."""
        self.lives = dict.fromkeys(GATEWAYS, 1)
        self.draining = False
        for gateway in GATEWAYS:
            self.world.hello(gateway)

    def lives_now(self, gateway: bytes) -> bool:
        return gateway in self.world.dispatcher.gateways and gateway not in self.world.unreachable

    def read_orders(self) -> None:
        """Let the workers read what they were sent; a dead one's orders are lost."""
        while self.n_read < len(self.world.orders):
            index, order = self.world.orders[self.n_read]
            self.n_read += 1
            if self.workers[index].alive and (stopped := self.workers[index].read(order)) is not None:
                self.world.end(index, Cancelled(stopped))

    @rule(
        gateway=gateways,
        segment=st.integers(0, 1),
        n=st.integers(1, 4),
        alone=st.sampled_from([False, False, True]),
        lone=st.booleans(),
    )
    def submit(self, gateway: bytes, segment: int, n: int, alone: bool, lone: bool) -> None:
        for _ in range(n if self.lives_now(gateway) else 0):
            self.n_jobs += 1
            was_full = self.world.pools["default"].queue.is_full
            request, attempt = f"r{self.n_jobs}", 1 + alone
            key = self.world.submit(request, gateway, segment=segment, attempt=attempt, alone=alone, lone=lone).key
            self.owner[key] = (gateway, self.lives[gateway])
            codes = [last.code for _, last in self.world.lasts(key) if isinstance(last, Failed)]
            if self.draining:
                assert codes == [Code.DRAINING]
            else:
                assert codes == ([Code.QUEUE_FULL] if was_full and segment == 0 and not alone else [])

    @rule(gateway=gateways, which=st.integers(0, 10), any_job=st.booleans())
    def cancel(self, gateway: bytes, which: int, any_job: bool) -> None:
        """Cancel a job: one's own or another's, one that has not ended yet or any."""
        keys = [key for key in self.owner if any_job or not self.world.lasts(key)]
        if self.lives_now(gateway) and keys:
            self.world.cancel(keys[which % len(keys)], gateway)

    @rule(which=st.integers(0, 5), ending=st.sampled_from(["chunk", "done", "failed"]))
    def work(self, which: int, ending: str) -> None:
        self.read_orders()
        busy = [index for index, worker in enumerate(self.workers) if worker.jobs]
        if busy:
            index = busy[which % len(busy)]
            key = self.workers[index].jobs[0]
            if ending == "chunk":
                self.world.from_worker(index, Chunk(key, "g1", 0, 1), b"0000")
            else:
                self.workers[index].jobs.pop(0)
                done = Done(key, "g1", 1, 0.1)
                self.world.end(index, done if ending == "done" else Failed(key, "engine_failed", ""))

    @precondition(lambda self: self.n_jobs > 3)
    @rule(which=st.integers(0, 3), read_first=st.booleans())
    def kill_or_revive_a_worker(self, which: int, read_first: bool) -> None:
        if read_first:
            self.read_orders()
        index = which % len(self.workers)
        worker = self.workers[index]
        worker.alive = not worker.alive
        if worker.alive:
            self.world.warm(index)
        else:
            worker.jobs.clear()
            # What it was sent and never read dies with it.
            self.world.orders[self.n_read :] = [o for o in self.world.orders[self.n_read :] if o[0] != index]
            self.world.dispatcher.worker_gone(index, "signal SIGKILL")

    @precondition(lambda self: self.n_jobs > 3)
    @rule(gateway=gateways, how=st.sampled_from(["unreachable", "silent"]))
    def lose_or_greet_a_gateway(self, gateway: bytes, how: str) -> None:
        if self.lives_now(gateway):
            if how == "unreachable":
                # Found out at the next send.
                self.world.unreachable.add(gateway)
            else:
                self.world.dispatcher.gateway_gone(gateway, how)
            self.lives[gateway] += 1
        else:
            self.world.dispatcher.gateway_gone(gateway, "gone")
            self.world.unreachable.discard(gateway)
            self.world.hello(gateway)

    @precondition(lambda self: not self.draining and self.n_jobs > 20)
    @rule()
    def drain(self) -> None:
        self.draining = True
        self.world.dispatcher.drain()

    @invariant()
    def no_more_threads_compute_than_there_are_cpus(self) -> None:
        pool = self.world.pools["default"]
        if pool.wide is not None and pool.wide.jobs:
            # A suspect does not wait for the wide worker: its listener has waited long enough.
            busy = sum(bool(worker.jobs) and not worker.alone for worker in pool.workers)
            assert pool.wide.width >= 1
            assert pool.wide.width + busy <= len(pool.workers)

    @invariant()
    def no_job_is_answered_twice_or_to_a_foreigner(self) -> None:
        for key, (gateway, _) in self.owner.items():
            answers = self.world.lasts(key)
            assert len(answers) <= 1
            assert all(to == gateway for to, _ in answers)

    @invariant()
    def nothing_is_sent_to_a_worker_beyond_its_slots(self) -> None:
        for index, worker in enumerate(self.workers):
            link = self.world.dispatcher.workers[index]
            assert 0 <= link.credits <= worker.n_slots
            assert len(link.jobs) + link.credits <= worker.n_slots

    def teardown(self) -> None:
        for index, worker in enumerate(self.workers):
            if not worker.alive:
                worker.alive = True
                self.world.warm(index)
        for _ in range(10 * len(self.owner) + 10):
            self.work(0, "done")
        assert self.world.dispatcher.n_running == 0
        for key, (gateway, life) in self.owner.items():
            still_there = life == self.lives[gateway] and self.lives_now(gateway)
            assert len(self.world.lasts(key)) == 1 or not still_there, f"{key} was never answered"
        for index, worker in enumerate(self.workers):
            link = self.world.dispatcher.workers[index]
            assert link.credits == link.n_free == worker.n_slots


DispatcherMachine.TestCase.settings = property_settings(80, n_steps=60)
TestAnyOrder = DispatcherMachine.TestCase
