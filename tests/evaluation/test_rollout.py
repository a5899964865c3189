"""Rollouts against the vector environment, game by game, and the table of episodes."""

import csv
import io
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from matchenv import MatchmakingVectorEnv
from matchenv.envs.core.simulator import MEAN
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.one_player.simulator import OnePlayer
from matchenv.evaluation.episode_table import Block, Plan, play
from matchenv.evaluation.protocols import cells_of
from matchenv.evaluation.registry import candidate_of, policy_named
from matchenv.evaluation.rollout import ALL, rollout, sums
from matchenv.evaluation.seeds import POLICIES
from matchenv.runtime.jobs import CLOCK, RunOptions

SETTINGS = Settings.checked(num_opponents=6, horizon=15, draw_margin=0.4, rank="middle")
SEEDS = [11, 2**40, 5]
MEASURES = tuple(name for name, way in OnePlayer.measures.items() if way != "last")


@pytest.mark.parametrize("belief", ["factorised", "full"])
@pytest.mark.parametrize("name", ["kg", "drawchance", "oracle"])
def test_measures_equal_those_of_the_vector_environment(name: str, belief: str) -> None:
    def make(settings: Settings, true_skill: Any) -> Any:
        return policy_named(f"{name}:belief={belief}", settings, true_skill)

    windows = {"first": slice(0, 4), "rest": slice(4, 15)}
    summary = partial(sums, measures=MEASURES, windows=windows, curves=15)
    found = rollout(make, SETTINGS, SEEDS, summary=summary)
    last = rollout(make, SETTINGS, SEEDS)["final_squared_error"]
    env = MatchmakingVectorEnv(
        3, num_opponents=6, horizon=15, draw_margin=0.4, rank="middle", belief=belief
    )
    env.reset(seed=list(SEEDS))
    policy = make(SETTINGS, lambda: env.true_skill)
    values = np.empty((15, len(MEASURES), 3))
    for n in range(15):
        info = env.step(policy.act(env.knowledge_state, 15 - n))[4]
        for m, measure in enumerate(MEASURES[:-1]):
            values[n, m] = info[measure]
        values[n, -1] = np.where(info["won"], 1.0, np.where(info["outcome"] == 0, 0.5, 0.0))
    for m, name in enumerate(MEASURES):
        for window, span in windows.items():
            games = span.stop - span.start if OnePlayer.measures[name] == MEAN else 1
            expected = values[span, m].sum(axis=0) / games
            np.testing.assert_allclose(found[f"{name}_{window}"], expected, rtol=1e-13)
    curves = found["total/curves"]
    np.testing.assert_allclose(curves[:, :, 0].T, values.sum(axis=2), rtol=1e-13)
    np.testing.assert_allclose(curves[:, :, 1].T, (values**2).sum(axis=2), rtol=1e-13)
    error = (env.knowledge_state.mu[:, 0] - env.true_skill[:, 0]) ** 2
    np.testing.assert_array_equal(last, error)
    assert found[CLOCK][1] == 14 * 3


def test_the_table_has_a_row_for_each_episode() -> None:
    cells = cells_of(["top", 2], ["informative", "equal"], 6)
    blocks = tuple(
        Block(0, first, tuple(range(first, min(first + 4, 9))), (POLICIES, first))
        for first in range(0, 9, 4)
    )
    candidates = tuple(candidate_of(text) for text in ("pe", "random", "thompson"))
    windows = {"first": slice(0, 5), ALL: slice(0, 15)}
    summary = partial(sums, windows=windows, curves=15)
    plan = Plan(candidates, cells, blocks, lambda cell, _: replace(SETTINGS, **cell.options), 7,
                summary)  # fmt: skip
    with RunOptions(workers=1, quiet=True).store({}) as store:
        table = play(plan, store)
    columns = table.tidy()
    assert {len(column) for column in columns.values()} == {4 * 3 * 9}
    row = (columns["rank"] == "2") & (columns["prior"] == "equal") & (columns["policy"] == "random")
    assert columns["episode"][row].tolist() == list(range(9))
    np.testing.assert_array_equal(
        columns["win_ratio_first"][row], table.values("win_ratio", 3, "random", "first")[0]
    )
    files = table.files()
    with np.load(io.BytesIO(files["episodes.npz"]), allow_pickle=False) as saved:
        read = list(csv.DictReader(io.StringIO(files["episodes.csv"].decode())))
        for name, column in columns.items():
            np.testing.assert_array_equal(saved[name], column)
            kind = str if column.dtype.kind == "U" else column.dtype.type
            assert [kind(line[name]) for line in read] == column.tolist()
