"""An upper bound on the mean sum of true q of any policy, and policies on the same instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bench.benchmark import TOLD, TOLD_INDEX
from matchenv.benchmarks.compare.comparison import plan_of, problem_of
from matchenv.benchmarks.limits.fair_charges import best_split, opponents_of, payments_of
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.one_player.priors import PRIORS
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.one_player.simulator import OnePlayer, wins_ahead
from matchenv.evaluation.episode_table import EpisodeTable, Plan, play
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    Estimate,
    Record,
    columns_of,
    estimate,
    estimate_without_luck,
    ratio_without_luck,
    share_closed,
)
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.evaluation.registry import ONE_PLAYER
from matchenv.evaluation.rollout import sums
from matchenv.evaluation.seeds import spans_of
from matchenv.evaluation.tables import Column, share_text, text_table
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_choice, as_integer, as_list
from matchenv.runtime.files import Arrays, json_bytes, npz_bytes, records_csv
from matchenv.runtime.jobs import Job, RunOptions, Store
from matchenv.runtime.provenance import versions
from matchenv.trueskill import true_draw_density

TRUE_Q = "true_draw_density"
DEFAULT_POLICIES = ("drawchance", "kg", "gittins", "optimistic:belief=full")
DEFAULT_PRIORS = ("informative", "equal")
DEFAULT_DEPTH = 200
# The bound supports no draws, no drift and no ranks by true skill.
ENVIRONMENT_OPTIONS = ("num_opponents", "horizon", "beta")
# Policies and bound share outcomes: the k-th game against an opponent ends the same way.
BY_OPPONENT = {"noise": "opponent"}
BLOCK = 100  # episodes in a job
PATHS_AT_ONCE = 20  # episodes in a batch with equal priors; informative priors need no batches

COLUMNS = (
    Column("policy", "{policy}"),
    Column("true q", "{true_q.mean:.2f}"),
    Column("bound - true q", "{room:+.2f}", 20),
    Column("to the bound", lambda row: share_text(row.share), 13),
)


def table_text(result: Record) -> str:
    """Return the result of ``run_bound`` as text, with a table for each cell."""
    environment = result.environment
    lines = [
        f"{result.episodes} episodes of {environment['horizon']} games against one of "
        f"{environment['num_opponents']}, seed {result.seed}"
        f"{Settings.changed_text(environment, **BY_OPPONENT)}; depth {result.depth}",
        f"sums of true q; ±: standard error; [..]: {100.0 * CONFIDENCE:.0f} % interval",
        "bound - true q: paired, and without the luck of the sample paths by control variates;",
        "  so it is more accurate than the difference of the bound and the true q printed here",
        f"to the bound: share of the distance from {LOW_END}, also without luck",
        f"{TOLD}: the index, given player 0's skill",
    ]
    for cell in result.cells:
        bound = cell.bound
        lines += [
            "",
            cell.title,
            f"oracle {cell.oracle.mean:.2f}, bound {bound.mean:.2f} ± {bound.standard_error:.2f}, "
            f"oracle - bound {cell.saved:+.2f}",
            *text_table(COLUMNS, cell.policies),
        ]
    return "\n".join(lines)


def run_bound(
    policies: Sequence[Any] = DEFAULT_POLICIES,
    *,
    ranks: Sequence[str | int | None] = ("top", "middle", "bottom"),
    priors: Sequence[str] = DEFAULT_PRIORS,
    episodes: int = 2000,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    depth: int = DEFAULT_DEPTH,
    run: RunOptions | None = None,
) -> Record:
    """Compute an upper bound on the mean sum of true q of any policy, and play policies.

    Args:
        policies: see ``matchenv.benchmarks.compare.run_comparison``.
        ranks: ranks of player 0.
        priors: ``"informative"``, ``"equal"``.
        episodes: instances in each cell, >= 2; those of a comparison with the same seed.
        seed: random seed of instances and outcomes, >= 0.
        env_kwargs: ``num_opponents``, ``horizon``, ``beta``; the bound supports no draws and no
            drift.
        depth: games against an opponent after which the bound assumes a known skill, >= 1; larger
            depths give tighter bounds.
        run: folder, workers and engine.

    Returns:
        The content of ``bound.json``: the arguments, and ``cells``. Each cell has its ``title``,
        ``rank`` and ``prior``; the true q of the ``oracle``, the ``bound``, and ``saved``, the
        oracle's true q minus the bound; and ``policies``. Each policy except the oracle has its
        ``true_q``; the ``room`` below the bound, without the luck that a control variate explains;
        its ``share`` of DrawChance's room, unknown if that can be 0; and ``share_of_oracle``, the
        share of the distance from DrawChance to the oracle.

    Raises:
        ValueError: for a bad argument, before anything is computed; for a folder with other
            results, or with damaged files.
        OSError: for a folder that cannot be written.
    """
    run = run or RunOptions()
    as_integer("depth", depth, 1)
    priors = as_list("priors", priors)
    for prior in priors:
        as_choice("priors", prior, PRIORS)
    for name in env_kwargs or {}:
        as_choice("env_kwargs", name, ENVIRONMENT_OPTIONS)
    swept = {"rank": ranks, "prior": priors}
    _, settings, cells = problem_of(ONE_PLAYER, swept, {**BY_OPPONENT, **(env_kwargs or {})})
    references = (LOW_END, HIGH_END, TOLD_INDEX)
    plan, asked = plan_of(policies, settings, cells, episodes, seed, references=references)
    summary = partial(sums, measures=tuple(OnePlayer.aggregations), fields=("met",))
    plan = replace(plan, summary=summary)
    asked = {"command": "bound", "depth": depth, **asked}
    with run.store(asked) as store:
        rows = play(plan, store)
        bound, paid = _bounds_of_cells(plan, rows, depth, store)
        results = [_cell(rows, c, bound[c], paid[c]) for c in range(len(plan.cells))]
        content = {
            **asked,
            "against": LOW_END,
            "confidence": CONFIDENCE,
            "versions": versions("scipy"),
            "cells": results,
        }
        result = Record(content)
        table = []
        for cell in results:
            for standing in cell.policies:
                table.append(columns_of({**cell, **standing}))
        files = {
            **rows.files(),
            "bound.npz": npz_bytes({"bound": bound, "paid": paid}),
            "bound.txt": f"{table_text(result)}\n".encode(),
            "bound.json": json_bytes(result, checked=True),
            "bound.csv": records_csv(table),
        }
        store.finish(result, files.items())
    return result


def _bounds_of_cells(
    plan: Plan, rows: EpisodeTable, depth: int, store: Store
) -> tuple[Floats, Floats]:
    """Return bounds of shape (C, E) and payments of shape (C, P, E)."""
    # Stored results do not depend on the order of the policies.
    order = np.argsort(rows.policies)
    seeds = rows.seeds[0].tolist()
    lasting = all(candidate.lasting for candidate in plan.candidates)
    policies = [f"{plan.candidates[k].identity} {plan.candidates[k].belief}" for k in order]
    jobs = []
    for c, cell in enumerate(plan.cells):
        settings = plan.settings_of(cell, 0)
        met = rows.arrays["met"][c, order, 0]
        for first, count in spans_of(len(seeds), BLOCK):
            block = slice(first, first + count)
            work = partial(bounds_of, settings, seeds[block], depth, met[:, block])
            key = {
                "bound": depth,
                "policies": policies,
                "settings": settings.description(),
                "code": plan.code,
                "first seed": seeds[first],
            }
            name = f"bound of {cell.name}, from episode {first} on"
            jobs.append(Job(key if lasting else None, count, work, name=name))
    results = store.results(jobs)
    shape = (len(plan.cells), len(seeds))
    bound = np.concatenate([result["bound"] for result in results]).reshape(shape)
    paid = np.concatenate([result["paid"] for result in results]).reshape(*shape, -1)
    return bound, np.moveaxis(paid, -1, 1)[:, np.argsort(order)]


def _cell(rows: EpisodeTable, number: int, bound: Floats, paid: Floats) -> Record:
    """Return the results of one cell, from bounds of shape (E,) and payments of shape (P, E)."""
    cell = rows.cells[number]
    totals = {}
    rooms = {}
    controls = {}
    for policy, payment in zip(rows.policies, paid, strict=True):
        total = rows.values(TRUE_Q, number, policy)[0]
        totals[policy] = total
        rooms[policy] = bound - total
        # The payments of the policy's own games have the mean of its true q.
        controls[policy] = payment - total
    low = totals[LOW_END]
    oracle = totals.pop(HIGH_END)
    standings = []
    for policy, total in totals.items():
        left = ratio_without_luck(
            rooms[policy], rooms[LOW_END], (controls[policy], controls[LOW_END])
        )
        standing = Record(
            policy=policy,
            true_q=estimate(total),
            room=estimate_without_luck(rooms[policy], controls[policy]),
            share=Estimate(1.0 - left.mean, left.standard_error, 1.0 - left.high, 1.0 - left.low),
            share_of_oracle=share_closed(total, low, oracle),
        )
        standings.append(standing)
    return Record(
        title=cell.title,
        **cell.labels,
        oracle=estimate(oracle),
        bound=estimate(bound),
        saved=estimate(oracle - bound),
        policies=standings,
    )


def bounds_of(
    settings: Settings, seeds: Sequence[int], depth: int, games: NDArray[np.int32]
) -> Arrays:
    """Return the bound of each of E episodes.

    Args:
        settings: settings of the episodes, with noise by opponent.
        seeds: seeds of the episodes.
        depth: games against an opponent after which the skill counts as known.
        games: number of games of P policies against each opponent, shape (P, E, M).

    Returns:
        ``"bound"``, shape (E,): the best split of the payments; and ``"paid"``, shape (E, P): the
        payments of each policy's own games.
    """
    players, won = paths_of(settings, seeds)
    size = len(seeds)
    if settings.prior != "informative":
        size = PATHS_AT_ONCE
    bounds = []
    paid = []
    for first, count in spans_of(len(seeds), size):
        batch = slice(first, first + count)
        skill = players[batch, :, 2]
        densities = true_draw_density(skill[:, :1], skill[:, 1:], settings.beta)
        kinds, interpolation, exchanged = opponents_of(settings, depth, players[batch])
        results = won[batch] ^ exchanged[:, :, None]
        payments = payments_of(kinds, interpolation, results, densities)
        for path in payments:
            bounds.append(best_split(path))
        own = np.take_along_axis(payments[None], games[:, batch, :, None], axis=3)
        paid.append(own.sum(axis=(2, 3)).T)
    return {"bound": np.array(bounds), "paid": np.concatenate(paid)}


def paths_of(settings: Settings, seeds: Sequence[int]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the players of some episodes, and the outcomes of their games.

    These are prior mean (even if hidden from policies), standard deviation and true skill of each
    player, shape (E, M + 1, 3); and whether player 0 wins the n-th game against each opponent,
    shape (E, M, N).
    """
    state = Episodes.of_seeds(OnePlayer(replace(settings, prior="informative")), seeds).state
    won = []
    for key, players in zip(state.key, state.players, strict=True):
        skill = np.ascontiguousarray(players[:, 2])
        won.append(wins_ahead(key, skill, settings.horizon, settings.beta))
    return state.players.copy(), np.array(won)
