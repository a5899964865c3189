"""Comparison of policies on the same episodes: plan, statistics, tables and files."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchenv.benchmarks.compare import queue, ranking
from matchenv.envs import environment_named, simulator_of
from matchenv.envs.core.settings import Options
from matchenv.envs.queue.population import Population
from matchenv.evaluation.episode_table import Block, Cell, EpisodeTable, Plan, play
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    EQUALITY_MARGIN,
    LEVEL,
    POWER,
    UNKNOWN,
    Record,
    columns_of,
    detectable_effect,
    equality_p_value,
    estimate,
    paired_difference,
    share_closed,
    verdicts,
)
from matchenv.evaluation.protocols import Protocol, default_policies, protocol_of
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
from matchenv.evaluation.tables import Column, share_text, text_table
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_choice, as_integer, hint_of, refusal, shown
from matchenv.runtime.files import json_bytes, records_csv, write_bytes
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.object_spec import is_object_spec
from matchenv.runtime.provenance import module_digest, versions

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_EPISODES = 200

# Limits the number of players in a block, and so the memory that it needs.
LARGEST_BLOCK_PLAYERS = 1_000_000

# Behind the names of policies that read the true skills, in tables.
TRUTH_MARK = "*"

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
    def measures(self) -> Mapping[str, Column]:
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
        policy compared with; the ``verdict`` by Holm's rule over all cells and policies, ``""``
        for the oracle and the policy compared with; the ``detectable`` difference, which this
        verdict finds with a probability of 80 %, NaN without a verdict; ``equality``, the p-value
        of equality within the margin; ``share_closed``, the share of the gap between the marks,
        unknown without marks; whether the policy ``needs_truth``; the mean of each measure, and
        further numbers of the environment.
        """
        standings = []
        judged = []
        for cell in range(len(self.cells)):
            for policy in self.policies:
                standing = self._unjudged_standing(cell, policy)
                standings.append(standing)
                if policy not in (self.against, *self.protocol.marks[1:]):
                    judged.append(standing)
        differences = [standing.difference for standing in judged]
        equality = [standing.equality for standing in judged]
        words = verdicts(differences, self.episodes, equality)
        questions = len(words) - words.count("")
        for standing, verdict in zip(judged, words, strict=True):
            standing["verdict"] = verdict
            if verdict:
                detectable = detectable_effect(standing.difference, self.episodes, questions)
                standing["detectable"] = detectable
        return standings

    def _unjudged_standing(self, cell: int, policy: str) -> Record:
        """Return a standing without what depends on the others: its verdict."""
        protocol = self.protocol
        ours = self.values(protocol.measure, cell, policy)
        theirs = self.values(protocol.measure, cell, self.against)
        difference = paired_difference(ours, theirs)
        share = UNKNOWN
        if protocol.marks:
            low, high = protocol.marks
            share = share_closed(
                ours,
                self.values(protocol.measure, cell, low),
                self.values(protocol.measure, cell, high),
            )
        standing = Record(
            cell=dict(self.cells[cell].labels),
            policy=policy,
            difference=difference,
            detectable=math.nan,
            equality=equality_p_value(ours, theirs),
            verdict="",
            share_closed=share,
            needs_truth=policy in self.rows.needs_truth,
        )
        for measure in self.measures:
            standing[measure] = estimate(self.values(measure, cell, policy))
        if self.further:
            standing.update(self.further.numbers(self, cell, policy))
        return standing

    def standing(self, cell: int, policy: str) -> Record:
        """Return the standing of a policy in the cell of this index."""
        number = self.policies.index(as_choice("policy", policy, self.policies))
        as_integer("cell", cell, 0, len(self.cells) - 1)
        return self.standings[cell * len(self.policies) + number]

    def table(self, *, timing: bool = True, bands: bool = False) -> str:
        """Return a table for each cell, with a line for each policy.

        Args:
            timing: add decisions per second of one process, which differ from run to run.
            bands: in the queue, also add tables by skill and size of party for games of two
                players. Larger games always have them.
        """
        lines = [
            heading_of(self.settings, self.cells, self.asked),
            f"[..]: {100.0 * CONFIDENCE:.0f} % interval, of differences paired by episode",
            "verdict: after Holm's correction over all cells and policies; "
            f"{LEVEL}: within {100.0 * EQUALITY_MARGIN:g} % of {self.against}'s total",
            f"detects: least difference that gets a verdict of ahead or behind with a probability "
            f"of {100.0 * POWER:.0f} %",
        ]
        if self.protocol.marks:
            low, high = self.protocol.marks
            lines.append(f"gap closed: share of the gap between {low} and {high}")
        if self.rows.needs_truth:
            lines.append(f"{TRUTH_MARK}: reads the true skills, which no policy of a service can")
        if self.further:
            lines.append(self.further.NOTE.format(self.against))
        columns = standing_columns(self.against, self.protocol, self.measures)
        if self.further:
            columns += self.further.COLUMNS
        if timing:
            columns.append(Column("decisions/s", _rate_text))
        for number, cell in enumerate(self.cells):
            rows = []
            rates = self.rows.decisions_per_second[number]
            for policy, rate in zip(self.policies, rates, strict=True):
                rows.append(Record(self.standing(number, policy), rate=rate))
            lines += ["", cell.title, *text_table(columns, rows)]
            if self.further:
                lines += self.further.cell_text(self, number, bands=bands)
        return "\n".join(lines)

    @property
    def tables(self) -> dict[str, list[Record]]:
        """Records by name: the ``standings``, and further ones of the environment."""
        tables = {"standings": self.standings}
        if self.further:
            tables |= self.further.tables(self)
        return tables

    def to_frame(self, table: str = "standings") -> pd.DataFrame:
        """Return the standings as a table with a row for each policy in each cell.

        Columns are the labels of the cell and the policy; each estimate is four columns, as
        ``difference_mean``, ``difference_standard_error``, ``difference_low`` and
        ``difference_high``.

        Args:
            table: also another of the ``tables``; in the queue ``"groups"``, ``"front"``, and
                ``"bands"`` and ``"gaps"``: by skill and size of party.

        Raises:
            ValueError: for an unknown table.
        """
        import pandas as pd

        tables = self.tables
        as_choice("table", table, tuple(tables))
        return pd.DataFrame([columns_of(record) for record in tables[table]])

    def save(self, path: str | Path) -> None:
        """Write the result files to a folder, see ``files``.

        Args:
            path: folder, created if it is missing.

        Raises:
            OSError: if a file cannot be written.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files():
            write_bytes(folder / name, content)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the result files: standings as text, CSV and JSON, and the episodes."""
        tables = self.tables
        content = {
            **self.asked,
            "against": self.against,
            "confidence": CONFIDENCE,
            "versions": versions("gymnasium"),
            **tables,
        }
        yield from self.rows.files().items()
        yield "comparison.txt", f"{self.table(timing=False)}\n".encode()
        yield "comparison.json", json_bytes(content, checked=True)
        for name, records in tables.items():
            if records:
                file = "comparison" if name == "standings" else name
                yield f"{file}.csv", records_csv([columns_of(record) for record in records])


def heading_of(settings: Options, cells: Sequence[Cell], asked: Mapping[str, Any]) -> str:
    """Return the line that says what was played: sizes, seed and options with unusual values.

    The titles of the cells have their own options. For the arguments see ``Comparison``.
    """
    protocol: Protocol = protocol_of(asked["env"])
    names = {*settings.sizes, *settings.changed(), *protocol.defaults} - cells[0].options.keys()
    shared = {name: value for name, value in asked["environment"].items() if name in names}
    sizes = ""
    for name in settings.sizes:
        if name in shared:
            sizes += f", {name} {shared[name]:,}"
    return (
        f"{asked['episodes']} episodes of {asked['env']}{sizes}, seed {asked['seed']}"
        f"{settings.changed_text(shared, **protocol.defaults)}"
    )


def standing_columns(
    against: str, protocol: Protocol, measures: Mapping[str, Column]
) -> list[Column]:
    """Return the columns of a table of standings.

    Args:
        against: label of the policy that the others are compared with.
        protocol: protocol of the environment.
        measures: columns of the measures, by name.
    """

    def detectable(standing: Record) -> str:
        if not math.isfinite(standing.detectable):
            return ""
        return f"{standing.detectable:.2f}"

    def marked(standing: Record) -> str:
        mark = f" {TRUTH_MARK}" if standing.get("needs_truth") else ""
        return f"{standing.policy}{mark}"

    columns = [Column("policy", marked)]
    for name, column in measures.items():
        columns.append(column)
        if name == protocol.measure:
            columns += [
                Column(f"{column.heading} - {against}", "{difference:+.2f}", 23),
                Column("detects", detectable),
                Column("verdict", "{verdict}", 9),
            ]
            if protocol.marks:
                columns.append(Column("gap closed", lambda row: share_text(row.share_closed)))
    return columns


def _rate_text(row: Record) -> str:
    if math.isfinite(row.rate):
        return f"{row.rate:,.0f}"
    return "-"


def compare(  # noqa: PLR0913, what a comparison is, and where it is kept
    policies: Any,
    env: str = ONE_PLAYER,
    cells: Mapping[str, Sequence[Any]] | None = None,
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    against: str | None = "kg",
    out: str | Path | None = None,
    workers: int | None = 1,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Comparison:
    """Play the same episodes with all policies, and compare them.

    Args:
        policies: one policy or several: names, classes, objects with ``act(view, rng)`` or
            ``predict``, models of stable-baselines3, files and folders of trainings.
        env: see ``run_comparison``.
        cells: see ``run_comparison``, for example ``{"rank": ["top", "middle"]}``.
        episodes: episodes in each cell, >= 2.
        seed: random seed of instances, luck and random choices, >= 0.
        against: policy that the others are compared with; None for the environment's default.
        out: folder that keeps results one job at a time; it can be extended by later calls.
        workers: processes; None for one on each core.
        env_kwargs: see ``run_comparison``.

    Returns:
        The comparison, with ``table()``, ``to_frame()`` and ``save(path)``.

    Raises:
        ValueError: for a bad argument, before anything is played.
        OSError: if the folder cannot be written.
    """
    if isinstance(policies, str | Path) or not isinstance(policies, Iterable):
        policies = [policies]
    run = RunOptions(out=out, workers=workers, quiet=True)
    return run_comparison(
        list(policies),
        env=env,
        cells=cells,
        env_kwargs=env_kwargs,
        against=against,
        episodes=episodes,
        seed=seed,
        run=run,
    )


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
        policies: names of policies, folders of training runs, classes, or objects with ``act`` or
            ``predict``; None for the environment's default.
        env: name of the environment.
        cells: options to vary, with their values. ``Matchmaking-v0``: ``rank`` of player 0 (names
            or numbers; None or ``"any"`` for a random one) and ``prior`` (``"informative"``,
            ``"equal"``, ``"module:Class:key=value"``, or objects that can be written so).
            ``MatchmakingQueue-v0``: ``load``, ``"thin"``, ``"middle"``, ``"thick"``, arrival rates
            or lists of the rates of the ticks of a day. Any other environment: its options. All
            combinations are played; omitted options have their default values.
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
    protocol, settings, problems = problem_of(env, cells, env_kwargs)
    if policies is None:
        policies = protocol.policies
    references = list(protocol.marks)
    if against or protocol.against:
        references.insert(0, against or protocol.against)
    plan, asked = plan_of(policies, settings, problems, episodes, seed, references=references)
    against = plan.candidates[0].label
    if references:
        against = candidate_of(references[0], env).label
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
    protocol: Protocol = protocol_of(env)
    settings_type: type[Options] = environment_named(env).part("settings")
    swept = {**protocol.swept, **(cells or {})}
    options = {**protocol.defaults, **(env_kwargs or {})}
    free = [field.name for field in fields(settings_type) if field.name not in protocol.fixed]
    shared = [name for name in free if name not in swept]
    _check_names("env_kwargs", options, shared, _hint_of_cells(protocol))
    if protocol.swept:
        _check_names("cells", cells or {}, list(protocol.swept), ": other options have one value")
    else:
        _check_names("cells", cells or {}, free)
    for name, values in swept.items():
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise ValueError(
                f"cells must map options to lists of values, got {name}={shown(values)}"
            )
        # Some options must fit together, so the shared settings have those of the first cell.
        if name in free and len(values):
            options[name] = values[0]
    settings = settings_type.checked(**options)
    problems = protocol.cells(swept, settings)
    described = [replace(settings, **cell.options).description() for cell in problems]
    if not described or any(described.count(values) > 1 for values in described):
        raise refusal("cells must be at least one, none of them twice", swept)
    policies = default_policies(protocol.policies or known_policies(env), settings)
    return replace(protocol, policies=policies), settings, problems


def _hint_of_cells(protocol: Protocol) -> str:
    """Return which options the protocol gives the cells, for the end of a message."""
    if not protocol.swept:
        return ""
    return f"; the cells differ in {' and '.join(protocol.swept)}"


def _check_names(
    argument: str, names: Iterable[str], allowed: Sequence[str], hint: str = ""
) -> None:
    """Check the names of options.

    Raises:
        ValueError: for a name that is not allowed; the message ends with the most similar name,
            else with the hint.
    """
    for name in names:
        if name not in allowed:
            hint = hint_of(name, allowed) or hint
            raise ValueError(f"{argument} may hold {', '.join(allowed)}, got {name!r}{hint}")


def third_party_code(settings: Any, cells: Sequence[Cell]) -> dict[str, dict[str, str]]:
    """Return digests of the files of third-party priors, populations, environments and protocols.

    They are by specification, under ``"priors"`` and ``"code"``, if there are some. See
    ``module_digest`` for empty ones.
    """
    classes: list[type] = [type(settings), type(simulator_of(settings))]
    for value in vars(settings).values():
        if isinstance(value, Population):
            classes.append(type(value))
    names = [f"{cls.__module__}:{cls.__name__}" for cls in classes]
    names.append(str(environment_named(settings.env_id).protocol))
    code = {name: module_digest(name) for name in names if not name.startswith("matchenv.")}
    priors = {}
    for cell in cells:
        for label in cell.labels.values():
            if is_object_spec(label):
                priors[label] = module_digest(label)
    digests = {"priors": priors, "code": code}
    return {name: by_name for name, by_name in digests.items() if by_name}


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
    if not all(digest for digests in code.values() for digest in digests.values()):
        candidates = tuple(replace(candidate, lasting=False) for candidate in candidates)
    env = settings.env_id
    protocol: Protocol = protocol_of(env)
    size = min(protocol.block, LARGEST_BLOCK_PLAYERS // getattr(settings, "num_players", 1))
    size = max(1, size)
    described: dict[str, Any] = {}
    for cell in cells:
        described[cell.name] = {
            "title": cell.title,
            "labels": dict(cell.labels),
            "options": cell.checked_options(settings),
        }
    asked: dict[str, Any] = {
        "env": env,
        "policies": {candidate.label: candidate.identity for candidate in candidates},
    }
    if env == ONE_PLAYER:
        asked["beliefs"] = {candidate.label: candidate.belief for candidate in candidates}
    asked |= {
        "cells": described,
        **code,
        "episodes": episodes,
        "seed": seed,
        "block_size": size,
        "environment": _shared_options(settings, cells, protocol),
    }

    def settings_of(cell: Cell, _: int) -> Any:
        return replace(settings, **cell.options)

    blocks = _blocks(protocol.key_of(purpose), episodes, seed, size)
    code_and_populations = {**code, "populations": _populations(settings)}
    plan = Plan(candidates, tuple(cells), blocks, settings_of, seed, code=code_and_populations)
    return plan, asked


def _blocks(key: tuple[int, ...], episodes: int, seed: int, size: int) -> tuple[Block, ...]:
    """Return the episodes in blocks of a size, with random streams of a key."""
    blocks = []
    for first, count in spans_of(episodes, size):
        seeds = episode_seeds(seed, first, count, (*key, INSTANCES))
        blocks.append(Block(0, first, tuple(seeds), (*key, POLICIES, first // size)))
    return tuple(blocks)


def _shared_options(settings: Options, cells: Sequence[Cell], protocol: Protocol) -> dict[str, Any]:
    """Return the options that the cells share as plain data, with digests of populations."""
    own = set(protocol.fixed)
    for cell in cells:
        own.update(cell.labels)
    described = settings.description()
    described.update(_populations(settings))
    return {name: described[name] for name in described if name not in own}


def _populations(settings: Options) -> dict[str, str]:
    """Return sizes and digests of populations, by option."""
    populations = {}
    for name, value in vars(settings).items():
        if isinstance(value, Population):
            digest = hashlib.sha256(value.rows.tobytes()).hexdigest()
            populations[name] = f"{len(value.rows)} of {digest[:16]}"
    return populations
