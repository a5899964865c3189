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

    ``parameters`` are those of the replay and the smoothing, ``seed`` is for random pairs of sides.

    Source: Herbrich, Minka, Graepel (2006), section 4.2; Dangauthier et al. (2008).
    """
    beta, draws = parameters["beta"], parameters["draw_probability"]
    pairs = log.pairs
    games = games_of(log, Model(**parameters))
    share = games.weight
    noise = beta * beta * log.team_sums(share * share)
    ahead = np.zeros(log.num_teams)
    ahead[log.game_start[:-1]] = games.advantage
    lead, players = pairs.gap(ahead), pairs.sum(log.team_size)

    def likelihood(gap: Floats, variance: Floats) -> Floats:
        """Return the probability of each pair's outcome, for these performance differences."""
        stated = gaussian_log_probabilities(gap, variance, players, beta, draws)
        return np.exp(-log_losses(stated, pairs.outcome))

    log_probability = gaussian_log_probabilities(
        pairs.gap(replay.team_mean), pairs.sum(replay.team_variance), players, beta, draws
    )
    before = replay.team_mean - ahead, replay.team_variance - noise
    rest, after = (
        (log.team_sums(share * mu), log.team_sums((share * sigma) ** 2))
        for mu, sigma in ((smoothed.rest_mu, smoothed.rest_sigma), (smoothed.mu, smoothed.sigma))
    )
    gap, variance, both = pairs.gap(rest[0]), pairs.sum(rest[1]), pairs.sum(noise)
    # The product of belief and quality is a normal, shrunk towards 0.
    shrink = both / (variance + both)
    numerator = likelihood(gap * shrink + lead, variance * shrink + both)
    hindsight = _quality(pairs, *rest, noise) * numerator
    strangers = _quality(_strangers(log, seed), *after, noise)
    probability = np.exp(log_probability)
    return Qualities(
        pairs=pairs,
        believed=_quality(pairs, *before, noise),
        hindsight=hindsight / likelihood(gap + lead, variance + both),
        strangers=float(strangers.mean()) if strangers.size else float("nan"),
        favour=probability[:, 0] - probability[:, 2],
    )


def groups_of(log: MatchLog, skill: Floats) -> dict[str, Masks]:
    """Return masks by group of players: (entries,), whether a participation belongs to the group.

    ``skill`` is (entries,) in hindsight; its tenths are of all participations.
    """
    newcomer = pd.Series(log.player).groupby(log.player).cumcount().to_numpy() < NEWCOMER_GAMES
    limits = np.quantile(skill, np.arange(1, DECILES) / DECILES)
    decile = np.searchsorted(limits, skill)
    masks = (np.ones_like(newcomer), newcomer, ~newcomer, *(decile == k for k in range(DECILES)))
    return dict(zip(GROUPS, masks, strict=True))


def group_evenness(
    log: MatchLog, found: Qualities, skill: Floats, *, judged: bool = True
) -> list[Record]:
    """Return the evenness of the games of each group of players.

    Intervals are over blocks of consecutive games. They describe other games of the same kind, at
    the estimated parameters and skills; ``skill`` is (entries,) in hindsight.

    Returns:
        For each ``group`` that played in enough blocks: its participations, ``parts``; its match
        quality, ``believed`` before the games and in ``hindsight``; the ``difference`` of the
        latter from that of all players, and its ``verdict``.
    """
    sides = np.concatenate([found.pairs.first, found.pairs.second])
    met = np.bincount(sides, minlength=log.num_teams)
    believed, hindsight = (
        (np.bincount(sides, np.tile(quality, 2), log.num_teams) / met)[log.entry_team]
        for quality in (found.believed, found.hindsight)
    )
    block = blocks_of(log.num_games)[log.entry_game]
    masks = groups_of(log, skill)
    everyone = block_values(hindsight, masks[GROUPS[0]], block)
    rows, counts = [], []
    for group, mask in masks.items():
        count = effective_blocks(mask, block)
        if count >= LEAST_BLOCKS:
            counts.append(count)
            mine = block_values(hindsight, mask, block)
            rows.append(Record(
                group=group,
                parts=int(mask.sum()),
                believed=estimate(block_values(believed, mask, block), count),
                hindsight=estimate(mine, count),
                difference=UNKNOWN if group == GROUPS[0] else estimate(mine - everyone, count),
            ))  # fmt: skip
    words = verdicts([row.difference for row in rows], counts)
    return [Record(row, verdict=word if judged else "")
            for row, word in zip(rows, words, strict=True)]  # fmt: skip


def favourites_of(log: MatchLog, found: Qualities) -> Record:
    """Compare the scores of favourites with the expected ones: lower if the matcher knows more.

    Returns:
        The number of ``pairs`` of sides with a favourite, their mean ``stated`` (expected) and
        ``scored`` scores, where a draw counts half, the ``difference`` and its ``verdict``.
    """
    block = blocks_of(log.num_games)[found.pairs.game]
    some = found.favour != 0.0
    if not some.any():
        return Record(pairs=0, stated=UNKNOWN, scored=UNKNOWN, difference=UNKNOWN, verdict="")
    scored = block_values(0.5 + 0.5 * np.sign(found.favour) * found.pairs.outcome, some, block)
    stated = block_values(0.5 + 0.5 * np.abs(found.favour), some, block)
    difference = paired_difference(scored, stated)
    (verdict,) = verdicts([difference], stated.size)
    return Record(pairs=int(some.sum()), stated=estimate(stated), scored=estimate(scored),
                  difference=difference, verdict=verdict)  # fmt: skip


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
    other = player[first] != player[second]
    return Pairs(first[other], second[other], first[other], np.zeros(other.sum(), dtype=np.int8))
