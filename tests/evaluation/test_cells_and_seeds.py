"""Cells and random streams."""

import pytest
from refusals import refusals

from matchenv.evaluation import seeds
from matchenv.evaluation.protocols import cells_of, ordinal


@pytest.mark.parametrize(
    ("rank", "prior", "by", "name", "title"),
    [
        (3, "equal", "prior_mean", "equal_4th", "4th of 50 by hidden mean, equal prior"),
        (3, "equal", "true_skill", "equal_4th", "4th of 50 by true skill, equal prior"),
        ("bottom", "informative", "prior_mean", "informative_bottom",
         "bottom rank, informative prior"),
        ("any", "equal", "prior_mean", "equal_any", "any rank, equal prior"),
    ],
)  # fmt: skip
def test_names_and_titles_of_cells(rank, prior, by, name, title) -> None:
    (cell,) = cells_of([rank], [prior], 49, by)
    assert (cell.name, cell.title) == (name, title)
    assert cell.labels == {"rank": str(rank), "prior": prior}


def test_ordinals() -> None:
    ordinals = " ".join(map(ordinal, (1, 2, 3, 4, 11, 12, 13, 21, 22, 103, 111, 112)))
    assert ordinals == "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 103rd 111th 112th"


def test_cells_are_all_different_combinations_of_ranks_and_priors() -> None:
    cells = cells_of(["top", "7", 0, "any", 7], ["equal", "informative", "equal"], 9)
    assert [(cell.options["rank"], cell.options["prior"]) for cell in cells] == [
        (rank, prior) for prior in ("equal", "informative") for rank in ("top", 7, None)
    ]


test_bad_ranks_and_priors_are_refused = refusals(
    ([], ["equal"], "at least one"),
    (["top"], [], "at least one"),
    ("top", ["equal"], "ranks must be a list"),
    ([10], ["equal"], r"\[0, 9\]"),
    (["best"], ["equal"], "rank must"),
    (["top"], ["flat"], "prior must"),
    call=lambda ranks, priors: cells_of(ranks, priors, 9),
)


def test_random_streams_of_different_purposes_do_not_overlap() -> None:
    assert seeds.episode_seeds(5, 0, 8)[3:] == seeds.episode_seeds(5, 3, 5)
    assert len({*seeds.episode_seeds(5, 0, 2000), *seeds.episode_seeds(6, 0, 2000)}) == 4000
    keys = [
        (seeds.INSTANCES, 0), (seeds.OUTCOMES, 0), (seeds.REPORT, 0, seeds.STUDY_EPISODES, 0),
        (seeds.TUNING, 0, seeds.STUDY_EPISODES, 0), (seeds.REPORT, 1, seeds.STUDY_EPISODES, 0),
        *((1, prior, *seeds.policy_key(name)) for prior, name in ((0, "kg"), (0, "kh"), (1, "kg"))),
    ]  # fmt: skip
    assert len({seeds.stream_of(0, *key).integers(2**63) for key in keys}) == len(keys)
    largest = 2**64 - 1  # of a seed that is typed, or that a comparison draws
    assert max(seeds.episode_seeds(0, 0, 1000)) <= largest < seeds.TRAINING
    for seed in (0, 1, 12345, largest):
        training, evaluation = seeds.training_seed(seed), seeds.evaluation_seed(seed)
        assert seeds.TRAINING <= training < training + 2**20 <= seeds.EVALUATION <= evaluation
    assert seeds.training_seed(0) != seeds.training_seed(1)


@pytest.mark.parametrize("episodes", [1, 9, 10, 11, 30])
def test_spans_cover_every_episode_once(episodes: int) -> None:
    spans = seeds.spans_of(episodes, 10)
    assert [first + n for first, count in spans for n in range(count)] == list(range(episodes))
    assert all(count == 10 for _, count in spans[:-1])
