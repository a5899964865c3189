"""The comparison as a function: who plays what, then the statistics and the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DEFAULT_POLICIES = ("pe", "drawchance", "kg", "random", "oracle")


class Comparison:
    """What a comparison found."""

    def table(self, *, timing: bool = True) -> str:
        """The table as text."""
        raise NotImplementedError


def run_comparison(
    policies: Sequence[Any] = DEFAULT_POLICIES,
    *,
    against: str = "kg",
    ranks: Sequence[str | int | None] = ("top", "middle", "bottom"),
    priors: Sequence[str] = ("informative",),
    episodes: int = 200,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    workers: int | None = None,
    out: str | Path | None = None,
    timing: bool = False,
    quiet: bool = False,
) -> Comparison:
    """Play the same games with every policy, and compare.

    Args:
        policies: names as ``baselines.policy_by_name`` takes them, folders of training runs,
            names that ``agents.load`` knows, or objects with the ``predict`` of
            stable-baselines3 and a ``name``.
        against: the policy that differences are taken to; it plays even if not in the list,
            as do DrawChance and the oracle.
        ranks: places of player 0: names or numbers, None (or ``"any"``) for a random one.
        priors: ``"informative"``, ``"equal"``; each rank is played with each prior.
        episodes: instances in each cell, >= 2.
        seed: decides all instances, noise and lots.
        env_kwargs: ``num_opponents``, ``horizon``, ``beta``, ``draw_margin``, ``tau``,
            ``rank_by``, ``equal_variance`` of the environment.
        workers: processes, >= 1; None for one on each core. The numbers do not depend on it.
        out: folder for the result files; None to write none.
        timing: write decisions per second into the files too.
        quiet: no progress bar.

    Raises:
        ValueError: for a bad argument, before anything is played.
    """
    raise NotImplementedError
