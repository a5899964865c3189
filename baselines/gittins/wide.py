"""The Gittins index where equal prior means hide how wide the field is."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.gittins.policy import Gittins
from matchenv.baselines.gittins.widened_belief import widen_all
from matchenv.baselines.policy import Integers
from matchenv.belief import FullBelief
from matchenv.knowledge import KnowledgeState
from matchenv.priors import FIELD_VARIANCE
from matchenv.runtime.checks import as_non_negative_number
from matchenv.settings import PAPER_BETA

# Who asks for games may be the best or the worst of a field: the own skill varies by more.
OWN = 5.0


class WideGittins(Gittins):
    """The Gittins index of a belief that knows how wide the field is.

    Where all prior means are equal and the prior variances are below ``field_variance``, the belief
    is replaced by the one to which a wider prior would have led
    (``matchenv.baselines.gittins.widened_belief``), and the index is read from that. Everywhere
    else it is ``Gittins``. Once every opponent was met, nothing shows any more that the prior means
    were equal, and it is ``Gittins`` too.

    Args:
        discount: as ``Gittins``.
        field_variance: what the skills of the field vary by, >= 0; by default as in the 2011
            study.
        own: how much of the variance that an opponent gains player 0 gains, >= 0.
        beta: as ``Gittins``, and so are all others.
        draw_margin: as there.
        tau: as there.
        horizon: as there.
        belief: as there. Only the full one shows what the games have said; on others it is
            ``Gittins``.

    Raises:
        ValueError: for a bad number or an unknown belief.
    """

    name: ClassVar[str] = "wide-gittins"

    def __init__(
        self,
        discount: float | None = None,
        field_variance: float = FIELD_VARIANCE,
        own: float = OWN,
        *,
        beta: float = PAPER_BETA,
        draw_margin: float = 0.0,
        tau: float = 0.0,
        horizon: int = 500,
        belief: str = FullBelief.name,
    ) -> None:
        super().__init__(
            discount,
            beta=beta,
            draw_margin=draw_margin,
            tau=tau,
            horizon=horizon,
            belief=belief,
        )
        self.field_variance = as_non_negative_number("field_variance", field_variance)
        self.own = as_non_negative_number("own", own)

    def widened(self, knowledge_state: KnowledgeState) -> KnowledgeState:
        """The belief that the index is read from.

        Args:
            knowledge_state: beliefs of shape (..., M + 1).
        """
        if knowledge_state.belief != FullBelief.name:
            return knowledge_state
        state = knowledge_state.flattened()
        mu, sigma, extra = state.mu.copy(), state.sigma.copy(), state.extra.copy()
        widen_all(mu, sigma, extra, 2.0 * self.beta * self.beta, self.field_variance, self.own)
        shape = knowledge_state.batch_shape
        return KnowledgeState.trusted(
            mu.reshape(*shape, -1),
            sigma.reshape(*shape, -1),
            extra.reshape(*shape, -1),
            FullBelief.name,
        )

    def scores(self, knowledge_state: KnowledgeState, games_left: ArrayLike) -> Any:
        """As ``Gittins.scores``, on the widened belief."""
        return super().scores(self.widened(knowledge_state), games_left)

    def act(
        self,
        knowledge_state: KnowledgeState,
        games_left: ArrayLike,
        rng: np.random.Generator | None = None,
        action_masks: ArrayLike | None = None,
    ) -> Integers:
        """As ``Policy.act``: all opponents say how wide the belief is, also who is offline."""
        return super().act(self.widened(knowledge_state), games_left, rng, action_masks)
