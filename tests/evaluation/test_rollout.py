"""The rollout, and the table of episodes that a plan of rollouts fills."""

import csv
import io
import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from matchenv.baselines import PointEstimate
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.episode_table import Block, Plan, play
from matchenv.evaluation.protocols import cells_of
from matchenv.evaluation.registry import candidate_of, candidates_of
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
    plan = Plan(
        candidates, cells, blocks, lambda cell, _: replace(SETTINGS, **cell.options), 7, summary
    )
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
        def act(self, view: Any, rng: Any) -> Any:
            with pytest.raises(ValueError, match="read-only"):
                view.knowledge_state.mu[:] = 0.0
            with pytest.raises(ValueError, match="read-only"):
                view.games_left[:] = 0
            return np.zeros(len(view.games_left), dtype=np.int64)

    class Predicting:
        def predict(self, observation: Any, *_: Any, **__: Any) -> Any:
            observation *= 2.0
            return np.zeros(len(observation), dtype=np.int64), None

    class Careful:
        def act(self, view: Any, rng: Any) -> Any:
            return np.zeros(len(view.games_left), dtype=np.int64)

    expected = rollout(Careful(), SETTINGS, [1, 2])["draw_density"]
    for policy in (Careless(), Predicting()):
        np.testing.assert_array_equal(rollout(policy, SETTINGS, [1, 2])["draw_density"], expected)
    wrong = SimpleNamespace(predict=lambda observation, *_, **__: np.zeros(len(observation), int))
    with pytest.raises(ValueError, match=r"predict must return \(actions, state\)"):
        rollout(wrong, SETTINGS, [1, 2])


def test_a_policy_carries_no_memory_from_one_rollout_to_the_next() -> None:
    class Counting:
        """It chooses another opponent at each of its calls."""

        def __init__(self) -> None:
            self.calls = 0

        def act(self, view: Any, rng: Any) -> Any:
            self.calls += 1
            return np.full(len(view.games_left), self.calls % 6)

    policy = Counting()
    first = rollout(policy, SETTINGS, [1, 2])["draw_density"]
    np.testing.assert_array_equal(rollout(policy, SETTINGS, [1, 2])["draw_density"], first)
    assert policy.calls == 0


def test_a_policy_is_built_once_for_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    class Built(PointEstimate):
        count = 0

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            Built.count += 1

    module = SimpleNamespace(Built=Built, __file__=__file__, __spec__=None)
    monkeypatch.setitem(sys.modules, "built_policies", module)
    (candidate,) = candidates_of(["built_policies:Built"], SETTINGS)
    for seed in range(3):
        candidate.rollout(SETTINGS, [seed])
    assert Built.count == 1
