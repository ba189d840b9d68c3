"""The `piper` engine: any Piper (VITS) voice, from its `.onnx` and `.onnx.json`. See docs/piper.md."""
