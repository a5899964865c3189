"""A log of an arena with known skills through ``matchenv.ranking`` and through choix."""

from __future__ import annotations

import math

import numpy as np
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


def test_the_ranking_is_that_of_choix_and_its_intervals_cover() -> None:
    skills, votes = arena()
    ranker = Ranker(NAMES, first_advantage=0.5)
    ranker.record_games(votes)
    rows = {row.item: row for row in ranker.ranking()}
    # The same model as theirs: no sides, no prompts.
    plain = Ranker(NAMES)
    plain.record_games([vote._replace(cluster=None) for vote in votes])
    plain_rows = {row.item: row for row in plain.ranking()}
    own = np.array([plain_rows[name].elo for name in NAMES])
    theirs = bradley_terry(votes)
    slope, level = np.polyfit(theirs, own, 1)
    residual = own - (slope * theirs + level)
    assert np.corrcoef(theirs, own)[0, 1] > 0.999
    assert np.abs(residual).max() < 5.0
    # The order differs only where ratings do by less than the residuals.
    order = np.argsort(-theirs)
    assert (np.diff(own[order]) < 5.0).all()
    truth = ranker.elo_per_skill * (skills - skills.mean())
    covered = 0
    half_widths = []
    for name, value in zip(NAMES, truth, strict=True):
        covered += rows[name].elo_low <= value <= rows[name].elo_high
        half_widths.append(0.5 * (rows[name].elo_high - rows[name].elo_low))
    assert covered >= 17  # three standard deviations below 19
    # Theirs for comparison: percentiles of 50 bootstrap samples of votes, without prompts.
    rng = np.random.default_rng(0)
    samples = []
    for _ in range(50):
        chosen = rng.integers(0, VOTES, VOTES)
        samples.append(bradley_terry([votes[k] for k in chosen]))
    spread = 1.96 * np.std(samples, axis=0).mean()
    print(f"worst residual {np.abs(residual).max():.1f} Elo; {covered} of {MODELS} covered; "
          f"half widths {np.mean(half_widths):.0f} and {spread:.0f} Elo")  # fmt: skip
    assert np.mean(half_widths) > spread  # prompts widen them


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
