"""Settings of the study, and the plan of its episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from matchenv.belief import GameConstants, IndependentBelief, register
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.one_player.priors import PRIORS, DrawnPrior, prior_of
from matchenv.envs.one_player.settings import RANKINGS, Settings
from matchenv.evaluation.episode_table import Block, Cell, Plan
from matchenv.evaluation.protocols import cells_of
from matchenv.evaluation.registry import Candidate, candidates_of
from matchenv.evaluation.rollout import ALL, Steps, sums
from matchenv.evaluation.seeds import (
    REPORT,
    STUDY_EPISODES,
    STUDY_POLICIES,
    STUDY_PRIOR,
    episode_seeds,
    spans_of,
    stream_of,
)
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_choice, as_integer, as_list, refusal
from matchenv.runtime.files import Arrays

PAPER_POLICIES = ("pe", "drawchance", "kg")
# Ranks in the paper's figures besides the first and the last of its 50 players, counted from 1.
PAPER_PLAYERS = 50
PAPER_RANKS = (12, 25, 37)
EVEN_RANK = 25

MEASURES = ("true_draw_density", "squared_error", "skill_difference", "win_ratio")
DRAW, ERROR, DIFFERENCE, WINS = MEASURES

# Length of the paper's first and last window of games.
FIRST_GAMES = 100

# Limits on the size of a block, which is played in one batch. Results depend on it, since a
# stochastic policy has one random stream per block.
LARGEST_BLOCK = 250
LARGEST_BLOCK_PLAYERS = 4_000_000
LARGEST_BLOCK_GAMES = 500_000


class PrintedBelief(IndependentBelief):
    """The factorised belief with the misprints of eq. (1), (2) and (10), without draws and drift.

    The paper prints (mu_i - mu_j) / c^2 and sigma_i^2 / c^2, where (mu_i - mu_j) / c and
    sigma_i^2 / c are correct.

    Source: Ryzhov, Tariq, Powell (2011), as printed.
    """

    name: ClassVar[str] = "printed"

    def updated(
        self,
        mu_0: Floats,
        sigma_0: Floats,
        mu_j: Floats,
        sigma_j: Floats,
        outcome: NDArray[np.int8],
        constants: GameConstants,
    ) -> tuple[Any, Any, Any, Any]:
        """Return the beliefs after a game, eq. (1) and (2) as printed."""
        variance = sigma_0**2 + sigma_j**2 + 2.0 * constants.beta**2
        x = outcome * (mu_0 - mu_j) / variance
        v = np.exp(-0.5 * x * x - log_ndtr(x)) / math.sqrt(2.0 * math.pi)
        w = v * (v + x)
        own_0 = sigma_0**2 / variance
        own_j = sigma_j**2 / variance
        return (
            mu_0 + outcome * own_0 * v,
            sigma_0 * np.sqrt(1.0 - own_0 * w),
            mu_j - outcome * own_j * v,
            sigma_j * np.sqrt(1.0 - own_j * w),
        )

    def outcome_probability(
        self, mu: Floats, sigma: Floats, variance: Floats, outcome: int, constants: GameConstants
    ) -> Floats:
        """Return the probability of an outcome, eq. (10) as printed."""
        gap = outcome * (mu[..., :1] - mu[..., 1:])
        return ndtr(gap / (variance + 2.0 * constants.beta**2))


register(PrintedBelief())


@dataclass(frozen=True)
class StudySettings:
    """Settings of a study; the defaults are the paper's.

    Attributes:
        policies: see ``matchenv.benchmarks.compare.run_comparison``.
        ranks: ranks of player 0, names or numbers from 0; None for the paper's, at the same shares
            of any number of players. With the informative prior ranks are by prior mean.
        priors: ``"informative"``, ``"equal"``; each rank is played with each prior.
        episodes: sets of true skills for each draw of the prior, >= 2.
        prior_draws: draws of the prior, >= 1; the paper has one.
        num_opponents: number of opponents, M.
        horizon: games in an episode, N.
        seed: random seed of priors, skills, luck and random choices, >= 0.
        belief: belief of policies whose name does not specify one, except for ``gittins`` and
            learned policies, which have their own; ``"printed"`` has the misprints of the paper's
            equations, and exists only in the study.
        equal_variance: of equal priors, see the environment's option.
        equal_rank_by: what ranks are by with equal priors, where the prior mean is hidden:
            ``"true_skill"``, the paper's words, or ``"prior_mean"``.

    Raises:
        ValueError: for a bad value, or a policy that cannot play.
    """

    policies: Sequence[Any] = PAPER_POLICIES
    ranks: Sequence[str | int] | None = None
    priors: Sequence[str] = tuple(PRIORS)
    episodes: int = 10_000
    prior_draws: int = 1
    num_opponents: int = 49
    horizon: int = 500
    seed: int = 0
    belief: str = "factorised"
    equal_variance: str = "paper"
    equal_rank_by: str = "true_skill"

    def __post_init__(self) -> None:
        for prior in as_list("priors", self.priors):
            as_choice("priors", prior, PRIORS)
        as_choice("equal_rank_by", self.equal_rank_by, known=RANKINGS)
        if any(cell.options["rank"] is None for cell in self.cells):
            raise refusal("ranks must be names or numbers", self.ranks)
        as_integer("episodes", self.episodes, 2)
        as_integer("prior_draws", self.prior_draws, 1)
        as_integer("seed", self.seed, 0)
        _ = self.candidates  # raises if one cannot play

    @cached_property
    def game(self) -> Settings:
        """Settings of the environment in all cells."""
        return Settings.checked(
            num_opponents=self.num_opponents,
            horizon=self.horizon,
            belief=self.belief,
            equal_variance=self.equal_variance,
        )

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """The policies."""
        return candidates_of(self.policies, self.game)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells, prior by prior."""
        ranks: list[str | int] = ["top", *middle_places(self.game.num_players), "bottom"]
        if self.ranks is not None:
            ranks = as_list("ranks", self.ranks)
        cells: list[Cell] = []
        for prior in dict.fromkeys(as_list("priors", self.priors)):
            rank_by = Settings.rank_by
            if prior == "equal":
                rank_by = self.equal_rank_by
            cells += cells_of(ranks, [prior], self.num_opponents, rank_by)
        return tuple(cells)

    def described(self) -> dict[str, Any]:
        """Return everything that decides the results, as plain data."""
        return {
            **{field.name: getattr(self, field.name) for field in fields(self)[3:]},
            "policies": {candidate.label: candidate.identity for candidate in self.candidates},
            "cells": [cell.name for cell in self.cells],
        }

    def plan(self) -> Plan:
        """Return the plan of the episodes."""
        size = min(
            LARGEST_BLOCK,
            LARGEST_BLOCK_PLAYERS // self.game.num_players,
            LARGEST_BLOCK_GAMES // self.horizon,
        )
        blocks = []
        for draw in range(self.prior_draws):
            key = (REPORT, draw, STUDY_EPISODES)
            for first, count in spans_of(self.episodes, max(1, size)):
                seeds = episode_seeds(self.seed, first, count, key)
                policy_stream = (REPORT, draw, STUDY_POLICIES, first)
                blocks.append(Block(draw, first, tuple(seeds), policy_stream))
        return Plan(
            self.candidates,
            self.cells,
            tuple(blocks),
            self.settings_of,
            self.seed,
            partial(study_sums, self.horizon),
        )

    def settings_of(self, cell: Cell, draw: int) -> Settings:
        """Return the settings of a cell with a draw of the prior.

        All cells have the same skills, in another order.
        """
        distribution = prior_of(cell.options["prior"], self.equal_variance)
        rng = stream_of(self.seed, REPORT, draw, STUDY_PRIOR)
        prior = DrawnPrior.of(distribution, rng, self.game.num_players)
        return replace(self.game, **{**cell.options, "prior": prior})


def middle_places(num_players: int) -> list[int]:
    """Return the places of the paper's ranks between the best and the worst, from 0."""
    places: list[int] = []
    for rank in PAPER_RANKS:
        place = place_at_share(rank, num_players)
        if 0 < place < num_players - 1 and place not in places:
            places.append(place)
    return places


def place_at_share(rank: int, num_players: int) -> int:
    """Return the place from 0 that corresponds to a rank from 1 of the paper's 50 players."""
    return int((rank - 0.5) / PAPER_PLAYERS * num_players)


def study_sums(horizon: int, episodes: Episodes[Any], steps: Steps) -> Arrays:
    """Return the summary of a block; defined here so that workers register ``PrintedBelief``."""
    measures = (*MEASURES, "final_squared_error")
    return sums(episodes, steps, measures, windows_of(horizon), horizon)


def windows_of(horizon: int) -> dict[str, slice]:
    """Return the windows of games by name; they overlap in short episodes.

    "after" is all games after the first window, at least the last game.
    """
    return {
        "first": slice(0, min(FIRST_GAMES, horizon)),
        "after": slice(min(FIRST_GAMES, horizon - 1), horizon),
        "last": slice(max(0, horizon - FIRST_GAMES), horizon),
        ALL: slice(0, horizon),
    }
