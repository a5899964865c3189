"""Comparison of policies on the same episodes: plan, statistics, tables and files."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from typing import Any

from matchenv.benchmarks.compare import queue, ranking
from matchenv.envs import environment_named, simulator_of
from matchenv.envs.core.settings import Options
from matchenv.envs.queue.population import Population
from matchenv.evaluation.episode_table import Block, Cell, EpisodeTable, Plan, play
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    POWER,
    Record,
    columns_of,
    detectable_effect,
    estimate,
    paired_difference,
    share_closed,
    verdicts,
)
from matchenv.evaluation.protocols import Protocol, protocol_of
from matchenv.evaluation.registry import (
    ONE_PLAYER,
    QUEUE,
    RANKING,
    candidate_of,
    candidates_of,
    known_policies,
)
from matchenv.evaluation.rollout import check_can_play
from matchenv.evaluation.seeds import INSTANCES, POLICIES, REPORT, episode_seeds, spans_of
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_choice, as_integer, refusal, shown
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.object_spec import is_object_spec
from matchenv.runtime.provenance import module_digest, versions

DEFAULT_EPISODES = 200

# Limits the number of players in a block, and so the memory that it needs.
LARGEST_BLOCK_PLAYERS = 1_000_000

# Modules with further numbers, tables and files of one environment.
FURTHER: dict[str, Any] = {QUEUE: queue, RANKING: ranking}


@dataclass(frozen=True)
class Comparison:
    """Results of a comparison.

    Attributes:
        rows: the episodes.
        against: label of the policy that the others are compared with.
        settings: settings that all cells share.
        asked: everything that decides the results, as plain data.
    """

    rows: EpisodeTable
    against: str
    settings: Options
    asked: Mapping[str, Any]

    @property
    def protocol(self) -> Protocol:
        """The protocol of the environment."""
        return protocol_of(self.settings.env_id)

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
        """E, the number of episodes in each cell."""
        return self.rows.seeds.size

    @cached_property
    def shown(self) -> Mapping[str, Column]:
        """Columns of the measures in tables."""
        return self.protocol.shown_of(simulator_of(self.settings))

    @property
    def further(self) -> Any:
        """The module of ``FURTHER`` for this environment, or None."""
        return FURTHER.get(self.settings.env_id)

    def values(self, measure: str, cell: int, policy: str) -> Floats:
        """Return a measure of each episode, shape (E,)."""
        return self.rows.values(measure, cell, policy)[0]

    @cached_property
    def standings(self) -> list[Record]:
        """A record for each policy in each cell, cell by cell.

        Each has the ``cell`` (its labels) and the ``policy``; the paired ``difference`` to the
        policy compared with; the ``detectable`` difference; the ``verdict`` by Holm's rule over
        all cells and policies, ``""`` for the oracle and the policy compared with;
        ``share_closed``, the share of the gap between the marks, NaN without marks; the mean of
        each measure, and further numbers of the environment.
        """
        kind, against, standings, judged = self.protocol, self.against, [], []
        for (i, cell), policy in product(enumerate(self.cells), self.policies):
            mine, theirs, *marks = (
                self.values(kind.measure, i, each) for each in (policy, against, *kind.marks)
            )
            difference = paired_difference(mine, theirs)
            standing = Record(
                cell=dict(cell.labels),
                policy=policy,
                difference=difference,
                detectable=detectable_effect(difference, self.episodes),
                verdict="",
                share_closed=share_closed(mine, *marks) if marks else math.nan,
            )
            for measure in self.shown:
                standing[measure] = estimate(self.values(measure, i, policy))
            if self.further:
                standing.update(self.further.numbers(self, i, policy))
            standings.append(standing)
            if policy not in (against, *kind.marks[1:]):
                judged.append(standing)
        words = verdicts([each.difference for each in judged], self.episodes)
        for standing, verdict in zip(judged, words, strict=True):
            standing["verdict"] = verdict
        return standings

    def standing(self, cell: int, policy: str) -> Record:
        """Return the standing of a policy in the cell of this index."""
        place = self.policies.index(as_choice("policy", policy, self.policies))
        place += as_integer("cell", cell, 0, len(self.cells) - 1) * len(self.policies)
        return self.standings[place]

    def table(self, *, timing: bool = True) -> str:
        """Return a table for each cell, with a line for each policy.

        Args:
            timing: add decisions per second of one process, which differ from run to run.
        """
        lines = [
            heading_of(self.settings, self.cells, self.asked),
            f"[..]: {100.0 * CONFIDENCE:.0f} % interval of the paired difference",
            f"detects: least difference detected with a probability of {100.0 * POWER:.0f} %",
            "verdict: after Holm's correction over all cells and policies",
        ]
        if self.protocol.marks:
            low, high = self.protocol.marks
            lines.append(f"gap closed: share of the gap between {low} and {high}")
        if self.further:
            lines.append(self.further.NOTE.format(self.against))
        shown = columns(self.against, self.protocol, self.shown)
        shown += self.further.COLUMNS if self.further else []
        for i, cell in enumerate(self.cells):
            standings = [self.standing(i, policy) for policy in self.policies]
            rates = dict(zip(self.policies, self.rows.decisions_per_second[i], strict=True))

            def speed(row: Record, rates: dict[str, float] = rates) -> str:
                rate = rates[row.policy]
                return f"{rate:,.0f}" if math.isfinite(rate) else "-"

            timed = [Column("decisions/s", speed)] if timing else []
            lines += ["", cell.title, *text_table([*shown, *timed], standings)]
        return "\n".join(lines)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the result files: standings as text, CSV and JSON, and the episodes."""
        tables = self.further.tables(self) if self.further else {}
        content = {
            **self.asked,
            "against": self.against,
            "confidence": CONFIDENCE,
            "versions": versions("gymnasium"),
            "standings": self.standings,
            **tables,
        }
        yield from self.rows.files().items()
        yield "comparison.txt", f"{self.table(timing=False)}\n".encode()
        yield "comparison.json", json_bytes(content, checked=True)
        for name, records in {"comparison": self.standings, **tables}.items():
            if records:
                yield f"{name}.csv", records_csv(list(map(columns_of, records)))


def heading_of(settings: Options, cells: Sequence[Cell], asked: Mapping[str, Any]) -> str:
    """Return the line that says what was played: sizes, seed and options with unusual values.

    The titles of the cells have their own options. For the arguments see ``Comparison``.
    """
    kind: Protocol = protocol_of(asked["env"])
    own = {*settings.sizes, *settings.changed(), *kind.defaults} - cells[0].options.keys()
    shared = {name: value for name, value in asked["environment"].items() if name in own}
    sizes = "".join(f", {name} {shared[name]:,}" for name in settings.sizes if name in shared)
    return (
        f"{asked['episodes']} episodes of {asked['env']}{sizes}, seed {asked['seed']}"
        f"{settings.changed_text(shared, **kind.defaults)}"
    )


def columns(against: str, kind: Protocol, shown: Mapping[str, Column]) -> list[Column]:
    """Return the columns of a table of standings, with those of the measures in ``shown``."""

    def detectable(standing: Record) -> str:
        known = standing.policy != against and math.isfinite(standing.detectable)
        return f"{standing.detectable:.2f}" if known else ""

    measures, judged = list(shown.values()), list(shown).index(kind.measure)
    return [
        Column("policy", "{policy}"),
        *measures[: judged + 1],
        Column(f"{measures[judged].heading} - {against}", "{difference:+.2f}", 25),
        Column("detects", detectable),
        Column("verdict", "{verdict}", 9),
        *([Column("gap closed", lambda row: gap_text(row.share_closed))] if kind.marks else []),
        *measures[judged + 1 :],
    ]


def gap_text(share: float) -> str:
    """Return the share of a gap as text, or a dash where it is far below 0."""
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
    """Play the same episodes with all policies, and compare them.

    Args:
        policies: names of policies, folders of training runs, or objects with ``predict``, ``act``
            or ``choose`` and a ``name``; None for the environment's default.
        env: name of the environment.
        cells: options to vary, with their values. ``Matchmaking-v0``: ``rank`` of player 0 (names
            or numbers; None or ``"any"`` for a random one) and ``prior`` (``"informative"``,
            ``"equal"``, ``"module:Class:key=value"``, or objects that can be written so).
            ``MatchmakingQueue-v0``: ``load``, ``"thin"``, ``"middle"``, ``"thick"`` or arrival
            rates. Any other environment: its options. All combinations are played; omitted
            options have their default values.
        env_kwargs: options of the environment in all cells. ``Matchmaking-v0`` defaults to
            ``noise="opponent"``.
        against: policy that the others are compared with; None for the environment's default. It
            always plays, as do the environment's marks.
        episodes: episodes in each cell, >= 2.
        seed: random seed of instances, luck and random choices, >= 0.
        run: folder, workers, and other options that change no result.

    Returns:
        The comparison; its method ``table`` returns it as text.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            comparison or with damaged files.
        OSError: if the folder cannot be written.
    """
    run = run or RunOptions()
    kind, settings, places = problem_of(env, cells, env_kwargs)
    named = kind.policies if policies is None else policies
    references = tuple(filter(None, (against or kind.against, *kind.marks)))
    plan, asked = plan_of(named, settings, places, episodes, seed, references=references)
    against = candidate_of(references[0], env).label if references else plan.candidates[0].label
    with run.store({"command": "compare", **asked}) as store:
        comparison = Comparison(play(plan, store), against, settings, asked)
        store.finish(comparison, comparison.files())
    return comparison


def problem_of(
    env: str, cells: Mapping[str, Sequence[Any]] | None, env_kwargs: Mapping[str, Any] | None
) -> tuple[Protocol, Any, tuple[Cell, ...]]:
    """Return the protocol, the settings and the cells of a comparison.

    See ``run_comparison`` for the arguments.

    Raises:
        ValueError: for an unknown environment or option, or a bad value.
    """
    kind: Protocol = protocol_of(env)
    settings_type: type[Options] = environment_named(env).part("settings")
    swept = {**kind.swept, **(cells or {})}
    options = {**kind.defaults, **(env_kwargs or {})}
    known = [each.name for each in fields(settings_type) if each.name not in kind.fixed]
    places = kind.swept or known
    for kwarg, names in (("env_kwargs", options), ("cells", cells or {})):
        allowed = places if kwarg == "cells" else [each for each in known if each not in swept]
        for name in names:
            if name not in allowed:
                hint = ": other options have one value" if kwarg == "cells" and kind.swept else ""
                raise ValueError(f"{kwarg} may hold {', '.join(allowed)}, got {name!r}{hint}")
    for name, values in swept.items():
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise ValueError(
                f"cells must map options to lists of values, got {name}={shown(values)}"
            )
    # Some options must fit together, so the shared settings have those of the first cell.
    first = {name: values[0] for name, values in swept.items() if name in known and len(values)}
    settings = settings_type.checked(**first, **options)
    made = kind.cells(swept, settings)
    values = [replace(settings, **cell.options).description() for cell in made]
    if not values or any(values.count(each) > 1 for each in values):
        raise refusal("cells must be at least one, none of them twice", swept)
    return replace(kind, policies=kind.policies or known_policies(env)), settings, made


def third_party_code(settings: Any, cells: Sequence[Cell]) -> dict[str, dict[str, str]]:
    """Return digests of the files of third-party priors, populations, environments and protocols.

    They are by specification, under ``"priors"`` and ``"code"``, if there are some. See
    ``module_digest`` for empty ones.
    """
    kinds: list[type] = [type(settings), type(simulator_of(settings))]
    kinds += [type(each) for each in vars(settings).values() if isinstance(each, Population)]
    names = [*(f"{each.__module__}:{each.__name__}" for each in kinds),
             str(environment_named(settings.env_id).protocol)]  # fmt: skip
    texts = {
        "priors": [text for cell in cells for text in cell.labels.values() if is_object_spec(text)],
        "code": [name for name in names if not name.startswith("matchenv.")],
    }  # fmt: skip
    return {name: {text: module_digest(text) for text in found}
            for name, found in texts.items() if found}  # fmt: skip


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
    """Return the plan of a comparison, and everything that decides its results, as plain data.

    All cells share ``settings``. The purposes ``REPORT`` and ``TUNING`` share no episodes. The
    references play even if they are not among the policies. See also ``run_comparison``.

    Raises:
        ValueError: for a bad value, or a policy that cannot play.
    """
    as_integer("episodes", episodes, 2)
    as_integer("seed", seed, 0)
    candidates = candidates_of(policies, settings, references)
    for candidate, cell in product(candidates, cells[1:]):
        cell_settings = replace(settings, **cell.options)
        check_can_play(candidate.label, candidate.policy(cell_settings), cell_settings)
    code = third_party_code(settings, cells)
    if not all(digest for found in code.values() for digest in found.values()):
        candidates = tuple(replace(candidate, lasting=False) for candidate in candidates)
    env = settings.env_id
    kind: Protocol = protocol_of(env)
    key = kind.key_of(purpose)
    size = max(1, min(kind.block, LARGEST_BLOCK_PLAYERS // getattr(settings, "num_players", 1)))
    blocks = tuple(
        Block(0, first, tuple(episode_seeds(seed, first, count, (*key, INSTANCES))),
              (*key, POLICIES, first // size))
        for first, count in spans_of(episodes, size)
    )  # fmt: skip
    apart = set(kind.fixed).union(*(cell.labels for cell in cells))
    environment = {name: value for name, value in settings.description().items()
                   if name not in apart}  # fmt: skip
    populations = {}
    for name, value in vars(settings).items():
        if isinstance(value, Population):
            digest = hashlib.sha256(value.rows.tobytes()).hexdigest()
            populations[name] = f"{len(value.rows)} of {digest[:16]}"
    for name in populations.keys() & environment.keys():
        environment[name] = populations[name]
    beliefs = {each.label: each.belief for each in candidates}
    asked = {
        "env": env,
        "policies": {candidate.label: candidate.identity for candidate in candidates},
        **({"beliefs": beliefs} if env == ONE_PLAYER else {}),
        "cells": {
            cell.name: {
                "title": cell.title,
                "labels": dict(cell.labels),
                "options": cell.checked_options(settings),
            }
            for cell in cells
        },
        **code,
        "episodes": episodes,
        "seed": seed,
        "block_size": size,
        "environment": environment,
    }
    plan = Plan(
        candidates,
        tuple(cells),
        blocks,
        lambda cell, _: replace(settings, **cell.options),
        seed,
        code={**code, **populations},
    )
    return plan, asked
