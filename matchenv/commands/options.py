"""The options that several commands share, each in one place."""

from __future__ import annotations

import shlex
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

from matchenv.commands.output import show
from matchenv.priors import PRIORS
from matchenv.runtime.parallel import LOCAL, Engine
from matchenv.settings import RANKS, Settings

DEFAULTS = Settings.checked()
GOES_ON = "what is finished is kept: the same command goes on from here"


@dataclass(frozen=True, kw_only=True)
class Command(ABC):
    """A sub-command: its fields are its options.

    Attributes:
        quiet: no progress bar and no table.
        debug: show where an error comes from.
    """

    SHOWN_BY: ClassVar[str] = "report {} --out report.html"

    quiet: bool = False
    debug: bool = False

    @property
    def extras(self) -> tuple[str, ...]:
        """The package's extras without which it cannot work."""
        return ()

    @property
    def note(self) -> str:
        """What the user should know when it is stopped."""
        return "nothing was written"

    def check_given(self, given: set[str]) -> None:
        """Refuse options that have no effect together.

        Args:
            given: names of the fields that were given, even with their defaults.

        Raises:
            ValueError: naming them.
        """
        del given

    @property
    def results(self) -> Path | None:
        """Where its results are after it has run, if another command shows them."""
        return None

    def say_where(self, results: Path | None) -> None:
        """Say where the results are and which command shows them; nothing when quiet."""
        if results is not None and not self.quiet:
            command = self.SHOWN_BY.format(shlex.quote(str(results)))
            # On the error stream, so that what is piped is the table alone.
            show(f"{results} has the results, shown by: matchenv {command}", file=sys.stderr)

    @abstractmethod
    def run(self) -> None:
        """Do the work.

        Raises:
            ValueError: for bad input, before any work.
            OSError: if something cannot be read or written.
        """


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """A command whose numbers depend on a seed.

    Attributes:
        seed: decides all that is drawn; the same seed gives the same numbers.
    """

    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Parallel:
    """A command that works on several processes.

    Attributes:
        workers: worker processes; results do not depend on it (default: one for each core).
        engine: where the workers run: local, this machine, or ray[:ADDRESS], a Ray cluster.
    """

    workers: int | None = None
    engine: str = LOCAL

    @property
    def on_engine(self) -> Engine:
        """Both together, checked."""
        return Engine(self.engine, self.workers)


@dataclass(frozen=True, kw_only=True)
class Written(Command):
    """A command that writes files if it is told where.

    Attributes:
        out: folder for the result files (default: none are written).
    """

    out: Path | None = None

    @property
    def results(self) -> Path | None:
        """The folder."""
        return self.out


@dataclass(frozen=True, kw_only=True)
class Resumable(Written):
    """A command that keeps finished work in its folder."""

    @property
    def note(self) -> str:
        """What to say when it is stopped."""
        return super().note if self.out is None else GOES_ON


@dataclass(frozen=True, kw_only=True)
class Kept(Command):
    """A command that cannot do without a folder for finished work.

    Attributes:
        out: folder of the results; the same command goes on with what is in it.
    """

    out: Path

    @property
    def results(self) -> Path | None:
        """The folder."""
        return self.out

    @property
    def note(self) -> str:
        """What to say when it is stopped."""
        return GOES_ON


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The size of the problem, and the game.

    Attributes:
        num_opponents: opponents to choose from.
        horizon: games in an episode.
        beta: standard deviation of one performance.
    """

    num_opponents: int = DEFAULTS.num_opponents
    horizon: int = DEFAULTS.horizon
    beta: float = DEFAULTS.beta


@dataclass(frozen=True, kw_only=True)
class Pool:
    """How the pool changes.

    Attributes:
        availability: share of the opponents who are online.
        mean_stay: games that an opponent stays online or offline.
        turnover: probability after a game that an opponent is replaced by a stranger.
    """

    availability: float = DEFAULTS.availability
    mean_stay: float = DEFAULTS.mean_stay
    turnover: float = DEFAULTS.turnover


@dataclass(frozen=True, kw_only=True)
class Environment(Pool, Sizes):
    """Options of the environment beside rank, prior, reward and belief.

    Attributes:
        draw_margin: performances no further apart are a draw.
        tau: drift of a skill before each of the player's games.
        rank_by: what places are counted by: prior_mean or true_skill.
        equal_variance: variances of equal priors: paper, or matching, with the variance of the
            hidden means added.
    """

    draw_margin: float = DEFAULTS.draw_margin
    tau: float = DEFAULTS.tau
    rank_by: Literal["prior_mean", "true_skill"] = "prior_mean"
    equal_variance: Literal["paper", "matching"] = "paper"


@dataclass(frozen=True, kw_only=True)
class Policies:
    """A command that several policies play in.

    Attributes:
        policy: who plays: baselines, with options as in kg:multiplier=20, or with several as
            in 'kg:multiplier={3,5}'; learned policies, folders of runs, module:Class of your
            own. An unknown name lists the known ones.
    """

    policy: tuple[str, ...] = ()

    @property
    def policies(self) -> list[str]:
        """The texts of the policies, one for each."""
        from matchenv.agents.policies import expanded

        return expanded(self.policy)


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A command that plays in several cells: each rank with each prior.

    Attributes:
        rank: places of player 0: top, middle, bottom, a number from 0 (the best), or any.
        prior: what policies know at the start: informative, equal, or a class as in
            matchenv:NormalPrior:mean=25,deviation=8.3.
    """

    rank: tuple[str, ...] = RANKS
    prior: tuple[str, ...] = PRIORS[:1]


def chosen(options: object, kind: type[Any]) -> dict[str, Any]:
    """Those options of a command that a group has, by name.

    Args:
        options: the command.
        kind: the group, a dataclass that the command is built on.
    """
    return {each.name: getattr(options, each.name) for each in fields(kind)}
