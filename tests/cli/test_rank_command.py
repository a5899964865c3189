"""``matchenv rank``: text, files and errors."""

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from matchenv.ranking import Ranker

GAMES = [("ada", "bo", 2, 1), ("bo", "cy", 1, 1), ("ada", "cy", 3, 0), ("cy", "bo", 0, 2)] * 6
OUT = Path("out")


@pytest.fixture
def rank(typed: Any) -> Any:
    """Return a function that runs the command on a log of ``GAMES``."""
    rows = "".join(f"{g},{a},{x}\n{g},{b},{y}\n" for g, (a, b, x, y) in enumerate(GAMES))
    Path("games.csv").write_text(f"game,player,score\n{rows}")
    return lambda options: typed(f"rank games.csv {options}")


def test_text_figure_and_state_match_a_ranker(rank: Any) -> None:
    ended = rank("--goal best --next 2 --out out")
    lines = ended.out.splitlines()
    assert ended.status == 0
    assert [line.split()[0] for line in lines[1:4]] == ["ada", "bo", "cy"]
    assert len(lines) - lines.index("next pairs:") == 3
    games = pd.read_csv(OUT / "ranking.csv").set_index("item").games
    assert list(games.items()) == [("ada", 12), ("bo", 18), ("cy", 18)]
    assert {path.suffix for path in OUT.iterdir()} >= {".csv", ".json", ".png", ".svg"}
    ranker = Ranker.load(OUT / "ranking.json")
    assert ranker.num_games == 24
    assert [row.item for row in ranker.ranking()] == list(games.index)
    assert [f"  {a} vs {b}" for a, b in ranker.next_pairs(2)] == lines[-2:]
    for confidence in (0.95, 0.5):
        assert not rank(f"--next 2 --out out --quiet --confidence {confidence} --goal best").out
        found = json.loads((OUT / "next.json").read_text())
        assert found["unsettled"] == len(ranker.unsettled(confidence))
        assert [f"  {a} vs {b}" for a, b in found["next"]] == lines[-2:]


@pytest.mark.parametrize("wins", [60, 50])
def test_the_order_of_a_log_does_not_matter(wins: int, typed: Any) -> None:
    """Against the posterior of the difference of two skills, by quadrature."""
    gap = np.linspace(-6.0, 6.0, 4001)
    density = norm.pdf(gap, scale=math.sqrt(2.0))
    density *= norm.cdf(gap / math.sqrt(2.0)) ** wins * norm.cdf(-gap / math.sqrt(2.0)) ** 40
    mean = (density * gap).sum() / density.sum()
    deviation = math.sqrt((density * (gap - mean) ** 2).sum() / density.sum())
    for winners in ("a" * wins + "b" * 40, "b" * 40 + "a" * wins):
        rows = "".join(f"{g},{x},1\n{g},{'ab'.strip(x)},0\n" for g, x in enumerate(winners))
        Path("sorted.csv").write_text(f"game,player,score\n{rows}")
        assert typed("rank sorted.csv --goal best --out out").status == 0
        skill = pd.read_csv(OUT / "ranking.csv").set_index("item")["mean"]
        assert skill["a"] - skill["b"] == pytest.approx(mean, abs=0.3 * deviation)


@pytest.mark.parametrize("spread", [0.2, 1.0, 3.0])
def test_the_draw_margin_is_that_of_the_games(spread: float, typed: Any) -> None:
    rng, games = np.random.default_rng(3), 3000
    skills = spread * rng.standard_normal(12)
    i = rng.integers(0, 12, games)
    j = (i + rng.integers(1, 12, games)) % 12
    lead = skills[i] - skills[j] + rng.normal(0.0, math.sqrt(2.0), games)
    scores = np.where(np.abs(lead) < 0.5, 0.0, np.sign(lead))
    rows = "".join(f"{g},p{i[g]},{scores[g]}\n{g},p{j[g]},0\n" for g in range(games))
    Path("drawn.csv").write_text(f"game,player,score\n{rows}")
    assert typed(f"rank drawn.csv --sigma {max(spread, 1.0)} --goal best --out out").status == 0
    ranker = Ranker.load(OUT / "ranking.json")
    margin, (mu, covariance) = ranker.settings.draw_margin, ranker.belief
    assert margin == pytest.approx(0.5, abs=0.06)  # its standard error is about 0.02
    # The belief expects the log's share of draws.
    a, b, outcomes = np.array(ranker._games).T
    variance = np.diagonal(covariance)
    scale = np.sqrt(2.0 + variance[a] + variance[b] - 2.0 * covariance[a, b])
    expected = norm.cdf(margin, mu[a] - mu[b], scale) - norm.cdf(-margin, mu[a] - mu[b], scale)
    assert expected.mean() == pytest.approx(np.mean(outcomes == 0), rel=2e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--confidence 0.5", "the order is settled at 50 %"),
        ("--confidence 0.9999 --indifference 0.2", "estimated games to settle it: "),
        ("--goal top --k 2", "expected errors in the top 2: 0."),
    ],
)
def test_the_text_reports_what_is_settled(options: str, message: str, rank: Any) -> None:
    assert message in rank(options).out


@pytest.mark.parametrize(
    ("options", "said"),
    [("--k 0", "k must"), ("--goal top", "k must be given"), ("--beta 0", "beta must"),
     ("--sigma -1", "sigma must"), ("--draw-margin -1", "draw_margin must"),
     ("--next -1", "next must be an integer"), ("--confidence 2", "confidence must be in"),
     ("--indifference -1 --quiet", "indifference must not be negative"),
     ("--out games.csv", "out must")],
)  # fmt: skip
def test_options_are_checked_before_the_log_is_read(options: str, said: str, typed: Any) -> None:
    Path("games.csv").touch()
    assert said in typed(f"rank missing.csv {options}").refusal


def test_team_games_are_rejected(typed: Any) -> None:
    Path("teams.csv").write_text(
        "game,team,player,rank\n1,x,a,1\n1,x,b,1\n1,y,c,2\n2,x,a,1\n2,y,b,2\n"
    )
    rule = "log must hold games of one player against one other"
    assert f"{rule}, got a game of ['a', 'b', 'c']" in typed("rank teams.csv").refusal


def test_ignored_columns_have_a_warning(typed: Any) -> None:
    Path("log.csv").write_text("game,player,rank,w\n1,a,1,1\n1,b,2,1\n2,a,1,1\n2,b,2,1\n")
    with pytest.warns(UserWarning, match="a ranking does not use weights"):
        assert typed("rank log.csv --columns weight=w").status == 0


def test_labels_of_the_figure_are_escaped_differ_and_end_with_the_place(
    typed: Any, recwarn: pytest.WarningsRecorder
) -> None:
    names = ["a\x1bb", r"$\frac$", "שלום", "李", f"{'x' * 60}-a", f"{'x' * 60}-b"]
    games = "game,player,score\n"
    for game, (better, worse) in enumerate(pairwise(names)):
        games += f"{game},{better},2\n{game},{worse},1\n"
    Path("names.csv").write_text(games, encoding="utf-8")
    assert typed("rank names.csv --out out").status == 0
    assert not [each for each in recwarn if "Glyph" in str(each.message)]
    figure = (OUT / "ranking.svg").read_text(encoding="utf-8")
    names[0], names[4:] = r"a\x1bb", [f"{'x' * 30}…{'x' * 27}-{end}" for end in "ab"]
    for place, name in enumerate(names, 1):
        assert f"\u200e{name}\u200e  {place}" in figure
