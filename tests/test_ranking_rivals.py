"""A log of an arena with known skills through ``matchenv rank``, choix and Arena-Rank."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from matchenv.ranking import Game, Ranker

choix = pytest.importorskip("choix")

MODELS, PROMPTS, VOTES = 20, 400, 6_000
NAMES = [f"model-{k:02d}" for k in range(MODELS)]
ELO = 400.0 / math.log(10.0)


def arena() -> tuple[np.ndarray, list[Game]]:
    """Return true skills and votes with ties, an advantage of the first, and prompts."""
    rng = np.random.default_rng(8)
    skills = 0.6 * rng.normal(size=MODELS)
    effects = math.sqrt(0.2) * rng.normal(size=(PROMPTS, MODELS))
    votes = []
    for _ in range(VOTES):
        i, j = rng.choice(MODELS, 2, replace=False)
        prompt = int(rng.integers(PROMPTS))
        gap = skills[i] - skills[j] + effects[prompt, i] - effects[prompt, j] + 0.2
        lead = gap + math.sqrt(2.0 - 2.0 * 0.2) * rng.normal()
        outcome = 0 if abs(lead) <= 0.3 else int(np.sign(lead))
        votes.append(Game(NAMES[i], NAMES[j], outcome, False, f"prompt {prompt}"))
    return skills, votes


def bradley_terry(votes: list[Game]) -> np.ndarray:
    """Return choix's ratings in Elo points, a tie being half a win of both."""
    wins = np.zeros((MODELS, MODELS))
    place = {name: index for index, name in enumerate(NAMES)}
    for vote in votes:
        i = place[vote.first]
        j = place[vote.second]
        wins[i, j] += 0.5 + 0.5 * vote.outcome
        wins[j, i] += 0.5 - 0.5 * vote.outcome
    return ELO * choix.ilsr_pairwise_dense(wins, alpha=1e-3)


def elo_of_choix(votes: list[Game], path: Path) -> pd.DataFrame:
    """Return ratings with 95 % intervals from 50 bootstrap samples of votes."""
    del path
    rng = np.random.default_rng(0)
    samples = []
    for _ in range(50):
        chosen = rng.integers(0, VOTES, VOTES)
        samples.append(bradley_terry([votes[k] for k in chosen]))
    elo = bradley_terry(votes)
    reach = 1.96 * np.std(samples, axis=0)
    return pd.DataFrame({"elo": elo, "low": elo - reach, "high": elo + reach}, index=NAMES)


# An environment of its own, see docs/ranking.md.
ARENA_RANK = Path(__file__).resolve().parent.parent / "build" / "arena" / "bin" / "python"
ARENA_RANK_PROGRAM = """
import sys
import pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset
votes = PairDataset.from_pandas(pd.read_csv(sys.argv[1]))
model = BradleyTerry(n_competitors=len(votes.competitors))
pd.DataFrame(model.compute_ratings_and_cis(votes)).to_csv(sys.argv[2], index=False)
"""


def elo_of_arena_rank(votes: list[Game], path: Path) -> pd.DataFrame:
    """Return ratings with 95 % intervals; it requires a NumPy of its own, so a Python too."""
    del votes
    if not ARENA_RANK.exists():
        pytest.skip("Arena-Rank is not installed, see docs/ranking.md")
    program = [str(ARENA_RANK), "-c", ARENA_RANK_PROGRAM, str(path), "arena_rank.csv"]
    subprocess.run(program, check=True)
    table = pd.read_csv("arena_rank.csv").set_index("competitors").loc[NAMES]
    named = {"ratings": "elo", "rating_lower": "low", "rating_upper": "high"}
    return table.rename(columns=named)


@pytest.mark.parametrize("rival", [elo_of_choix, elo_of_arena_rank])
def test_the_ranking_is_that_of_rivals_and_its_intervals_cover(
    rival: Callable[[list[Game], Path], pd.DataFrame], typed: Any
) -> None:
    skills, votes = arena()
    path = Path("votes.csv")
    lines = ["model_a,model_b,winner,prompt"]
    for vote in votes:
        winner = {1: "model_a", 0: "tie", -1: "model_b"}[vote.outcome]
        lines.append(f"{vote.first},{vote.second},{winner},{vote.cluster}")
    path.write_text("\n".join(lines) + "\n")
    theirs = rival(votes, path)
    # The same model as theirs: no sides, no prompts.
    assert typed("rank votes.csv --first-advantage 0 --cluster none --out plain").status == 0
    plain = pd.read_csv("plain/ranking.csv").set_index("item").loc[NAMES]
    own = plain.elo.to_numpy()
    slope, level = np.polyfit(theirs.elo, own, 1)
    residual = own - (slope * theirs.elo + level)
    assert np.corrcoef(theirs.elo, own)[0, 1] > 0.999
    assert np.abs(residual).max() < 5.0
    # The order differs only where ratings do by less than the residuals.
    assert (np.diff(own[np.argsort(-theirs.elo)]) < 5.0).all()

    assert typed("rank votes.csv --out full").status == 0
    full = pd.read_csv("full/ranking.csv").set_index("item").loc[NAMES]
    truth = (skills - skills.mean()) * (full.elo / full["mean"])
    covered = np.count_nonzero((full.elo_low <= truth) & (truth <= full.elo_high))
    assert covered >= 17  # three standard deviations below 19
    # Theirs for comparison, on the line that fits ours.
    low, high = slope * theirs.low + level, slope * theirs.high + level
    covered_by_theirs = np.count_nonzero((low <= truth) & (truth <= high))
    own_reach = 0.5 * (full.elo_high - full.elo_low).mean()
    reach = 0.5 * (high - low).mean()
    print(f"worst residual {np.abs(residual).max():.1f} Elo")
    print(f"{covered} of {MODELS} covered, by theirs {covered_by_theirs}")
    print(f"half widths {own_reach:.0f} and {reach:.0f} Elo")
    assert own_reach > reach  # prompts widen them


@pytest.mark.slow
def test_chosen_pairs_need_fewer_games_than_all_pairs() -> None:
    """Games until the top 3 of twenty models are settled, with skills of the arena."""
    skills, _ = arena()
    needed = {}
    for chosen in (True, False):
        rng = np.random.default_rng(1)
        ranker = Ranker(NAMES, goal="top", k=3, draw_margin=0.3, sigma=0.6)
        while not ranker.is_settled(0.95, 0.1) and ranker.num_games < 20_000:
            pairs = ranker.next_pairs(40, indifference=0.1) if chosen else []
            while len(pairs) < 40:
                i, j = rng.choice(MODELS, 2, replace=False)
                pairs.append((NAMES[i], NAMES[j]))
            games = []
            for a, b in pairs:
                lead = skills[NAMES.index(a)] - skills[NAMES.index(b)]
                lead += math.sqrt(2.0) * rng.normal()
                games.append((a, b, 0 if abs(lead) <= 0.3 else int(np.sign(lead))))
            ranker.record_games(games)
        needed[chosen] = ranker.num_games
    print(f"chosen pairs {needed[True]:,} games, all pairs {needed[False]:,}")
    assert needed[True] < 0.7 * needed[False]
