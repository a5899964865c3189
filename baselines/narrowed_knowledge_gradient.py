"""KG among a few opponents: those with whom a game is most even now."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from matchenv.baselines.knowledge_gradient import KnowledgeGradient
from matchenv.baselines.policy import Floats, Integers
from matchenv.belief import DEFAULT_BELIEF
from matchenv.knowledge import KnowledgeState
from matchenv.runtime.checks import as_integer
from matchenv.settings import PAPER_BETA

DEFAULT_KEPT = 20


class NarrowedKnowledgeGradient(KnowledgeGradient):
    """KG as if only the opponents with the highest draw densities existed.

    The paper proposes to narrow the set of opponents before KG's values are computed. It names a
    technique for it, but no rule for this problem; the draw density is DrawChance's.

    Args:
        kept: opponents that KG looks at, >= 1; with 1 it is DrawChance.
        discount: as ``KnowledgeGradient``, and so are all others.
        finite_horizon: as there.
        multiplier: as there.
        beta: as there.
        draw_margin: as there.
        tau: as there.
        horizon: as there.
        belief: as there.

    Raises:
        ValueError: for a bad number.

    Source: Ryzhov, Tariq, Powell (2011), section 3, below eq. (12).
    """

    name: ClassVar[str] = "narrowed-kg"

    def __init__(
        self,
        kept: int = DEFAULT_KEPT,
        discount: float | None = None,
        *,
        finite_horizon: bool = False,
        multiplier: float | None = None,
        beta: float = PAPER_BETA,
        draw_margin: float = 0.0,
        tau: float = 0.0,
        horizon: int = 500,
        belief: str = DEFAULT_BELIEF,
    ) -> None:
        super().__init__(
            discount,
            finite_horizon=finite_horizon,
            multiplier=multiplier,
            beta=beta,
            draw_margin=draw_margin,
            tau=tau,
            horizon=horizon,
            belief=belief,
        )
        self.kept = as_integer("kept", kept, 1)

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        if self.kept >= state.num_opponents:
            return super()._choose(state, games_left, rng)
        densities = state.draw_density(self.beta)
        # In their own order: ties go to the lowest, as without narrowing.
        kept = np.sort(np.argpartition(-densities, self.kept - 1)[:, : self.kept], axis=1)
        rows = np.arange(len(kept))
        chosen = super()._choose(state.among(rows, kept), games_left, rng)
        found: Integers = kept[rows, chosen]
        return found
