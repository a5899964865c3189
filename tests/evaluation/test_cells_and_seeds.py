"""Cells and random streams."""

from __future__ import annotations

import itertools

import pytest

from matchenv.evaluation.cells import Cell, cells_of, ordinal
from matchenv.evaluation.seeds import (
    EVALUATION,
    INSTANCES,
    OUTCOMES,
    REPORT,
    STUDY_EPISODES,
    TRAINING,
    TUNING,
    episode_seeds,
    evaluation_seed,
    policy_key,
    spans_of,
    stream_of,
    training_seed,
)


@pytest.mark.parametrize("num_opponents", [4, 19, 49])
def test_names_say_where_player_0_stands_whatever_the_size(num_opponents: int) -> None:
    cell = Cell(3, "equal", num_opponents)
    assert (cell.name, cell.place) == ("equal_4th", 3)
    assert cell.title == f"4th of {num_opponents + 1} by hidden mean, equal prior"
    by_skill = Cell(3, "equal", num_opponents, "true_skill")
    assert by_skill.title == f"4th of {num_opponents + 1} by true skill, equal prior"
    last = Cell("bottom", "informative", num_opponents)
    assert (last.name, last.place) == ("informative_bottom", num_opponents)
    assert last.title == "bottom rank, informative prior"
    assert Cell(None, "equal", num_opponents).title == "any rank, equal prior"


def test_ordinals() -> None:
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 103, 111, 112)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "103rd", "111th",
        "112th",
    ]  # fmt: skip


def test_every_rank_meets_every_prior() -> None:
    cells = cells_of(["top", "7", "any"], ["equal", "informative"], 9)
    assert [(cell.rank, cell.prior) for cell in cells] == list(
        itertools.chain.from_iterable(
            ((rank, prior) for rank in ("top", 7, None)) for prior in ("equal", "informative")
        )
    )


@pytest.mark.parametrize(
    ("ranks", "priors", "message"),
    [
        ([], ["equal"], "at least one"),
        (["top"], [], "at least one"),
        ("top", ["equal"], "lists"),
        (["top", 0], ["equal"], "each cell once"),
        ([10], ["equal"], r"\[0, 9\]"),
        (["best"], ["equal"], "rank must"),
        (["top"], ["flat"], "prior must"),
    ],
)
def test_bad_cells_are_refused(ranks, priors, message) -> None:
    with pytest.raises(ValueError, match=message):
        cells_of(ranks, priors, 9)


def test_seeds_depend_on_seed_and_episode_alone() -> None:
    assert episode_seeds(5, 0, 8)[3:] == episode_seeds(5, 3, 5)
    assert len({*episode_seeds(5, 0, 2000), *episode_seeds(6, 0, 2000)}) == 4000


def test_streams_of_different_purposes_never_meet() -> None:
    keys = [
        (INSTANCES, 0), (OUTCOMES, 0), (REPORT, 0, STUDY_EPISODES, 0),
        (TUNING, 0, STUDY_EPISODES, 0), (REPORT, 1, STUDY_EPISODES, 0),
        (1, 0, *policy_key("kg")), (1, 0, *policy_key("kh")), (1, 1, *policy_key("kg")),
    ]  # fmt: skip
    assert len({stream_of(0, *key).integers(2**63) for key in keys}) == len(keys)


def test_ranges_of_training_and_evaluation_never_meet() -> None:
    for seed in (0, 1, 2**40):
        assert TRAINING <= training_seed(seed) < EVALUATION <= evaluation_seed(seed)
    assert max(episode_seeds(0, 0, 1000)) < TRAINING


def test_blocks_hold_every_episode_once() -> None:
    for episodes in (1, 9, 10, 11, 30):
        spans = spans_of(episodes, 10)
        numbers = [first + n for first, count in spans for n in range(count)]
        assert numbers == list(range(episodes))
        assert all(count == 10 for _, count in spans[:-1])
