"""Evenness of the games of a log: believed before each game, and in hindsight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from matchenv.evaluation.estimates import UNKNOWN, Record, estimate, paired_difference, verdicts
from matchenv.evaluation.visits import DECILES, GROUPS
from matchenv.logs import SmoothedLog, TrueSkillReplay
from matchenv.logs.fitting import blocks_of
from matchenv.logs.forecasts import gaussian_log_probabilities, log_losses
from matchenv.logs.match_log import MatchLog
from matchenv.logs.pairs import Pairs
from matchenv.logs.replay import Model, games_of
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.trueskill import match_quality

# A player is a newcomer in this many first games of the log.
NEWCOMER_GAMES = 10
# A group needs as many effective blocks for an interval.
LEAST_BLOCKS = 5
# Random pairings of all sides, for the quality of random games.
DEALS = 10


class Qualities(NamedTuple):
    """Match qualities of the pairs of sides that met, and who was the favourite."""

    pairs: Pairs  # the pairs of sides
    believed: Floats  # (pairs,) mean match quality under the beliefs before the game
    hindsight: Floats  # (pairs,) mean match quality given the whole log
    strangers: float  # mean quality in hindsight of random pairs of sides
    favour: Floats  # (pairs,) believed probability of a win of the first side minus that of a loss


def qualities_of(
    log: MatchLog,
    replay: TrueSkillReplay,
    smoothed: SmoothedLog,
    parameters: Mapping[str, float],
    seed: int = 0,
) -> Qualities:
    """Return the match quality of each pair of sides, before its game and in hindsight.

    The quality is that of the skills, without home advantage. Eq. (6) of the 2011 paper with a
    deviation of 0 is the quality between known skills; with a belief's deviation it is the mean of
    that over the belief, so both columns estimate the same quantity. The mean in hindsight, given
    the other games and the result of this one, has a closed form: the quality is a normal density
    of the gap, and so is the belief.

    Args:
        log: the log.
        replay: its replay.
        smoothed: its smoothing.
        parameters: parameters of the replay and the smoothing.
        seed: random seed of the random pairs of sides.

    Source: Herbrich, Minka, Graepel (2006), section 4.2; Dangauthier et al. (2008).
    """
    beta = parameters["beta"]
    pairs = log.pairs
    games = games_of(log, Model(**parameters))
    noise = beta * beta * log.team_sums(games.weight**2)
    pair_noise = pairs.sum(noise)
    advantage = np.zeros(log.num_teams)
    advantage[log.game_start[:-1]] = games.advantage
    lead = pairs.gap(advantage)

    def log_probabilities(gap: Floats, variance: Floats) -> Floats:
        """Return log probabilities of each pair's outcomes, for these performance differences."""
        players = pairs.sum(log.team_size)
        return gaussian_log_probabilities(
            gap, variance, players, beta, parameters["draw_probability"]
        )

    def likelihood(gap: Floats, variance: Floats) -> Floats:
        """Return the probability of each pair's outcome, for these performance differences."""
        return np.exp(-log_losses(log_probabilities(gap, variance), pairs.outcome))

    forecast = np.exp(
        log_probabilities(pairs.gap(replay.team_mean), pairs.sum(replay.team_variance))
    )
    # Beliefs about the skills of sides: before the game, from all other games, and from all.
    mean_before = replay.team_mean - advantage
    variance_before = replay.team_variance - noise
    mean_of_others = log.team_sums(games.weight * smoothed.rest_mu)
    variance_of_others = log.team_sums((games.weight * smoothed.rest_sigma) ** 2)
    mean_after = log.team_sums(games.weight * smoothed.mu)
    variance_after = log.team_sums((games.weight * smoothed.sigma) ** 2)
    # The product of a belief and the quality is a normal, shrunk towards 0.
    gap = pairs.gap(mean_of_others)
    variance = pairs.sum(variance_of_others)
    shrink = pair_noise / (variance + pair_noise)
    hindsight = _quality(pairs, mean_of_others, variance_of_others, noise)
    hindsight *= likelihood(gap * shrink + lead, variance * shrink + pair_noise)
    hindsight /= likelihood(gap + lead, variance + pair_noise)
    strangers = _quality(_strangers(log, seed), mean_after, variance_after, noise)
    mean_of_strangers = float("nan")
    if strangers.size:
        mean_of_strangers = float(strangers.mean())
    return Qualities(
        pairs=pairs,
        believed=_quality(pairs, mean_before, variance_before, noise),
        hindsight=hindsight,
        strangers=mean_of_strangers,
        favour=forecast[:, 0] - forecast[:, 2],
    )


def groups_of(log: MatchLog, skill: Floats) -> dict[str, Masks]:
    """Return masks by group of players: (entries,), whether a participation belongs to the group.

    ``skill`` is (entries,) in hindsight; its tenths are of all participations.
    """
    is_newcomer = pd.Series(log.player).groupby(log.player).cumcount().to_numpy() < NEWCOMER_GAMES
    limits = np.quantile(skill, np.arange(1, DECILES) / DECILES)
    decile = np.searchsorted(limits, skill)
    masks = [np.ones_like(is_newcomer), is_newcomer, ~is_newcomer]
    masks.extend(decile == k for k in range(DECILES))
    return dict(zip(GROUPS, masks, strict=True))


def group_evenness(
    log: MatchLog, qualities: Qualities, skill: Floats, *, judged: bool = True
) -> list[Record]:
    """Return the evenness of the games of each group of players.

    Intervals are over blocks of consecutive games. They describe other games of the same kind, at
    the estimated parameters and skills.

    Args:
        log: the log.
        qualities: match qualities of its pairs of sides.
        skill: (entries,) in hindsight.
        judged: whether to give verdicts.

    Returns:
        For each ``group`` that played in enough blocks: its participations, ``parts``; its match
        quality, ``believed`` before the games and in ``hindsight``; the ``difference`` of the
        latter from that of all players, and its ``verdict``.
    """
    believed = entry_means(log, qualities.pairs, qualities.believed)
    hindsight = entry_means(log, qualities.pairs, qualities.hindsight)
    block = blocks_of(log.num_games)[log.entry_game]
    masks = groups_of(log, skill)
    everyone = block_values(hindsight, masks[GROUPS[0]], block)
    rows = []
    counts = []
    for group, mask in masks.items():
        count = effective_blocks(mask, block)
        if count < LEAST_BLOCKS:
            continue
        own = block_values(hindsight, mask, block)
        difference = UNKNOWN
        if group != GROUPS[0]:
            difference = estimate(own - everyone, count)
        row = Record(
            group=group,
            parts=int(mask.sum()),
            believed=estimate(block_values(believed, mask, block), count),
            hindsight=estimate(own, count),
            difference=difference,
            verdict="",
        )
        rows.append(row)
        counts.append(count)
    if judged:
        words = verdicts([row.difference for row in rows], counts)
        for row, word in zip(rows, words, strict=True):
            row["verdict"] = word
    return rows


def entry_means(log: MatchLog, pairs: Pairs, quality: Floats) -> Floats:
    """Return (entries,) the mean quality of the pairs of each entry's side."""
    sides = np.concatenate([pairs.first, pairs.second])
    met = np.bincount(sides, minlength=log.num_teams)
    total = np.bincount(sides, np.tile(quality, 2), log.num_teams)
    return (total / met)[log.entry_team]


def favourites_of(log: MatchLog, qualities: Qualities) -> Record:
    """Compare the scores of favourites with the expected ones: lower if the matcher knows more.

    Returns:
        The number of ``pairs`` of sides with a favourite, their mean ``stated`` (expected) and
        ``scored`` scores, where a draw counts half, the ``difference`` and its ``verdict``.
    """
    block = blocks_of(log.num_games)[qualities.pairs.game]
    has_favourite = qualities.favour != 0.0
    if not has_favourite.any():
        return Record(pairs=0, stated=UNKNOWN, scored=UNKNOWN, difference=UNKNOWN, verdict="")
    score = 0.5 + 0.5 * np.sign(qualities.favour) * qualities.pairs.outcome
    scored = block_values(score, has_favourite, block)
    stated = block_values(0.5 + 0.5 * np.abs(qualities.favour), has_favourite, block)
    difference = paired_difference(scored, stated)
    (verdict,) = verdicts([difference], stated.size)
    return Record(
        pairs=int(has_favourite.sum()),
        stated=estimate(stated),
        scored=estimate(scored),
        difference=difference,
        verdict=verdict,
    )


def effective_blocks(mask: Masks, block: Integers) -> int:
    """Return the effective number of blocks of masked values: (sum n)^2 / sum n^2, rounded."""
    below = np.bincount(block[mask], minlength=1)
    return round(below.sum() ** 2 / max(1, below @ below))


def block_values(values: Floats, mask: Masks, block: Integers) -> Floats:
    """Return a value for each block; their mean is that of the masked values, with its error.

    This is the delta method, as in ``ratio_of_means``, since blocks hold different numbers of
    values. ``values``, ``mask`` and ``block``, the block of each value, have the same shape.
    """
    blocks = int(block[-1]) + 1
    above = np.bincount(block[mask], values[mask], blocks)
    below = np.bincount(block[mask], minlength=blocks)
    mean = above.sum() / below.sum()
    return mean + (above - mean * below) / below.mean()


def _quality(pairs: Pairs, mean: Floats, variance: Floats, noise: Floats) -> Floats:
    """Return the quality of pairs, from mean, variance and noise of each side."""
    sigma = np.sqrt(0.5 * pairs.sum(variance))
    beta = np.sqrt(0.5 * pairs.sum(noise))
    return match_quality(pairs.gap(mean), sigma, 0.0, sigma, beta)


def _strangers(log: MatchLog, seed: int) -> Pairs:
    """Return pairs of each side of the log with ``DEALS`` random ones."""
    rng = np.random.default_rng(seed)
    first = np.tile(np.arange(log.num_teams), DEALS)
    second = np.concatenate([rng.permutation(log.num_teams) for _ in range(DEALS)])
    player = log.player[log.team_start[:-1]]
    differ = player[first] != player[second]
    no_outcome = np.zeros(differ.sum(), dtype=np.int8)
    return Pairs(first[differ], second[differ], first[differ], no_outcome)
