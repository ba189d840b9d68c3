"""Speech recognition for end-to-end checks: Moonshine tiny (English) on plain onnxruntime, in the caller's thread."""

import importlib.util
import string
from pathlib import Path
from typing import Any, TypeAlias

import jiwer
import numpy as np
import onnxruntime as ort
import soxr
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float32]

MODEL_RATE_HZ = 16_000
# Measured on joined sentences: word errors stay under 10 % up to 39 s; at 42 s the model repeats itself (over 100 %).
MAX_AUDIO_S = 30.0
# Shorter audio leaves the encoder's convolutions without an output frame, and holds no word anyway.
MIN_AUDIO_S = 0.1
# Speech takes 3 to 4.3 tokens per second (measured); the bound only stops a decoder that repeats itself.
MAX_TOKENS_PER_S = 8
MIN_TOKEN_LIMIT = 16

START_ID, END_ID = 1, 2
CACHE_PREFIX = "past_key_values."

# An apostrophe joins ("don't" is dont), any other punctuation separates.
PUNCTUATION: dict[str, str | int | None] = {
    **dict.fromkeys(string.punctuation + "\u2013\u2014\u2026\u201c\u201d", " "),
    **dict.fromkeys("'\u2018\u2019"),
}


class Recognizer:
    """One encoder and one decoder session, one thread each; use it from one thread at a time.

    Raises FileNotFoundError when the package that carries the model (`moonshine-voice`) is not installed.
    """

    def __init__(self) -> None:
        models = _model_dir()
        self._tokens = _read_tokens(models / "tokenizer.bin")
        self._encoder = _open_session(models / "encoder_model.ort")
        self._decoder = _open_session(models / "decoder_model_merged.ort")
        # A cache of length 0, for the first step: key, then value, of every layer's own and encoder attention.
        self._empty_cache: dict[str, FloatArray] = {
            node.name: np.zeros((1, node.shape[1], 0, node.shape[3]), np.float32)  # (1, n_heads, 0, head_size)
            for node in self._decoder.get_inputs()
            if node.name.startswith(CACHE_PREFIX)
        }

    def transcribe(self, samples: FloatArray, rate_hz: int) -> str:
        """Return what is said in `samples`, with the model's own case and punctuation.

        `samples` is float32 (n,) in -1..1, mono, at any `rate_hz`. Audio under `MIN_AUDIO_S` gives the empty text,
        but silence and noise give invented words ("You"): check the level apart.
        Raises ValueError for another shape or type, and above `MAX_AUDIO_S`: the caller cuts longer audio, in a pause.
        """
        if samples.ndim != 1 or samples.dtype != np.float32:
            raise ValueError(f"samples must be float32 (n,), got {samples.dtype} {samples.shape}")
        duration_s = len(samples) / rate_hz
        if duration_s > MAX_AUDIO_S:
            raise ValueError(f"{duration_s:.1f} s of audio, the model hears at most {MAX_AUDIO_S:.0f} s: cut it first")
        if duration_s < MIN_AUDIO_S:
            return ""
        audio = soxr.resample(samples, rate_hz, MODEL_RATE_HZ).astype(np.float32)[np.newaxis]  # (1, n)
        mask = np.ones(audio.shape, np.int64)  # (1, n)
        (hidden,) = self._encoder.run(["last_hidden_state"], {"input_values": audio, "attention_mask": mask})
        token_ids = self._decode(hidden, mask, max(MIN_TOKEN_LIMIT, int(duration_s * MAX_TOKENS_PER_S)))
        return self._text(token_ids)

    def _decode(self, hidden: FloatArray, mask: NDArray[np.int64], limit: int) -> list[int]:
        """Return the likeliest token at each step, at most `limit`, without the end token.

        `hidden` is (1, n_frames, 288); `mask` is (1, n): the graph takes it at the rate of the samples.
        """
        outputs = ["logits", *(name.replace(CACHE_PREFIX, "present.") for name in self._empty_cache)]
        cache, token_ids = self._empty_cache, [START_ID]
        while len(token_ids) <= limit:
            first = len(token_ids) == 1
            feed = {
                "input_ids": np.array([token_ids[-1:]], np.int64),  # (1, 1)
                "encoder_hidden_states": hidden,
                "encoder_attention_mask": mask,
                "use_cache_branch": np.array([not first]),  # (1,)
                **cache,
            }
            logits, *present = self._decoder.run(outputs, feed)  # logits (1, 1, n_tokens)
            next_id = int(logits[0, -1].argmax())
            if next_id == END_ID:
                break
            token_ids.append(next_id)
            # The encoder's keys and values come out of the first step only; the cached branch returns them empty.
            cache = {
                name: new if first or ".decoder." in name else cache[name]
                for name, new in zip(self._empty_cache, present, strict=True)
            }
        return token_ids[1:]

    def _text(self, token_ids: list[int]) -> str:
        """Return the text of `token_ids`: pieces with U+2581 for a space, and single bytes of UTF-8."""
        pieces = b"".join(self._tokens[token_id] for token_id in token_ids)
        return pieces.decode("utf-8", errors="replace").replace("\u2581", " ").strip()


def word_error_rate(reference: str, hypothesis: str) -> float:
    """Return (substitutions + deletions + insertions) / words of `reference`, without case and punctuation.

    0.0 is a perfect match; insertions can bring it above 1. Raises ValueError when `reference` has no word.
    """
    if not normalise(reference):
        raise ValueError("the reference has no words")
    return float(jiwer.wer(normalise(reference), normalise(hypothesis)))


def normalise(text: str) -> str:
    """Return the words of `text`, in lower case and without punctuation, one space apart."""
    return " ".join(text.lower().translate(str.maketrans(PUNCTUATION)).split())


def _model_dir() -> Path:
    # The package itself is not imported: it would load its own native library, with another onnxruntime.
    spec = importlib.util.find_spec("moonshine_voice")
    if spec is None or spec.submodule_search_locations is None:
        raise FileNotFoundError("the recogniser's model is missing: pip install --no-deps moonshine-voice==0.0.49")
    return Path(spec.submodule_search_locations[0]) / "assets" / "tiny-en"


def _open_session(path: Path) -> Any:
    options = ort.SessionOptions()
    # One thread that never spins: the server under test needs the cores.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _read_tokens(path: Path) -> list[bytes]:
    """Return the pieces by token id: each is a length (one byte, or two from 128 up) and its bytes."""
    data, at, tokens = path.read_bytes(), 0, []
    while at < len(data):
        length, at = data[at], at + 1
        if length >= 128:
            length, at = data[at] * 128 + length - 128, at + 1
        tokens.append(data[at : at + length])
        at += length
    return tokens
