"""The rollout, and the table of episodes that a plan of rollouts fills."""

import csv
import io
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.episode_table import Block, Plan, play
from matchenv.evaluation.protocols import cells_of
from matchenv.evaluation.registry import candidate_of
from matchenv.evaluation.rollout import ALL, rollout, sums
from matchenv.evaluation.seeds import POLICIES
from matchenv.runtime.jobs import RunOptions

SETTINGS = Settings.checked(num_opponents=6, horizon=15, draw_margin=0.4, rank="middle")


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


def test_a_policy_cannot_change_an_episode_by_its_arguments() -> None:
    class Careless:
        def act(self, state: Any, games_left: Any, rng: Any = None) -> Any:
            state.mu[:] = 0.0
            games_left[:] = 0
            return np.zeros(len(games_left), dtype=np.int64)

    class Predicting:
        def predict(self, observation: Any, *_: Any, **__: Any) -> Any:
            observation *= 2.0
            return np.zeros(len(observation), dtype=np.int64), None

    found = [
        rollout(lambda *_, kind=kind: kind(), SETTINGS, [1, 2]) for kind in (Careless, Predicting)
    ]
    careful = SimpleNamespace(act=lambda state, left, **_: np.zeros(len(left), dtype=np.int64))
    expected = rollout(lambda *_: careful, SETTINGS, [1, 2])
    for each in found:
        np.testing.assert_array_equal(each["draw_density"], expected["draw_density"])
    wrong = SimpleNamespace(predict=lambda observation, *_, **__: np.zeros(len(observation), int))
    with pytest.raises(ValueError, match=r"predict must return \(actions, state\)"):
        rollout(lambda *_: wrong, SETTINGS, [1, 2])
