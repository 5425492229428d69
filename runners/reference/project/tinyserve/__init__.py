"""A tiny inference engine: one hybrid language model, an FP8 prefix cache, continuous batching."""
