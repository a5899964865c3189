"""Options that several commands share, and the problem and run that they describe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from matchenv.cli.parser import (
    Arguments,
    Collect,
    Parser,
    environment,
    explicit_values,
    option_of,
    path,
    refuse,
)
from matchenv.envs import ENVIRONMENTS, environment_named
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE, expanded
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.parallel import LOCAL
from matchenv.runtime.yaml_values import parse_pairs

RESUMES = "finished work is kept: run the same command to resume"

POLICIES = (
    "names with options, as kg:multiplier=20 or 'kg:multiplier={3,5}', learned policies, folders "
    "of runs, or module:Class; an unknown name lists all"
)
RANKS = "rank of player 0: top, middle, bottom, a number from 0 (the best), or any"
NAMED_PRIORS = "initial beliefs: informative, equal"
PRIORS = f"{NAMED_PRIORS}, or a class, for example matchenv:NormalPrior:mean=25,deviation=8.3"

ALL_SETTINGS = tuple(field.name for field in fields(Settings))
# Those with options of their own, and what all games of a comparison share.
NOT_SHARED = ("rank", "prior", "reward", "belief", "noise")
SETTINGS = tuple(name for name in ALL_SETTINGS if name not in NOT_SHARED)


def add_policies(group: Any, default: tuple[str, ...] = ()) -> None:
    """Add the policies to play."""
    group.add_argument("--policy", action=Collect, default=default, help=POLICIES)
    add_allow_code(group, "import beliefs outside matchenv that learned policies name")


def add_allow_code(group: Any, description: str) -> None:
    """Add the permission to import code; ``run_command`` grants it."""
    group.add_argument("--allow-code", action="store_true", help=description)


def add_games(parser: Parser, episodes: int) -> Any:
    """Add the games of a comparison, and return their group.

    Args:
        parser: parser of the command.
        episodes: default number of episodes.
    """
    group = parser.add_argument_group("games")
    # The defaults are those of the protocols, whose import takes as long as a help.
    ranks = ("top", "middle", "bottom")
    group.add_argument("--rank", action=Collect, default=ranks, help=RANKS)
    priors = ("informative",)
    group.add_argument("--prior", action=Collect, default=priors, help=PRIORS)
    group.add_argument("--episodes", type=int, default=episodes, help="episodes in each cell")
    add_seed(group)
    return group


def add_seed(group: Any) -> None:
    """Add the random seed."""
    group.add_argument("--seed", type=int, default=0, help="seed of all random numbers")


def add_settings(group: Any, settings_class: Any, names: Iterable[str]) -> None:
    """Add options for fields that ``matchenv.envs.core.settings.option`` declares.

    Args:
        group: group of the help.
        settings_class: class of the fields.
        names: names of the fields.
    """
    hints = get_type_hints(settings_class)
    declared = {field.name: field for field in fields(settings_class)}
    for name in names:
        metadata = declared[name].metadata
        value_type = hints[name]
        if value_type not in (int, float, str):
            value_type = get_args(value_type)[0]  # of a type or None
        group.add_argument(
            option_of(name),
            type=value_type,
            choices=metadata["check"].keywords.get("known"),
            default=declared[name].default,
            help=metadata["description"].replace("`", "").replace('"', ""),
        )


def add_environment(parser: Parser, loads: tuple[str, ...]) -> None:
    """Add the environment and its options.

    Args:
        parser: parser of the command.
        loads: default loads of the queue.
    """
    add_settings(parser.add_argument_group("environment"), Settings, SETTINGS)
    group = parser.add_argument_group("other environments")
    add_environment_name(group)
    group.add_argument(
        "--load",
        action=Collect,
        default=loads,
        help="players who log on in a tick: thin, middle, thick, numbers, or the rates of the "
        "ticks of a day that repeats, as '[0.5,0.5,2]'",
    )
    group.add_argument(
        "--env-kwargs",
        action=Collect,
        help="options of environments other than Matchmaking-v0 as KEY=VALUE, for example "
        "patience=10 or population=ratings.csv; compare and tune play 'KEY={1,2}', except in the "
        "queue",
    )


def add_environment_name(group: Any) -> None:
    """Add the name of the environment."""
    names = ", ".join(ENVIRONMENTS)
    group.add_argument(
        "--env", type=environment, default=ONE_PLAYER, help=f"environment: {names}, or module:NAME"
    )


def add_results(parser: Parser, *, required: bool = False) -> Any:
    """Add the folder of the results and the work, and return their group.

    Args:
        parser: parser of the command.
        required: whether the folder must be given.
    """
    group = parser.add_argument_group("results and work")
    folder = "folder for the result files; the same command resumes there"
    if not required:
        folder += " (default: write none)"
    group.add_argument("--out", type=path, required=required, help=folder)
    group.add_argument(
        "--overwrite", action="store_true", help="play everything again, also what the folder holds"
    )
    add_workers(group)
    add_quiet(group)
    return group


def add_workers(group: Any) -> None:
    """Add the number of workers, and where they run."""
    group.add_argument(
        "--workers",
        type=int,
        help="worker processes; results do not depend on it (default: one for each core)",
    )
    group.add_argument(
        "--engine",
        default=LOCAL,
        help="where workers run: local, on this machine, or ray[:ADDRESS], on a Ray cluster",
    )


def add_quiet(group: Any) -> None:
    """Add ``--quiet``."""
    group.add_argument("--quiet", action="store_true", help="no progress bar and no printed result")


def run_options(arguments: Arguments, report: Callable[[Any], object] | None = None) -> RunOptions:
    """Return the run options of a command that can be resumed.

    Args:
        arguments: its options, those of ``add_results`` among them.
        report: called with the results.
    """
    if arguments.out is not None:
        arguments.note = RESUMES
    return RunOptions(
        out=arguments.out,
        overwrite=arguments.overwrite,
        workers=arguments.workers,
        engine=arguments.engine,
        quiet=arguments.quiet,
        report=report,
    )


def environment_options(arguments: Arguments) -> dict[str, Any]:
    """Return the options of the environment that were given, except ``--env-kwargs``.

    Raises:
        ValueError: for options of another environment.
    """
    from matchenv.evaluation.protocols import protocol_of

    settings_class = environment_named(arguments.env).part("settings")
    known = [field.name for field in fields(settings_class)]
    known += protocol_of(arguments.env).swept
    for env, names in ((ONE_PLAYER, ALL_SETTINGS), (QUEUE, ("load",))):
        refuse(arguments, set(names).difference(known), f"these options need --env {env}")
    return explicit_values(arguments, known)


def problem_from(arguments: Arguments) -> dict[str, Any]:
    """Return environment, cells and options as arguments of ``run_comparison``.

    Raises:
        ValueError: for options that the environment does not have.
    """
    from matchenv.evaluation.protocols import protocol_of

    swept = protocol_of(arguments.env).swept
    options = environment_options(arguments)
    cells = {}
    for name in swept:
        has_default = arguments.env in (ONE_PLAYER, QUEUE)  # the command has one for these two
        if has_default or name in options:
            options.pop(name, None)
            cells[name] = _as_tuple(getattr(arguments, name))
    options = with_pairs(arguments.env_kwargs, options)
    again = options.keys() & swept
    refuse(arguments, again, "env-kwargs must not repeat other options")
    lists = options_with_lists(arguments.env)
    env_kwargs = {}
    for name, value in options.items():
        # Where the protocol names the swept options, other lists are one value.
        is_swept = isinstance(value, list) and not swept and name not in lists
        if is_swept or name in again:
            cells[name] = _as_tuple(value)
        else:
            env_kwargs[name] = value
    return {"env": arguments.env, "cells": cells, "env_kwargs": env_kwargs}


def options_with_lists(env: str) -> list[str]:
    """Return the options of an environment whose values are lists, for example of shares."""
    settings_class = environment_named(env).part("settings")
    return [field.name for field in fields(settings_class) if isinstance(field.default, tuple)]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, list | tuple):
        return tuple(value)
    return (value,)


def single(name: str, values: Sequence[Any]) -> Any:
    """Return the value of an option that several commands share and that has one value here."""
    if len(values) != 1:
        raise ValueError(f"{name} must be one value here, got {' '.join(map(str, values))}")
    return values[0]


def with_pairs(texts: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return options together with those of ``--env-kwargs``.

    Raises:
        ValueError: for a text that is not KEY=VALUE, or an option that is given twice.
    """
    pairs = parse_lists("env-kwargs", texts)
    twice = sorted(options.keys() & pairs.keys())
    if twice:
        raise ValueError(f"env-kwargs must not repeat other options, got {', '.join(twice)}")
    return {**options, **pairs}


def parse_lists(name: str, pairs: Iterable[str]) -> dict[str, Any]:
    """Parse ``key=value`` arguments whose values are YAML or lists, see ``expanded``.

    Raises:
        ValueError: for a text that is not key=value, a repeated key or a bad value.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        choices = expanded([pair])
        key = pair.partition("=")[0]
        if key in values:
            raise ValueError(f"{name} must give each key once, got {key!r} twice")
        if choices == [pair]:
            values |= parse_pairs(name, [pair])
            continue
        if "{" in key:
            raise ValueError(f"{name} must be key=value, got {pair!r}")
        chosen = []
        for choice in choices:
            chosen.append(parse_pairs(name, [choice])[key])
        values[key] = chosen
    return values
