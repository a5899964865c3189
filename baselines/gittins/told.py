"""The index of a player who knows the own skill: a mark for benchmarks, no policy to be used."""

from __future__ import annotations

from typing import ClassVar

from matchenv.baselines.gittins.policy import Gittins


class ToldIndex(Gittins):
    """The Gittins index where player 0's true skill is known from the start.

    Given that skill the opponents are independent, as theory asks. So it shows what is left to gain
    by whoever must find it out. ``matchenv.evaluation.rollout`` starts its belief at the truth;
    elsewhere it is the Gittins index.
    """

    name: ClassVar[str] = "told"
    told_skill: ClassVar[bool] = True
