"""Everything that decides what a study finds, and what it plays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, TypedDict, Unpack

from matchenv.envs.one_player.priors import PRIORS, DrawnPrior, check_named, prior_of
from matchenv.envs.one_player.settings import RANKINGS, Settings
from matchenv.evaluation.candidates import Candidate, candidates_of
from matchenv.evaluation.cells import Cell, cells_of
from matchenv.evaluation.episode_table import Block, Plan
from matchenv.evaluation.rollout import ALL, Sums
from matchenv.evaluation.seeds import (
    REPORT,
    STUDY_EPISODES,
    STUDY_POLICIES,
    STUDY_PRIOR,
    episode_seeds,
    spans_of,
    stream_of,
)
from matchenv.runtime.checks import as_choice, as_integer

PAPER_POLICIES = ("pe", "drawchance", "kg")
# Ranks that the paper's figures show, 1 for the best of its 50 players.
PAPER_PLAYERS, PAPER_RANKS = 50, (1, 12, 25, 37, 50)

# What is kept of each game.
MEASURES = ("true_draw_density", "squared_error", "skill_difference", "win_ratio")

# Games at the start and at the end that the paper's text sets against the rest.
FIRST_GAMES, LAST_GAMES = 100, 100

# A block is what a killed study loses; its size is part of the results, since a stochastic
# policy has one stream for a block.
LARGEST_BLOCK = 250
LARGEST_BLOCK_PLAYERS = 4_000_000
LARGEST_BLOCK_GAMES = 500_000


class StudyOptions(TypedDict, total=False):
    """What a study can be told beside its policies; ``DEFAULTS`` are the paper's.

    Attributes:
        ranks: places of player 0, names or numbers; None for the paper's, at the same shares of
            any number of players. By prior mean with the informative prior.
        priors: ``"informative"``, ``"equal"``; each rank is played with each prior.
        episodes: sets of true skills for each draw of the prior, >= 2.
        prior_draws: draws of the prior, >= 1; the paper has one.
        num_opponents: M.
        horizon: games in an episode.
        seed: decides priors, skills, noise and random choices, >= 0.
        belief: what policies read unless their name says another; ``"printed"`` has the
            misprints of the paper's equations.
        equal_variance: of equal priors, as the environment's argument.
        equal_rank_by: what places are by with equal priors: ``"true_skill"``, the paper's words,
            or ``"prior_mean"``, the mean that is hidden there.
        availability: as the environment's argument, and so are the next two.
        mean_stay: as there.
        turnover: as there.
    """

    ranks: Sequence[str | int] | None
    priors: Sequence[str]
    episodes: int
    prior_draws: int
    num_opponents: int
    horizon: int
    seed: int
    belief: str
    equal_variance: str
    equal_rank_by: str
    availability: float
    mean_stay: float
    turnover: float


DEFAULTS: StudyOptions = {
    "ranks": None, "priors": PRIORS, "episodes": 10_000, "prior_draws": 1, "num_opponents": 49,
    "horizon": 500, "seed": 0, "belief": "factorised", "equal_variance": "paper",
    "equal_rank_by": "true_skill", "availability": 1.0, "mean_stay": 50.0, "turnover": 0.0,
}  # fmt: skip


@dataclass(frozen=True)
class StudySettings:
    """Settings of a study; build it with ``StudySettings.checked``.

    Attributes:
        candidates: the policies.
        cells: where they play.
        episodes: sets of true skills for each draw of the prior, >= 2.
        prior_draws: draws of the prior; the paper has one.
        seed: decides all priors, skills, noise and random choices.
        equal_rank_by: as ``StudyOptions``.
        game: of the environment, but for the cells' rank and prior; policies read its belief
            unless their name says another.
        purpose: ``REPORT`` or ``TUNING``: their seeds never meet, whatever the user typed.
    """

    candidates: tuple[Candidate, ...]
    cells: tuple[Cell, ...]
    episodes: int
    prior_draws: int
    seed: int
    equal_rank_by: str
    game: Settings
    purpose: int

    @classmethod
    def checked(
        cls,
        policies: Sequence[Any] = PAPER_POLICIES,
        *,
        purpose: int = REPORT,
        **options: Unpack[StudyOptions],
    ) -> StudySettings:
        """Settings from what a user typed.

        Args:
            policies: as ``matchenv.benchmarks.compare.run_comparison`` takes them.
            purpose: what the seeds are for.
            options: the others.

        Raises:
            ValueError: for a value that is not allowed, or a policy that cannot play.
        """
        unknown = sorted(set(options) - set(DEFAULTS))
        if unknown:
            raise TypeError(f"a study has no option {', '.join(unknown)}")
        given: StudyOptions = {**DEFAULTS, **options}
        game = Settings.checked(**{name: each for name, each in given.items() if name in SHARED})
        ranks = given["ranks"]
        places = paper_places(game.num_players) if ranks is None else list(ranks)
        check_named("priors", given["priors"], "which the paper studies")
        by = as_choice("equal_rank_by", given["equal_rank_by"], known=RANKINGS)
        cells = cells_of(places, given["priors"], game.num_opponents)
        cells = tuple(
            replace(cell, rank_by=by) if cell.prior == "equal" else cell for cell in cells
        )
        if any(cell.rank is None for cell in cells):
            raise ValueError(f"ranks must be places of player 0, got {ranks!r}")
        return cls(
            candidates=candidates_of(policies, game),
            cells=cells,
            episodes=as_integer("episodes", given["episodes"], 2),
            prior_draws=as_integer("prior_draws", given["prior_draws"], 1),
            seed=as_integer("seed", given["seed"], 0),
            equal_rank_by=by,
            game=game,
            purpose=purpose,
        )

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of the policies."""
        return tuple(candidate.label for candidate in self.candidates)

    @property
    def block_size(self) -> int:
        """Episodes in a block: fewer where players or games would fill the memory."""
        sizes = (
            LARGEST_BLOCK,
            LARGEST_BLOCK_PLAYERS // self.game.num_players,
            LARGEST_BLOCK_GAMES // self.game.horizon,
        )
        return max(1, min(sizes))

    def described(self) -> dict[str, Any]:
        """Everything that decides what its jobs give, as plain data."""
        return {
            "policies": {candidate.label: candidate.identity for candidate in self.candidates},
            "cells": [cell.name for cell in self.cells],
            **{name: getattr(self, name) for name in OWN},
            **{name: value for name, value in asdict(self.game).items() if name in SHARED},
            "purpose": self.purpose,
        }

    def plan(self) -> Plan:
        """Return what is to be played."""
        blocks = tuple(
            Block(
                prior=draw,
                first=first,
                seeds=tuple(
                    episode_seeds(self.seed, first, count, (self.purpose, draw, STUDY_EPISODES))
                ),
                policy_stream=(self.purpose, draw, STUDY_POLICIES, first),
            )
            for draw in range(self.prior_draws)
            for first, count in spans_of(self.episodes, self.block_size)
        )
        return Plan(
            candidates=self.candidates,
            cells=self.cells,
            blocks=blocks,
            settings_of=self.settings_of,
            seed=self.seed,
            summary=partial(
                Sums,
                (*MEASURES, "final_squared_error"),
                windows_of(self.game.horizon),
                self.game.horizon,
            ),
        )

    def settings_of(self, cell: Cell, draw: int) -> Settings:
        """The settings of a cell with that draw of the prior.

        Skills are the same in all cells; the players only change places.
        """
        kind = prior_of(cell.prior, self.game.equal_variance)
        rng = stream_of(self.seed, self.purpose, draw, STUDY_PRIOR)
        return replace(
            self.game,
            rank=cell.rank,
            rank_by=cell.rank_by,
            prior=DrawnPrior.of(kind, rng, self.game.num_players),
        )


# Options of the study itself that decide what it finds, beside policies and cells.
OWN = ("episodes", "prior_draws", "seed", "equal_rank_by")

# Options that are the environment's.
SHARED = ("num_opponents", "horizon", "belief", "equal_variance", "availability", "mean_stay",
          "turnover")  # fmt: skip


def paper_places(num_players: int) -> list[str | int]:
    """The paper's places of player 0, best first, at the same shares of a pool of any size."""
    inner = [place_at_share(rank, num_players) for rank in PAPER_RANKS[1:-1]]
    places = dict.fromkeys([place for place in inner if 0 < place < num_players - 1])
    return ["top", *places, "bottom"]


def place_at_share(rank: int, num_players: int) -> int:
    """How many players stand before the one whom the paper's rank means.

    The paper's ranks count from 1: of its 50 players rank 12 has 11 before it.
    """
    return int((rank - 0.5) / PAPER_PLAYERS * num_players)


def windows_of(horizon: int) -> dict[str, slice]:
    """Games at the start, after it, at the end, and all; short horizons make them overlap.

    "after" is what follows the first games, or the last game where nothing does.
    """
    return {
        "first": slice(0, min(FIRST_GAMES, horizon)),
        "after": slice(min(FIRST_GAMES, horizon - 1), horizon),
        "last": slice(max(0, horizon - LAST_GAMES), horizon),
        ALL: slice(0, horizon),
    }
