"""tts-service: the light side (command line, protocol, settings, gateway). It loads no model."""

__version__ = "0.1.0"
