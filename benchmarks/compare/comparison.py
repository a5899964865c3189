"""Policies against each other on the same episodes: the plan, the statistics, tables and files."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs import env_id_of, part_of, simulator_of
from matchenv.envs.core.settings import Options
from matchenv.envs.queue.settings import Population
from matchenv.evaluation.episode_table import Block, Cell, EpisodeTable, Plan, play
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    Estimate,
    Record,
    columns_of,
    detectable_effect,
    estimate,
    paired_difference,
    share_closed,
    verdicts,
)
from matchenv.evaluation.protocols import Protocol, Shown
from matchenv.evaluation.registry import ONE_PLAYER, candidates_of, known_policies
from matchenv.evaluation.seeds import INSTANCES, POLICIES, REPORT, episode_seeds, spans_of
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.object_spec import is_object_spec
from matchenv.runtime.provenance import digest_of, module_files, versions

Floats = NDArray[np.float64]

DEFAULT_EPISODES = 200

# Fewer episodes are played side by side where their players would fill the memory.
LARGEST_BLOCK_PLAYERS = 1_000_000


@dataclass(frozen=True)
class Comparison:
    """Every episode of every policy, and what follows from them.

    Attributes:
        rows: the episodes.
        against: the label that differences are taken to.
        settings: of the environment, but for what the cells vary.
        asked: everything that was asked for, as plain data.
    """

    rows: EpisodeTable
    against: str
    settings: Options
    asked: Mapping[str, Any]

    @property
    def protocol(self) -> Protocol:
        """The protocol of the environment."""
        found: Protocol = part_of(env_id_of(self.settings), "protocol")
        return found

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells."""
        return self.rows.cells

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of the policies."""
        return self.rows.policies

    @property
    def episodes(self) -> int:
        """E, episodes in each cell."""
        return self.rows.seeds.size

    @cached_property
    def shown(self) -> tuple[Shown, ...]:
        """The measures in tables."""
        return self.protocol.shown_of(simulator_of(self.settings))

    @cached_property
    def further(self) -> Any:
        """The module with tables and files of this environment alone; None without one."""
        return import_module(self.protocol.further) if self.protocol.further else None

    def values(self, measure: str, cell: int, policy: str) -> Floats:
        """Return one measure of every episode, shape (E,)."""
        return self.rows.values(measure, cell, policy)[0]

    @cached_property
    def standings(self) -> list[Record]:
        """One for each policy in each cell, cell by cell.

        Each has the ``cell`` (its labels) and the ``policy``; the paired ``difference`` to the
        policy compared against, in the measure that policies are judged by, and the
        ``belief_difference`` in that measure under the beliefs; the ``detectable`` one, which so
        many episodes find in 80 % of all tries; the ``verdict``, ahead of the policy compared
        against, behind or undecided, by Holm's rule over all cells and policies but the oracle
        (``""`` for both of these); ``share_closed`` of the distance from the lower mark to the
        upper one, NaN without marks; then the mean of each measure, and further numbers of the
        environment.
        """
        kind, against, found, judged = self.protocol, self.against, [], []
        for (i, cell), policy in product(enumerate(self.cells), self.policies):
            mine, *marks = (self.values(kind.measure, i, each) for each in (policy, *kind.marks))
            # By the measure that policies are judged by, and by the same under the beliefs.
            difference, believed = (
                paired_difference(*(self.values(measure, i, each) for each in (policy, against)))
                for measure in (kind.measure, kind.believed or kind.measure)
            )
            standing = Record(
                cell=dict(cell.labels),
                policy=policy,
                difference=difference,
                belief_difference=believed,
                detectable=detectable_effect(difference, self.episodes),
                verdict="",
                share_closed=share_closed(mine, *marks) if marks else math.nan,
            )
            for each in self.shown:
                standing[each.measure] = estimate(self.values(each.measure, i, policy))
            if self.further:
                standing.update(self.further.numbers(self, i, policy))
            found.append(standing)
            if policy not in (against, *kind.marks[1:]):
                judged.append(standing)
        said = verdicts([each.difference for each in judged], self.episodes)
        for standing, verdict in zip(judged, said, strict=True):
            standing["verdict"] = verdict
        return found

    def standing(self, cell: int, policy: str) -> Record:
        """Return the standing of one policy in the cell of this number."""
        return self.standings[cell * len(self.policies) + self.policies.index(policy)]

    def table(self, *, timing: bool = True) -> str:
        """Return a table for each cell, a line for each policy.

        Args:
            timing: with decisions per second of one process, which no two runs share.
        """
        sizes = ", ".join(f"{name} {getattr(self.settings, name):,}"
                          for name in self.settings.sizes
                          if name not in self.cells[0].options)  # fmt: skip
        lines = [
            f"{self.episodes} episodes of {env_id_of(self.settings)}, {sizes}, "
            f"seed {self.asked['seed']}",
            f"[..]: {100.0 * CONFIDENCE:.0f} % interval of the paired difference; detects: the "
            "least difference found in 80 % of all tries; verdict: after Holm's correction over "
            "all cells and policies",
        ]
        if self.protocol.marks:
            low, high = self.protocol.marks
            lines.append(f"gap closed: of the distance from {low} to {high}")
        measures = (*self.shown, *(self.further.NUMBERS if self.further else ()))
        shown = columns(self.against, self.protocol, measures)
        for i, cell in enumerate(self.cells):
            standings = [self.standing(i, policy) for policy in self.policies]
            rates = dict(zip(self.policies, self.rows.decisions_per_second[i], strict=True))

            def speed(row: Record, rates: dict[str, float] = rates) -> str:
                rate = rates[row.policy]
                return f"{rate:,.0f}" if math.isfinite(rate) else "-"

            timed = [Column("decisions/s", speed)] if timing else []
            lines += ["", cell.title, *text_table([*shown, *timed], standings)]
        return "\n".join(lines)

    def files(self) -> Iterable[tuple[str, bytes]]:
        """Yield the result files: the standings as text, CSV and JSON, and the episodes."""
        more = {"groups": self.further.group_standings(self)} if self.further else {}
        content = {
            **self.asked,
            "against": self.against,
            "confidence": CONFIDENCE,
            "versions": versions("gymnasium"),
            "standings": self.standings,
            **more,
        }
        yield from self.rows.files().items()
        yield "comparison.txt", f"{self.table(timing=False)}\n".encode()
        yield "comparison.json", json_bytes(content, checked=True)
        for name, records in {"comparison": self.standings, **more}.items():
            yield f"{name}.csv", records_csv([columns_of(each) for each in records])
        if self.further:
            yield from self.further.files(self.rows).items()


def columns(against: str, kind: Protocol, shown: Iterable[Shown]) -> list[Column]:
    """Return the columns of a table of standings."""

    def mean_text(each: Shown, standing: Record) -> str:
        value = standing[each.measure]
        mean = value.mean if isinstance(value, Estimate) else value
        return each.form.format(mean).replace("%", " %")

    def detectable(standing: Record) -> str:
        known = standing.policy != against and math.isfinite(standing.detectable)
        return f"{standing.detectable:.2f}" if known else ""

    measures = [Column(each.heading, partial(mean_text, each)) for each in shown]
    heading = next((each.heading for each in shown if each.measure == kind.measure), kind.measure)
    return [
        Column("policy", "{policy}"),
        *measures[: kind.leading],
        Column(f"{heading} - {against}", "{difference:+.2f}", 25),
        Column("detects", detectable),
        Column("verdict", "{verdict}", 9),
        *([Column("gap closed", lambda row: gap_text(row.share_closed))] if kind.marks else []),
        *measures[kind.leading :],
    ]


def gap_text(share: float) -> str:
    """Return a share of a distance as text; far below the lower end it says nothing."""
    return f"{100.0 * share:.1f} %" if share > -1.0 else "–"


def run_comparison(
    policies: Sequence[Any] | None = None,
    *,
    env: str = ONE_PLAYER,
    cells: Mapping[str, Sequence[Any]] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    against: str | None = None,
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    run: RunOptions | None = None,
) -> Comparison:
    """Play the same episodes with every policy, and compare.

    Args:
        policies: names of policies, folders of training runs, or objects with ``predict``, ``act``
            or ``choose`` and a ``name``; None for the environment's own list.
        env: name of the environment.
        cells: what is varied, and its values. ``Matchmaking-v0``: ``rank``, places of player 0
            (names or numbers; None or ``"any"`` for a random one), and ``prior``
            (``"informative"``, ``"equal"``, ``"module:Class:key=value"``, or objects that can be
            written so). ``MatchmakingQueue-v0``: ``load``, ``"thin"``, ``"middle"``, ``"thick"``
            or arrival rates. Any other environment: its options. Each value is played with each
            value of the others; what is not named has its default values.
        env_kwargs: options of the environment that are the same in all cells.
            ``Matchmaking-v0`` has ``noise="opponent"`` unless it is given.
        against: the policy that differences are taken to; it plays even if not in the list, as
            do the environment's marks. None for the environment's own.
        episodes: instances in each cell, >= 2.
        seed: random seed of instances, noise and random choices, >= 0.
        run: folder, workers and what else does not change a number.

    Returns:
        The comparison; ``table()`` gives it as text.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            comparison, or with damaged files.
        OSError: for a folder that cannot be written.
    """
    run = run or RunOptions()
    kind, settings, places = problem_of(env, cells, env_kwargs)
    named = tuple(policies if policies is not None else kind.policies)
    against = against or kind.against or str(named[0])
    plan, asked = plan_of(
        named, settings, places, episodes, seed, references=(against, *kind.marks)
    )
    with run.store({"command": "compare", **asked}) as store:
        found = Comparison(play(plan, store), against.rstrip("/\\"), settings, asked)
        store.finish(found, found.files())
    return found


def problem_of(
    env: str, cells: Mapping[str, Sequence[Any]] | None, env_kwargs: Mapping[str, Any] | None
) -> tuple[Protocol, Any, tuple[Cell, ...]]:
    """Return the protocol of an environment, its settings, and the cells.

    Arguments are as of ``run_comparison``.

    Raises:
        ValueError: for an unknown environment or option, or a bad value.
    """
    kind: Protocol = part_of(env, "protocol")
    settings_type: type[Options] = part_of(env, "settings")
    swept = {**kind.swept, **(cells or {})}
    options = {**kind.defaults, **(env_kwargs or {})}
    known = [each.name for each in fields(settings_type) if each.name not in kind.fixed]
    places = kind.swept or known
    for name, words in (("env_kwargs", options), ("cells", cells or {})):
        allowed = places if name == "cells" else [each for each in known if each not in swept]
        for word in words:
            if word not in allowed:
                raise ValueError(f"{name} may hold {', '.join(allowed)}, got {word!r}")
    settings = settings_type.checked(**options)
    found = kind.cells(swept, settings)
    for cell in found:
        replace(settings, **cell.options)  # refuses what it cannot take
    said = [cell.options for cell in found]
    if not said or any(said.count(each) > 1 for each in said):
        raise ValueError(f"cells must be at least one, none of them twice, got {swept!r}")
    return replace(kind, policies=kind.policies or known_policies(env)), settings, found


def plan_of(
    policies: Sequence[Any],
    settings: Any,
    cells: Sequence[Cell],
    episodes: int,
    seed: int,
    *,
    purpose: int = REPORT,
    references: Sequence[Any] = (),
) -> tuple[Plan, dict[str, Any]]:
    """Return the plan of a comparison, and all that decides what its jobs give, as plain data.

    Args:
        policies: as ``run_comparison``, at least one.
        settings: that all cells share.
        cells: where.
        episodes: as ``run_comparison``.
        seed: as ``run_comparison``.
        purpose: ``REPORT`` or ``TUNING``, which have no episodes in common.
        references: policies that play even if they are not among the others.

    Raises:
        ValueError: for a bad value, or a policy that cannot play.
    """
    as_integer("episodes", episodes, 2)
    as_integer("seed", seed, 0)
    candidates = candidates_of(policies, settings, references)
    env = env_id_of(settings)
    kind: Protocol = part_of(env, "protocol")
    key = kind.key_of(purpose)
    size = max(1, min(kind.block, LARGEST_BLOCK_PLAYERS // getattr(settings, "num_players", 1)))
    blocks = tuple(
        Block(
            prior=0,
            first=first,
            seeds=tuple(episode_seeds(seed, first, count, (*key, INSTANCES))),
            policy_stream=(*key, POLICIES, first // size),
        )
        for first, count in spans_of(episodes, size)
    )

    environment = {name: value for name, value in settings.description().items()
                   if name not in kind.fixed}  # fmt: skip
    for name, value in vars(settings).items():
        if isinstance(value, Population) and name in environment:
            digest = hashlib.sha256(value.rows.tobytes()).hexdigest()
            environment[name] = f"{len(value.rows)} of {digest[:16]}"
    labels = [text for cell in cells for text in cell.labels.values()]
    # The files that a user's own priors are read from.
    own = {text: digest_of(module_files(text)) for text in labels if is_object_spec(text)}
    asked = {
        "env": env,
        "policies": {candidate.label: candidate.identity for candidate in candidates},
        "cells": {cell.name: {"title": cell.title, "labels": dict(cell.labels)} for cell in cells},
        **({"priors": own} if own else {}),
        "episodes": episodes,
        "seed": seed,
        "block_size": size,
        "environment": environment,
    }
    return Plan(
        candidates, tuple(cells), blocks, lambda cell, _: replace(settings, **cell.options), seed
    ), asked
