"""tts-service: the heavy side (supervisor, dispatcher, synthesis processes, engines). It loads no web framework."""
