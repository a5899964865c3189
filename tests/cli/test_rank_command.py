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


def write_votes(count: int, seed: int = 0) -> np.ndarray:
    """Write ``votes.csv`` of an arena with four models; return their skills."""
    rng = np.random.default_rng(seed)
    skills = np.array([1.0, 0.4, -0.3, -1.1])
    lines = ["model_a,model_b,winner,prompt,language"]
    for vote in range(count):
        a, b = rng.choice(4, 2, replace=False)
        lead = skills[a] - skills[b] + 0.5 + math.sqrt(2.0) * rng.normal()
        winner = "model_a" if lead > 0.4 else "model_b"
        if abs(lead) <= 0.4:
            winner = "tie" if vote % 2 else "tie (bothbad)"
        language = "Polish" if vote % 3 == 0 else "English"
        lines.append(f"m{a},m{b},{winner},prompt {vote % 50},{language}")
    Path("votes.csv").write_text("\n".join(lines) + "\n")
    return skills


def test_output_figure_and_state_match_a_ranker(rank: Any) -> None:
    ended = rank("--goal best --next 2 --out out")
    lines = ended.out.splitlines()
    assert ended.status == 0
    assert [line.split()[0] for line in lines[1:4]] == ["ada", "bo", "cy"]
    assert len(lines) - lines.index("next pairs, the first to be named first:") >= 3
    games = pd.read_csv(OUT / "ranking.csv").set_index("item").games
    assert list(games.items()) == [("ada", 12), ("bo", 18), ("cy", 18)]
    assert {path.suffix for path in OUT.iterdir()} >= {".csv", ".json", ".png", ".svg"}
    ranker = Ranker.load(OUT / "ranking.json")
    assert ranker.num_games == 24
    assert [row.item for row in ranker.ranking()] == list(games.index)
    for confidence in (0.95, 0.5):
        assert not rank(f"--next 2 --out out --quiet --confidence {confidence} --goal best").out
        content = json.loads((OUT / "next.json").read_text())
        assert content["unsettled"] == len(ranker.unsettled(confidence))
        assert [f"  {a} vs {b}" for a, b in content["next"]] == [
            f"  {a} vs {b}" for a, b in ranker.next_pairs(2)
        ]


def test_votes_of_an_arena_are_ranked_with_side_prompts_and_categories(typed: Any) -> None:
    skills = write_votes(600)
    ended = typed("rank votes.csv --by language --scale elo --reference m0 --out out --next 1")
    assert ended.status == 0
    assert "advantage of the first side (model_a): +0." in ended.out
    assert "games with equal prompt are not independent" in ended.out
    assert "warning: the item named first wins 6" in ended.out
    assert "sigma" in ended.out
    table = pd.read_csv(OUT / "ranking.csv").set_index("item")
    assert list(table.index) == ["m0", "m1", "m2", "m3"]
    assert table.elo["m0"] == 0.0
    for item, skill in enumerate(skills):
        row = table.loc[f"m{item}"]
        # Six intervals of 95 %, widened to four standard errors.
        reach = 2.0 * (row.high - row["mean"]) + 1e-9
        assert abs(row["mean"] - (skill - skills[0])) <= reach
    categories = pd.read_csv(OUT / "categories.csv")
    assert list(categories.category.unique()) == ["English", "Polish"]
    assert categories[categories.category == "Polish"].games.sum() == 400
    without = typed("rank votes.csv --cluster none --first-advantage 0")
    assert "not independent" not in without.out
    assert "advantage of the first side" not in without.out


def test_json_lines_equal_a_table(typed: Any) -> None:
    write_votes(100)
    rows = pd.read_csv("votes.csv")
    rows.to_json("votes.jsonl", orient="records", lines=True)
    assert typed("rank votes.jsonl").out == typed("rank votes.csv").out


def test_chess_games_by_the_headers_of_pgn(typed: Any) -> None:
    results = ["1-0", "0-1", "1/2-1/2", "1-0"] * 5
    rows = "".join(f"a,b,{result}\nb,c,{result}\n" for result in results)
    Path("chess.csv").write_text(f"White,Black,Result\n{rows}")
    assert "advantage of the first side (White)" in typed("rank chess.csv").out


def test_the_order_of_rows_never_decides_who_was_first(rank: Any) -> None:
    assert "advantage of the first side" not in rank("").out


def test_a_bad_game_is_set_aside(typed: Any) -> None:
    write_votes(20)
    with Path("votes.csv").open("a") as votes:
        votes.write("m0,m1,nobody,prompt 1,English\nm0,,model_a,prompt 2,Polish\n")
    ended = typed("rank votes.csv --out out")
    assert ended.status == 0
    assert pd.read_csv(OUT / "ranking.csv").games.sum() == 2 * 20


def test_a_saved_ranking_goes_on(typed: Any) -> None:
    write_votes(100, seed=1)
    assert typed("rank votes.csv --goal best --out out").status == 0
    write_votes(50, seed=2)
    Path("more.csv").write_text(Path("votes.csv").read_text() + "new,m0,model_b,prompt 1,English\n")
    ended = typed("rank more.csv --state out/ranking.json --sigma 0.7 --out later")
    assert "sigma 0.70 (given)" in ended.out
    ranker = Ranker.load("later/ranking.json")
    assert (ranker.num_games, ranker.goal, len(ranker.items)) == (151, "best", 5)
    assert "votes.csv must be JSON" in typed("rank more.csv --state votes.csv").refusal


def test_the_verdict_is_withheld_if_the_games_contradict_the_model(typed: Any) -> None:
    rng = np.random.default_rng(1)
    wins = {("a", "b"): 0.85, ("b", "c"): 0.85, ("c", "a"): 0.78}
    wins |= {(strong, weak): 0.9 for strong in "abc" for weak in "de"}
    lines = ["winner,loser"]
    for (first, second), probability in wins.items():
        for _ in range(60):
            won = rng.random() < probability
            lines.append(f"{first},{second}" if won else f"{second},{first}")
    Path("cycle.csv").write_text("\n".join(lines) + "\n")
    ended = typed("rank cycle.csv --goal best --confidence 0")
    assert "strongest cycle" in ended.out
    assert (
        "the games contradict the model, so whether the best is settled is not known" in ended.out
    )


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
        assert typed("rank sorted.csv --goal best --sigma 1 --out out").status == 0
        skill = pd.read_csv(OUT / "ranking.csv").set_index("item")["mean"]
        assert skill["a"] - skill["b"] == pytest.approx(mean, abs=0.02 * deviation)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--confidence 0.5", "the order is settled at 50 %, if skills are normal with deviation"),
        ("--confidence 0.9999 --indifference 0.2 --estimate", "estimated games to settle it: "),
        ("--goal top --k 2", "expected errors in the top 2: 0."),
        ("--next 5", "pairs are repeated where no other one has half of their value"),
        ("--sigma 0.01", "sigma=0.01 is far from what the games say"),
    ],
)
def test_the_output_reports_what_is_settled(options: str, message: str, rank: Any) -> None:
    assert message in rank(options).out


@pytest.mark.parametrize(
    ("options", "message"),
    [("--k 0", "k must"), ("--goal top", "k must be given"), ("--beta 0", "beta must"),
     ("--sigma -1", "sigma must"), ("--draw-margin -1", "draw_margin must"),
     ("--next -1", "next must be an integer"), ("--confidence 2", "confidence must be in"),
     ("--indifference -1 --quiet", "indifference must not be negative"),
     ("--first-advantage -1", "first_advantage must"), ("--out games.csv", "out must")],
)  # fmt: skip
def test_options_are_checked_before_the_log_is_read(options: str, message: str, typed: Any) -> None:
    Path("games.csv").touch()
    assert message in typed(f"rank missing.csv --cluster none {options}").refusal


def test_team_games_are_set_aside(typed: Any) -> None:
    teams = "game,team,player,rank\n1,x,a,1\n1,x,b,1\n1,y,c,2\n2,x,a,1\n2,y,b,2\n"
    Path("teams.csv").write_text(teams)
    rule = "log must hold games of one player against one other"
    with pytest.warns(UserWarning, match=f"set aside 1 game: {rule}"):
        assert typed("rank teams.csv").status == 0
    Path("teams.csv").write_text("\n".join(teams.splitlines()[:4]) + "\n")
    assert f"{rule}, got a game of ['a', 'b', 'c']" in typed("rank teams.csv").refusal


def test_weights_have_a_warning(typed: Any) -> None:
    Path("log.csv").write_text("game,player,rank,w\n1,a,1,1\n1,b,2,1\n2,a,1,1\n2,b,2,1\n")
    with pytest.warns(UserWarning, match="a ranking does not use weights"):
        assert typed("rank log.csv --columns weight=w").status == 0


def test_the_page_of_a_ranking(rank: Any, typed: Any) -> None:
    rank("--goal best --next 3 --out out")
    assert typed("report out --out page.html").status == 0
    page = Path("page.html").read_text(encoding="utf-8")
    for title in ("Leaderboard", "Who met whom", "How the leader", "Next pairs"):
        assert title in page
    content = json.loads((OUT / "rank.json").read_text())
    assert content["names"] == ["ada", "bo", "cy"]
    assert content["games"] == [[0, 6, 6], [6, 0, 12], [6, 12, 0]]
    # bo and cy: two wins of bo in three, and a draw.
    np.testing.assert_allclose(content["scores"][1], [0.0, 0.0, 0.75])
    steps = content["history"]
    assert steps[-1]["games"] == 24
    assert steps[0]["top"] < steps[-1]["top"]


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
