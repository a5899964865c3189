"""The table of episodes that a plan of rollouts fills."""

import csv
import io
from dataclasses import replace
from functools import partial

import numpy as np

from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.episode_table import Block, Plan, play
from matchenv.evaluation.protocols import cells_of
from matchenv.evaluation.registry import candidate_of
from matchenv.evaluation.rollout import ALL, sums
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
