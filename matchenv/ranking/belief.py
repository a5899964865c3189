"""What the dense and the sparse belief about items have in common."""

from __future__ import annotations

from matchenv.belief.joint import NOBODY
from matchenv.ranking.model import Model
from matchenv.runtime.arrays import Floats


class ItemBelief:
    """A joint normal belief about n items, and the advantage of the first if the model has one.

    Attributes:
        mu: means of the skills and, if there is one, of the advantage, shape (m,).
    """

    num_items: int
    model: Model
    mu: Floats

    @property
    def means(self) -> Floats:
        """Posterior means of the items, with sum 0, shape (n,)."""
        return self.mu[: self.num_items]

    def _coordinate(self, first: bool) -> int:
        """Return the index of the advantage in ``mu``; ``NOBODY`` if nobody is first."""
        if first and self.model.has_advantage:
            return self.num_items
        return NOBODY
