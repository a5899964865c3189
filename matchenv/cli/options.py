"""The options that several commands share, each in one place."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchenv.cli import show
from matchenv.cli.parser import GOES_ON, Given, Parser, option_of
from matchenv.envs import ENVIRONMENTS, part_of
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.protocols import LOADS
from matchenv.evaluation.protocols import ONE_PLAYER as PROTOCOL
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE, expanded
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.parallel import LOCAL, Engine

if TYPE_CHECKING:
    from matchenv.logs.reading import Reading

RANKS_TEXT = "places of player 0: top, middle, bottom, a number from 0 (the best), or any"
RANK_TEXT = RANKS_TEXT.replace("places", "place")
FOLDER_TEXT = "folder for the result files; the same command resumes there"

# By name: the help, the default, and where the default does not show it the type of a value.
OPTIONS: dict[str, tuple[Any, ...]] = {
    "policy": (
        "names of policies, with options as in kg:multiplier=20, or several as in "
        "'kg:multiplier={3,5}'; learned policies, folders of runs, module:Class of your own; an "
        "unknown name lists the known ones", (),
    ),
    "rank": (RANKS_TEXT, tuple(PROTOCOL.swept["rank"])),
    "prior": (
        "what policies know at the start: informative, equal, or a class as in "
        "matchenv:NormalPrior:mean=25,deviation=8.3", tuple(PROTOCOL.swept["prior"]),
    ),
    "episodes": ("instances in each cell", 0),
    "seed": ("random seed; the same seed gives the same numbers", 0),
    "env": ("where to play", ONE_PLAYER, tuple(ENVIRONMENTS)),
    "load": ("players who log on in a tick: thin, middle, thick or numbers", tuple(LOADS)),
    "env_kwargs": (
        "options of other environments than Matchmaking-v0 as KEY=VALUE, for example patience=10 "
        "or population=ratings.csv; outside the queue 'KEY={1,2}' plays with each value", (),
    ),
    "out": (f"{FOLDER_TEXT} (default: none are written)", None, Path),
    "workers": (
        "worker processes; results do not depend on it (default: one for each core)", None, int,
    ),
    "engine": (
        "where the workers run: local, this machine, or ray[:ADDRESS], a Ray cluster", LOCAL,
    ),
    "quiet": ("no progress bar and no table", False),
}  # fmt: skip
RESULTS = ("out", "workers", "engine", "quiet")

# Options of the environment: all, and those of a command whose cells and policies fix the others.
ALL_OPTIONS = tuple(each.name for each in dataclasses.fields(Settings))
ENVIRONMENT = tuple(
    name for name in ALL_OPTIONS if name not in ("rank", "prior", "reward", "belief", "noise")
)


def declare(add: Parser, *names: str, **defaults: Any) -> None:
    """Declare options of ``OPTIONS`` or of ``Matchmaking-v0``.

    Args:
        add: the parser.
        names: of the options.
        defaults: other defaults than those of ``OPTIONS``.
    """
    for name in names:
        if name in OPTIONS:
            text, default, *kind = OPTIONS[name]
            add.option(option_of(name), text, defaults.get(name, default), *kind)
        else:
            add.fields_of(Settings, (name,))


def group(add: Parser, title: str, *names: str, **defaults: Any) -> None:
    """Begin a group of options, with these as ``declare`` takes them."""
    add.group(title)
    declare(add, *names, **defaults)


def environments(add: Parser, **defaults: Any) -> None:
    """Declare the environment where policies play, with defaults as ``declare`` takes them."""
    group(add, "environment", *ENVIRONMENT)
    group(add, "queue", "env", "load", "env_kwargs", **defaults)


def problem(given: Given, **more: Any) -> dict[str, Any]:
    """Return environment, cells and options as ``run_comparison`` takes them.

    Args:
        given: by the user.
        more: further options, for environments that have them.

    Raises:
        ValueError: for options that mean nothing in the environment.
    """
    swept = part_of(given.env, "protocol").swept
    kwargs = own_options(given, **more)
    cells = {name: value if isinstance(value, tuple) else (value,)
             for name, value in given.chosen(swept).items()}  # fmt: skip
    several = [text for text in given.env_kwargs if "{" in text]
    for text in expanded(several):
        for name, value in with_pairs([text], {}).items():
            cells[name] = (*cells.get(name, ()), value)
    single = [text for text in given.env_kwargs if text not in several]
    kwargs = {name: value for name, value in kwargs.items() if name not in swept}
    return {"env": given.env, "cells": cells, "env_kwargs": with_pairs(single, kwargs)}


def own_options(given: Given, **more: Any) -> dict[str, Any]:
    """Return the options of the environment that were given.

    Args:
        given: by the user.
        more: further options, for environments that have them.

    Raises:
        ValueError: for options of another environment.
    """
    fields = dataclasses.fields(part_of(given.env, "settings"))
    known = {each.name: None for each in fields} | part_of(given.env, "protocol").swept
    for only, names in ((ONE_PLAYER, ALL_OPTIONS), (QUEUE, ("load",))):
        given.refuse(set(names).difference(known), f"with --env {only} alone may be given")
    return {name: value for name, value in more.items() if name in known} | given.told(*known)


def with_pairs(texts: Sequence[str], found: dict[str, Any]) -> dict[str, Any]:
    """Return options with those of texts of ``--env-kwargs``.

    Raises:
        ValueError: for a text that is not KEY=VALUE, or an option given twice.
    """
    if not texts:
        return found
    from matchenv.agents import with_extra

    parse_pairs = with_extra("matchenv.agents.config_file", "parse_pairs")
    pairs: dict[str, Any] = parse_pairs("env-kwargs", list(texts))
    twice = sorted(found.keys() & pairs.keys())
    if twice:
        raise ValueError(f"env-kwargs must not repeat other options, got {', '.join(twice)}")
    return {**found, **pairs}


def run_options(given: Given, report: Callable[[Any], object] | None = None) -> RunOptions:
    """Return how a command works and what it keeps: it goes on where it was stopped.

    Args:
        given: by the user.
        report: told what was found.
    """
    if given.out is not None:
        given.note = lambda: GOES_ON
    engine = Engine(given.engine, given.workers)
    return RunOptions(given.out, workers=engine, quiet=given.quiet, report=report)


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
    add.option("log", "the log, a .csv or .csv.gz file", None, Path)
    add.fields_of(ReadingSettings)
