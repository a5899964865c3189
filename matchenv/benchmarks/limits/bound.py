"""An upper bound on the mean sum of true q of any policy, and policies on the same instances."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bench.benchmark import TOLD, TOLD_INDEX
from matchenv.benchmarks.compare.comparison import gap_text, plan_of, problem_of
from matchenv.benchmarks.limits.fair_charges import best_split, opponents_of, payments_of
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.one_player.priors import PRIORS
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.one_player.simulator import OnePlayer, wins_ahead
from matchenv.evaluation.episode_table import EpisodeTable, play
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    Record,
    columns_of,
    estimate,
    estimate_without_luck,
    share_closed,
)
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.evaluation.registry import ONE_PLAYER
from matchenv.evaluation.rollout import sums
from matchenv.evaluation.seeds import spans_of
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_choice, as_integer, as_list
from matchenv.runtime.files import Arrays, json_bytes, npz_bytes, records_csv
from matchenv.runtime.jobs import Job, RunOptions
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
# Episodes in a job, and in a batch with equal priors; informative priors need no batches.
BLOCK, PATHS_AT_ONCE = 100, 20

COLUMNS = (
    Column("policy", "{policy}"),
    Column("true q", "{true_q.mean:.2f}", 8),
    Column("bound - true q", "{room:+.2f}", 22),
    Column("to the bound", lambda row: gap_text(row.share)),
    Column("to the oracle", lambda row: gap_text(row.share_of_oracle)),
)


def table_text(result: Record) -> str:
    """Return the result of ``run_bound`` as text, with a table for each cell."""
    lines = [
        f"{result.episodes} episodes of {result.environment['horizon']} games against one of "
        f"{result.environment['num_opponents']}, seed {result.seed}"
        f"{Settings.changed_text(result.environment, **BY_OPPONENT)}; depth {result.depth}",
        f"sums of true q; ±: standard error; [..]: {100.0 * CONFIDENCE:.0f} % interval of "
        "the paired difference",
        f"shares of the distance from {LOW_END}; {TOLD}: the index, given player 0's skill",
    ]
    for cell in result.cells:
        lines += [
            "",
            cell.title,
            "oracle {oracle.mean:.2f}, bound {bound.mean:.2f} ± {bound.standard_error:.2f}, "
            "oracle - bound {saved:+.2f}".format_map(cell),
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
        ``true_q``, the ``room`` below the bound, its ``share`` of DrawChance's room (NaN if that
        can be 0), and ``share_of_oracle``.

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
        seeds = rows.seeds[0].tolist()
        # Stored results do not depend on the order of the policies.
        order = np.argsort(rows.policies)
        lasting = all(candidate.lasting for candidate in plan.candidates)
        jobs = []
        for c, cell in enumerate(plan.cells):
            cell_settings = plan.settings_of(cell, 0)
            for first, count in spans_of(episodes, BLOCK):
                block_seeds = seeds[first : first + count]
                met = rows.arrays["met"][c, order, 0, first : first + count]
                key = {
                    "bound": depth,
                    "policies": asked["policies"],
                    "beliefs": asked["beliefs"],
                    "settings": cell_settings.description(),
                    "code": plan.code,
                    "first seed": block_seeds[0],
                }
                call = partial(bounds_of, cell_settings, block_seeds, depth, met)
                jobs.append(Job(key if lasting else None, count, call, name=f"bound {cell.name}"))
        done = store.results(jobs)
        bound, paid = (np.concatenate([job[name] for job in done]) for name in ("bound", "paid"))
        bound = bound.reshape(len(plan.cells), episodes)
        paid = np.moveaxis(paid.reshape(*bound.shape, -1), -1, 1)[:, np.argsort(order)]
        result = Record({
            **asked,
            "against": LOW_END,
            "confidence": CONFIDENCE,
            "versions": versions("scipy"),
            "cells": [_cell(rows, c, bound[c], paid[c]) for c in range(len(plan.cells))],
        })  # fmt: skip
        files = {
            **rows.files(),
            "bound.npz": npz_bytes({"bound": bound, "paid": paid}),
            "bound.txt": f"{table_text(result)}\n".encode(),
            "bound.json": json_bytes(result, checked=True),
            "bound.csv": records_csv(
                [columns_of({**cell, **row}) for cell in result.cells for row in cell.policies]
            ),
        }
        store.finish(result, files.items())
    return result


def _cell(rows: EpisodeTable, place: int, bound: Floats, paid: Floats) -> Record:
    """Return the results of one cell, from bounds of shape (E,) and payments of shape (P, E)."""
    cell = rows.cells[place]
    totals = {policy: rows.values(TRUE_Q, place, policy)[0] for policy in rows.policies}
    low, oracle = totals[LOW_END], totals[HIGH_END]
    # The payments of the policy's own games have the mean of its true q.
    rooms = {policy: estimate_without_luck(bound - total, payment - total)
             for (policy, total), payment in zip(totals.items(), paid, strict=True)}  # fmt: skip
    whole = rooms[LOW_END]
    standings = [
        Record(
            policy=policy,
            true_q=estimate(total),
            room=rooms[policy],
            share=1.0 - rooms[policy].mean / whole.mean if whole.low > 0.0 else math.nan,
            share_of_oracle=share_closed(total, low, oracle),
        )
        for policy, total in totals.items()
        if policy != HIGH_END
    ]
    return Record(title=cell.title, **cell.labels, oracle=estimate(oracle), bound=estimate(bound),
                  saved=estimate(oracle - bound), policies=standings)  # fmt: skip


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
    size = len(seeds) if settings.prior == "informative" else PATHS_AT_ONCE
    bounds, paid = [], []
    for first, count in spans_of(len(seeds), size):
        rows = slice(first, first + count)
        skill = players[rows, :, 2]
        densities = true_draw_density(skill[:, :1], skill[:, 1:], settings.beta)
        kinds, places, exchanged = opponents_of(settings, depth, players[rows])
        payments = payments_of(kinds, places, won[rows] ^ exchanged[:, :, None], densities)
        bounds += [best_split(path) for path in payments]
        own = np.take_along_axis(payments[None], games[:, rows, :, None], axis=3)
        paid.append(own.sum(axis=(2, 3)).T)
    return {"bound": np.array(bounds), "paid": np.concatenate(paid)}


def paths_of(settings: Settings, seeds: Sequence[int]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the players of some episodes, and the outcomes of their games.

    These are prior mean (even if hidden from policies), standard deviation and true skill of each
    player, shape (E, M + 1, 3); and whether player 0 wins the n-th game against each opponent,
    shape (E, M, N).
    """
    state = Episodes.of_seeds(OnePlayer(replace(settings, prior="informative")), seeds).state
    won = [
        wins_ahead(key, np.ascontiguousarray(players[:, 2]), settings.horizon, settings.beta)
        for key, players in zip(state.key, state.players, strict=True)
    ]
    return state.players.copy(), np.array(won)
