"""The gateway's client as the Flask application sees it, without a socket behind it, and that application on it."""

from __future__ import annotations

from typing import Any

from flask import Flask

from support.messages import WORKER_STATUS
from support.pools import pool
from support.scripted_broker import Script, ScriptedBroker, answer_whole
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.admission import Admission
from tts_service.gateway.api_keys import KeyRing
from tts_service.gateway.app import make_app
from tts_service.protocol import Catalogue, PoolInfo, PoolStatus, RequestReport, Status
from tts_service.settings import GatewaySettings


class FakeClient(ScriptedBroker):
    """Connected and ready, until a test says otherwise."""

    def __init__(self, pools: list[PoolInfo] | None = None, script: Script = answer_whole) -> None:
        super().__init__(script)
        self.pools = {info.name: info for info in ([pool()] if pools is None else pools)}
        self.catalogue: Catalogue | None = None
        self.connected = True
        self.refused = ""
        self.reports: list[RequestReport] = []
        self.announce()

    def announce(self, *, warm: bool = True, draining: bool = False, closed: bool = False) -> None:
        """Have heard a catalogue."""
        self.catalogue = Catalogue(list(self.pools.values()), warm, draining, closed)

    def serves(self, pool: PoolInfo) -> bool:
        catalogue = self.catalogue
        assert catalogue is not None
        return self.connected and not catalogue.closed and pool in catalogue.pools

    def known_pools(self) -> list[PoolInfo]:
        return list(self.pools.values())

    def status(self) -> Status:
        self._answers()
        waiting = PoolStatus(name="default", queued=5, queue_limit=256, running=2, oldest_s=0.75)
        return Status(1, "life-1", 42, [waiting], [WORKER_STATUS], closed=False, n_requests=3)

    def metrics(self) -> bytes:
        self._answers()
        return b"tts_up 1\n"

    def report(self, report: RequestReport) -> None:
        self.reports.append(report)

    def _answers(self) -> None:
        if not self.connected:
            raise RequestFailed(Code.NOT_READY, "the workers' half does not answer", retry_after_s=1.0)


class FakeGateway:
    """The application on a fake client, with Flask's own test client for HTTP."""

    def __init__(self, client: FakeClient | None = None, keys: KeyRing | None = None, **settings: Any) -> None:
        self.client = client or FakeClient()
        self.settings = GatewaySettings(**settings)
        self.admission = Admission(self.settings.max_requests)
        # A fake client has what the application uses of a real one.
        self.app: Flask = make_app(self.settings, self.client, self.admission, keys)  # type: ignore[arg-type]
        self.http = self.app.test_client()

    def speak(self, text: str = "Hello.", http: dict[str, Any] | None = None, **fields: Any) -> Any:
        """Return the answer to a speech request; `http` is for the test client."""
        return self.http.post("/v1/audio/speech", json={"input": text, **fields}, **(http or {}))
