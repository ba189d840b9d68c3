"""Settings of both halves: one typed schema, four layers (defaults, TOML file, environment, flags)."""

from tts_service.settings.load import Loaded, load
from tts_service.settings.schema import GatewaySettings, PoolSettings, ServiceSettings, Settings, WorkerSettings

__all__ = ["GatewaySettings", "Loaded", "PoolSettings", "ServiceSettings", "Settings", "WorkerSettings", "load"]
