"""A tiny inference engine: one hybrid language model, an FP8 prefix cache, continuous batching."""

try:
    import torch  # noqa: F401 - the one place that says so when it is missing
except ImportError:
    raise SystemExit("tinyserve needs PyTorch: install torch 2.6 or newer and run again.") from None
