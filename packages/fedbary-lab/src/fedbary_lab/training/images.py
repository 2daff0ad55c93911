"""Rows of pixels become images: the one layer that PyTorch lacks. Imported only where a network is built."""

from __future__ import annotations

import torch
from torch import nn


class Planes(nn.Module):
    """Flat rows, kept as (height, width, colours), as PyTorch wants them: (rows, colours, height, width).

    Examples
    --------
    >>> Planes(2, 2, 3)(torch.zeros(5, 12)).shape
    torch.Size([5, 3, 2, 2])
    """

    def __init__(self, height: int, width: int, colours: int) -> None:
        super().__init__()
        self.shape = (height, width, colours)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Cut each row into its colour planes."""
        return rows.reshape(-1, *self.shape).permute(0, 3, 1, 2)
