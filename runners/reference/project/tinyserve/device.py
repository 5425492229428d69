"""The one place that picks the device."""

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# The tensors are so small that a second thread costs more than it brings.
torch.set_num_threads(1)
