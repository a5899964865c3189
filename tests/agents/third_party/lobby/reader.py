"""How the shared network reads ``Lobby-v0``."""

from __future__ import annotations

from typing import ClassVar

import torch

from matchenv.agents.network import Columns, Reader


class TableReader(Reader):
    """Mean, distance to the best mean, and deviation of each table, in units of the noise."""

    row_size: ClassVar[int] = 3
    context_size: ClassVar[int] = 1

    def read(self, observations: torch.Tensor) -> Columns:
        """Return rows, allowed actions and context."""
        tables = self.num_actions
        mu = observations[:, :tables] / self.settings.noise
        sigma = observations[:, tables : 2 * tables] / self.settings.noise
        below = mu - mu.amax(dim=1, keepdim=True)
        return (mu, below, sigma), torch.ones_like(mu), observations[:, 2 * tables :]
