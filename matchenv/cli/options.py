"""The options that several commands share, each in one place."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchenv.cli.output import show
from matchenv.cli.parser import Given, Parser
from matchenv.envs import ENVIRONMENTS
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.protocols import ONE_PLAYER as PROTOCOL
from matchenv.evaluation.registry import expanded
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.parallel import LOCAL, Engine

if TYPE_CHECKING:
    from matchenv.logs.reading import Reading

ONE_PLAYER, QUEUE = "Matchmaking-v0", "MatchmakingQueue-v0"
LOADS = ("thin", "middle", "thick")

# Options of the environment: all; those of a command whose cells and policies fix the others; those
# that both environments know.
ALL_OPTIONS = tuple(each.name for each in dataclasses.fields(Settings))
ENVIRONMENT = tuple(
    name for name in ALL_OPTIONS if name not in ("rank", "prior", "reward", "belief", "noise")
)
SHARED = ("horizon", "beta", "draw_margin", "tau")
# Options that mean nothing in other environments.
ONLY_ONE_PLAYER = set(ALL_OPTIONS).difference(SHARED)

RANKS_TEXT = "places of player 0: top, middle, bottom, a number from 0 (the best), or any"
RANK_TEXT = RANKS_TEXT.replace("places", "place")
PRIORS_TEXT = (
    "what policies know at the start: informative, equal, or a class as in "
    "matchenv:NormalPrior:mean=25,deviation=8.3"
)


def policies(add: Parser, default: tuple[str, ...]) -> None:
    """Declare the policies that play, the first group of a command.

    Args:
        add: the parser.
        default: who plays if nobody is named.
    """
    add.group("policies")
    add.option(
        "--policy", "names of policies, with options as in kg:multiplier=20, or several as in "
        "'kg:multiplier={3,5}'; learned policies, folders of runs, module:Class of your own; an "
        "unknown name lists the known ones", default, str,
    )  # fmt: skip


def environment(add: Parser, names: tuple[str, ...] = ENVIRONMENT) -> None:
    """Declare some options of ``Matchmaking-v0``."""
    add.group("environment")
    add.fields_of(Settings, names)


def cells(add: Parser, episodes: int) -> None:
    """Declare where policies are compared, in any environment."""
    add.group("games")
    add.option("--rank", RANKS_TEXT, tuple(PROTOCOL.swept["rank"]))
    add.option("--prior", PRIORS_TEXT, tuple(PROTOCOL.swept["prior"]))
    add.option("--episodes", "instances in each cell", episodes)
    seed(add)
    environment(add)
    either_environment(add)


def problem(given: Given, more: dict[str, Any]) -> dict[str, Any]:
    """Return environment, cells and options as ``run_comparison`` takes them.

    Args:
        given: by the user.
        more: further options of ``Matchmaking-v0``.

    Raises:
        ValueError: for options that mean nothing in the environment.
    """
    env = given.env
    for only, names in ((ONE_PLAYER, ONLY_ONE_PLAYER), (QUEUE, {"load"})):
        if env != only:
            given.refuse(names, f"with --env {only} alone may be given")
    if env == ONE_PLAYER:
        given.refuse({"env_kwargs"}, f"with --env {QUEUE} alone may be given")
        kwargs = {**given.chosen(ENVIRONMENT), **more}
        return {"env": env, "cells": {"rank": _all(given.rank), "prior": _all(given.prior)},
                "env_kwargs": kwargs}  # fmt: skip
    kwargs = {name: getattr(given, name) for name in SHARED if name in given.said}
    if env == QUEUE:
        return {"env": env, "cells": {"load": given.load}, "env_kwargs": with_pairs(given, kwargs)}
    several = [text for text in given.env_kwargs if "{" in text]
    swept: dict[str, list[Any]] = {}
    for text in expanded(several):
        for name, value in _pairs([text]).items():
            swept.setdefault(name, []).append(value)
    single = [text for text in given.env_kwargs if text not in several]
    return {"env": env, "cells": swept, "env_kwargs": with_pairs(given, kwargs, single)}


def _all(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def either_environment(add: Parser, loads: tuple[str, ...] = LOADS) -> None:
    """Declare the choice of the environment, and the options of the queue."""
    add.group("queue")
    add.option("--env", "where to play", ONE_PLAYER, known=tuple(ENVIRONMENTS))
    add.option("--load", "players who log on in a tick: thin, middle, thick or numbers", loads)
    add.option("--env-kwargs", "options of other environments than Matchmaking-v0 as KEY=VALUE, "
               "for example patience=10 or population=ratings.csv; outside the queue "
               "'KEY={1,2}' plays with each value", ())  # fmt: skip


def with_pairs(
    given: Given, found: dict[str, Any], texts: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return options with those of ``--env-kwargs``, or of some texts of it.

    Raises:
        ValueError: for a text that is not KEY=VALUE, or an option given twice.
    """
    pairs = _pairs(given.env_kwargs if texts is None else texts)
    twice = sorted(found.keys() & pairs.keys())
    if twice:
        raise ValueError(f"env-kwargs must not repeat other options, got {', '.join(twice)}")
    return {**found, **pairs}


def _pairs(texts: Sequence[str]) -> dict[str, Any]:
    if not texts:
        return {}
    from matchenv.agents import with_extra

    found: dict[str, Any] = with_extra("matchenv.agents.config_file", "parse_pairs")(
        "env-kwargs", list(texts)
    )
    return found


def seed(add: Parser) -> None:
    """Declare the seed."""
    add.option("--seed", "random seed; the same seed gives the same numbers", 0)


def results(
    add: Parser, *, required: bool = False, parallel: bool = True, resumes: bool = True
) -> None:
    """Declare where results are kept, and who computes them; the last group of a command.

    Args:
        add: the parser.
        required: whether there must be a folder.
        parallel: whether several processes work on it.
        resumes: whether a command that was stopped goes on from there.
    """
    add.group("results and work")
    none = "" if required else " (default: none are written)"
    add.option("--out", f"folder for the result files; the same command resumes there{none}",
               None, Path, required=required)  # fmt: skip
    add.resumes = resumes
    if parallel:
        workers(add)
    quiet(add)


def workers(add: Parser) -> None:
    """Declare the processes that work."""
    add.option("--workers", "worker processes; results do not depend on it (default: one for each "
               "core)", None, int)  # fmt: skip
    add.option("--engine", "where the workers run: local, this machine, or ray[:ADDRESS], a Ray "
               "cluster", LOCAL)  # fmt: skip


def quiet(add: Parser) -> None:
    """Declare ``--quiet``."""
    add.option("--quiet", "no progress bar and no table", False)


def run_options(given: Given, report: Callable[[Any], object] | None = None) -> RunOptions:
    """Return how a command works and what it keeps.

    Args:
        given: by the user.
        report: told what was found.
    """
    timing = getattr(given, "timing", False)
    return RunOptions(
        given.out, workers=engine(given), quiet=given.quiet, timing=timing, report=report
    )


def engine(given: Given) -> Engine:
    """Return workers and engine together, checked."""
    return Engine(given.engine, given.workers)


def named_policies(given: Given) -> list[str]:
    """Return the texts of the policies, braces expanded."""
    return expanded(given.policy)


def reading(given: Given) -> Reading:
    """Read the log of a command; what was left out is said even when quiet."""
    from matchenv.logs.reading import ReadingSettings, read_log, reading_text

    found = read_log(given.log, given.made(ReadingSettings))
    show(reading_text(found, listed=0 if given.quiet else 5), file=sys.stderr)
    return found


def log(add: Parser) -> None:
    """Declare the log that a command reads, and how."""
    from matchenv.logs.reading import ReadingSettings

    add.group("log")
    add.positional("log", "the log, a .csv or .csv.gz file", Path)
    add.fields_of(ReadingSettings)
