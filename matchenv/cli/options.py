"""The options that several commands share, each in one place."""

from __future__ import annotations

import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_type_hints

from tyro.conf import arg

from matchenv.cli.output import show
from matchenv.envs.one_player.priors import PRIORS
from matchenv.envs.one_player.settings import RANKS, Settings
from matchenv.runtime.parallel import LOCAL, Engine

DEFAULTS = Settings()
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


def option_group(names: Iterable[str]) -> type:
    """Return a dataclass of some options of ``Settings``: their defaults, types and help.

    Args:
        names: of the options.
    """
    types = get_type_hints(Settings)
    group: list[Any] = []
    for each in fields(Settings):
        if each.name in names:
            known = each.metadata["check"].keywords.get("known")
            kind = Literal[tuple(known)] if known else types[each.name]
            help_text = each.metadata["text"].replace("`", "").replace('"', "")
            group.append(
                (each.name, Annotated[kind, arg(help=help_text)], field(default=each.default))
            )
    return make_dataclass("Options", group, frozen=True, kw_only=True)


# Rank and prior make the cells, and the belief is the policy's.
ENVIRONMENT_OPTIONS = tuple(
    each.name
    for each in fields(Settings)
    if each.name not in ("rank", "prior", "reward", "belief", "noise")
)

if TYPE_CHECKING:

    class Sizes:
        """The size of the problem, and the game."""

    class Pool:
        """The options of a pool that changes."""

    class Environment:
        """Options of the environment besides those of the cells."""

        num_opponents: int
        rank_by: str

else:
    Sizes = option_group(("num_opponents", "horizon", "beta"))
    Pool = option_group(("availability", "mean_stay", "turnover"))
    Environment = option_group(ENVIRONMENT_OPTIONS)


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
        from matchenv.evaluation.registry import expanded

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


def chosen(options: object, kind: Any) -> dict[str, Any]:
    """Return those options of a command that a group has, by name.

    Args:
        options: the command.
        kind: the group, a dataclass that the command is built on.
    """
    return {each.name: getattr(options, each.name) for each in fields(kind)}
