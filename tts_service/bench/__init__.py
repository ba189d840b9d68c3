"""Measures servers: scenario → measurements → result → table, JSON, plot. `tts-service bench` runs it."""
