"""The one place that loads torch and picks the device."""

from __future__ import annotations

try:
    import torch
except ImportError:
    raise SystemExit("tinyserve needs PyTorch: install torch 2.6 or newer and run again.") from None

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# The tensors are so small that a second thread costs more than it brings.
torch.set_num_threads(1)
