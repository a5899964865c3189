"""How even the games of a log were: as believed before each game, and in hindsight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.evaluation.estimates import UNKNOWN, Estimate, estimate, paired_difference
from matchenv.evaluation.queue_measures import DECILES, GROUPS
from matchenv.evaluation.verdicts import known_verdicts
from matchenv.logs import SmoothedLog, TrueSkillReplay
from matchenv.logs.fitting import blocks_of
from matchenv.logs.forecasts import Pairs, gaussian_log_probabilities, pairs_of_sides
from matchenv.logs.games import advantages_of
from matchenv.logs.match_log import MatchLog
from matchenv.trueskill import match_quality

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Whoever has played fewer games of the log than this is a newcomer in the next one.
NEWCOMER_GAMES = 10

# Times that all sides are dealt out anew, for the quality of games between strangers.
DEALS = 10


@dataclass(frozen=True)
class Qualities:
    """Match quality of every pair of sides that met, and how well favourites did.

    A quality is that of the skills alone: the matcher chooses players, and not who is at home.

    Attributes:
        pairs: the pairs of sides.
        believed: (pairs,) mean match quality by the beliefs before the game.
        hindsight: (pairs,) mean match quality by what the whole log says, the game included.
        strangers: mean quality, in hindsight, if sides of the log met at random.
        stated: (pairs,) score that was expected of the favourite before the game, a draw counting
            half; NaN where nobody was the favourite.
        scored: (pairs,) what the favourite scored.
    """

    pairs: Pairs
    believed: Floats
    hindsight: Floats
    strangers: float
    stated: Floats
    scored: Floats


@dataclass(frozen=True)
class GroupEvenness:
    """How even the games of a group of players were.

    Attributes:
        group: one of ``GROUPS``.
        parts: times that one of them played.
        believed: mean match quality before the games.
        hindsight: mean match quality in hindsight.
        difference: hindsight less that of all players.
        verdict: ``ahead`` or ``behind`` all players, ``undecided``, or nothing for all of them.
    """

    group: str
    parts: int
    believed: Estimate
    hindsight: Estimate
    difference: Estimate
    verdict: str


@dataclass(frozen=True)
class Favourites:
    """Whether favourites won as often as was believed.

    Attributes:
        pairs: pairs of sides with a favourite.
        stated: mean score that was expected of them.
        scored: what they scored.
        difference: scored less stated.
        verdict: ``ahead``: they won more than was believed; ``behind``: less; or ``undecided``.
    """

    pairs: int
    stated: Estimate
    scored: Estimate
    difference: Estimate
    verdict: str


def qualities_of(
    log: MatchLog,
    replay: TrueSkillReplay,
    smoothed: SmoothedLog,
    parameters: Mapping[str, float],
    seed: int = 0,
) -> Qualities:
    """Match quality of each pair of sides, before its game and in hindsight.

    Eq. (6) of the 2011 paper with a deviation of 0 is the quality between known skills; with a
    belief's deviation it is the mean of that over the belief. So both columns are estimates of
    the same thing. In hindsight it is the mean over the skills given the other games and this
    one's result, in closed form: the quality is a normal density of the gap, and so is the belief.

    Args:
        log: the games.
        replay: of the log with these parameters.
        smoothed: the same, with ``rest_mu`` and ``rest_sigma``.
        parameters: arguments of ``replay_trueskill`` by name.
        seed: deals out the sides anew.

    Source: Herbrich, Minka, Graepel (2006), section 4.2; Dangauthier et al. (2008).
    """
    beta, draws = parameters["beta"], parameters["draw_probability"]
    pairs = pairs_of_sides(log.game_start, log.rank)
    share = member_shares(log, parameters["team_exponent"])
    noise = beta * beta * _sides(log, share * share)
    ahead = np.zeros(log.num_teams)
    ahead[log.game_start[:-1]] = advantages_of(log, parameters["advantage"])
    lead = ahead[pairs.first] - ahead[pairs.second]
    players = log.team_size

    log_probability = gaussian_log_probabilities(
        pairs, replay.team_mean, replay.team_variance, players, beta, draws
    )
    before = replay.team_mean - ahead, replay.team_variance - noise
    rest = _sides(log, share * smoothed.rest_mu), _sides(log, (share * smoothed.rest_sigma) ** 2)
    after = _sides(log, share * smoothed.mu), _sides(log, (share * smoothed.sigma) ** 2)

    gap, variance, both = _between(*rest, noise, pairs)
    likely = _outcome_probability(pairs, gap + lead, variance + both, players, beta, draws)
    # The belief times the quality is a normal again, nearer to 0 and narrower.
    nearer = both / (variance + both)
    likelier = _outcome_probability(
        pairs, gap * nearer + lead, variance * nearer + both, players, beta, draws
    )
    stated, scored = _favourites(np.exp(log_probability), pairs.outcome)
    return Qualities(
        pairs=pairs,
        believed=_quality(*_between(*before, noise, pairs)),
        hindsight=_quality(gap, variance, both) * likelier / likely,
        strangers=_between_strangers(log, *after, noise, seed),
        stated=stated,
        scored=scored,
    )


def member_shares(log: MatchLog, team_exponent: float) -> Floats:
    """(entries,) what each performance counts in the strength of its side."""
    size = log.team_size[log.entry_team].astype(np.float64)
    weight = np.ones(size.size) if log.weight is None else log.weight
    shares: Floats = weight * size**-team_exponent
    return shares


def earlier_games(log: MatchLog) -> Integers:
    """(entries,) games of the log that the entry's player had played before."""
    order = np.argsort(log.player, kind="stable")
    first = np.flatnonzero(np.diff(log.player[order], prepend=-1))
    earlier = np.empty(len(order), dtype=np.int64)
    sizes = np.diff(np.append(first, len(order)))
    earlier[order] = np.arange(len(order)) - np.repeat(first, sizes)
    return earlier


def groups_of(log: MatchLog, skill: Floats) -> dict[str, NDArray[np.bool_]]:
    """Which parts in games are of which group of players.

    Args:
        log: the games.
        skill: (entries,) the skill of the entry's player at that game, in hindsight.

    Returns:
        (entries,) for each of ``GROUPS``; the tenths are of all parts in games, by skill.
    """
    newcomer = earlier_games(log) < NEWCOMER_GAMES
    limits = np.quantile(skill, np.arange(1, DECILES) / DECILES)
    decile = np.searchsorted(limits, skill)
    masks = (np.ones_like(newcomer), newcomer, ~newcomer, *(decile == k for k in range(DECILES)))
    return dict(zip(GROUPS, masks, strict=True))


def group_evenness(log: MatchLog, found: Qualities, skill: Floats) -> list[GroupEvenness]:
    """Evenness of the games of each group of players, those that played at all.

    Intervals are over blocks of consecutive games. They say how other games of the same kind
    could differ; the parameters and the players' skills are taken as they were estimated.

    Args:
        log: the games.
        found: their qualities.
        skill: as ``groups_of``.
    """
    pairs = found.pairs
    met = np.bincount(pairs.first, minlength=log.num_teams)
    met += np.bincount(pairs.second, minlength=log.num_teams)
    team = log.entry_team
    block = blocks_of(log.num_games)[log.team_game[team]]

    def of_entries(quality: Floats) -> Floats:
        sums = np.bincount(pairs.first, quality, log.num_teams)
        sums += np.bincount(pairs.second, quality, log.num_teams)
        shares: Floats = (sums / met)[team]
        return shares

    believed, hindsight = of_entries(found.believed), of_entries(found.hindsight)
    masks = groups_of(log, skill)
    everyone = block_values(hindsight, masks[GROUPS[0]], block)
    rows = []
    for group, mask in masks.items():
        if mask.any():
            mine = block_values(hindsight, mask, block)
            rows.append(
                (
                    group,
                    int(mask.sum()),
                    estimate(block_values(believed, mask, block)),
                    estimate(mine),
                    UNKNOWN if group == GROUPS[0] else paired_difference(mine, everyone),
                )
            )
    said = known_verdicts([row[-1] for row in rows], everyone.size)
    return [GroupEvenness(*row, word) for row, word in zip(rows, said, strict=True)]


def favourites_of(log: MatchLog, found: Qualities) -> Favourites:
    """Whether favourites won as often as was believed; a matcher that knows more makes it less."""
    block = blocks_of(log.num_games)[found.pairs.game]
    some = np.isfinite(found.stated)
    if not some.any():
        return Favourites(0, UNKNOWN, UNKNOWN, UNKNOWN, "")
    stated, scored = (
        block_values(np.where(some, each, 0.0), some, block)
        for each in (found.stated, found.scored)
    )
    difference = paired_difference(scored, stated)
    (verdict,) = known_verdicts([difference], stated.size)
    return Favourites(int(some.sum()), estimate(stated), estimate(scored), difference, verdict)


def block_values(values: Floats, mask: NDArray[np.bool_], block: Integers) -> Floats:
    """A number for each block, whose mean is that of the masked values and whose error is its.

    The delta method's, as in ``ratio_of_means``: blocks hold different numbers of values.

    Args:
        values: (n,).
        mask: (n,), which of them count; at least one.
        block: (n,), the block of each.
    """
    blocks = int(block[-1]) + 1
    above = np.bincount(block[mask], values[mask], blocks)
    below = np.bincount(block[mask], minlength=blocks)
    mean = above.sum() / below.sum()
    spread: Floats = mean + (above - mean * below) / below.mean()
    return spread


def _sides(log: MatchLog, values: Floats) -> Floats:
    """(teams,), sums over the members of each side."""
    sums: Floats = np.add.reduceat(values, log.team_start[:-1])
    return sums


def _between(
    mean: Floats, variance: Floats, noise: Floats, pairs: Pairs
) -> tuple[Floats, Floats, Floats]:
    """Gap of the skills of each pair, its variance, and the variance of their performances."""
    first, second = pairs.first, pairs.second
    return (
        mean[first] - mean[second],
        variance[first] + variance[second],
        noise[first] + noise[second],
    )


def _quality(gap: Floats, variance: Floats, noise: Floats) -> Floats:
    sigma = np.sqrt(0.5 * variance)
    quality: Floats = match_quality(gap, sigma, 0.0, sigma, np.sqrt(0.5 * noise))
    return quality


def _outcome_probability(
    pairs: Pairs, gap: Floats, variance: Floats, players: Integers, beta: float, draws: float
) -> Floats:
    """(pairs,), how likely what happened was, for performances this far apart."""
    count = gap.size
    apart = Pairs(np.arange(count), np.arange(count, 2 * count), pairs.game, pairs.outcome)
    nothing = np.zeros(count)
    log_probability = gaussian_log_probabilities(
        apart,
        np.concatenate((gap, nothing)),
        np.concatenate((variance, nothing)),
        np.concatenate((players[pairs.first], players[pairs.second])),
        beta,
        draws,
    )
    column = 1 - pairs.outcome.astype(np.int64)
    return np.exp(np.take_along_axis(log_probability, column[:, None], axis=1)[:, 0])


def _favourites(probability: Floats, outcome: NDArray[np.int8]) -> tuple[Floats, Floats]:
    ahead = np.sign(probability[:, 0] - probability[:, 2])
    stated = 0.5 + 0.5 * np.abs(probability[:, 0] - probability[:, 2])
    return np.where(ahead == 0.0, np.nan, stated), 0.5 + 0.5 * ahead * outcome


def _between_strangers(
    log: MatchLog, mean: Floats, variance: Floats, noise: Floats, seed: int
) -> float:
    """Mean quality if each side of the log met another one of the log, drawn at random."""
    rng = np.random.default_rng(seed)
    first = np.tile(np.arange(log.num_teams), DEALS)
    second = np.concatenate([rng.permutation(log.num_teams) for _ in range(DEALS)])
    player = log.player[log.team_start[:-1]]
    other = player[first] != player[second]
    if not other.any():
        return float("nan")
    dealt = Pairs(first[other], second[other], first[other], np.zeros(other.sum(), dtype=np.int8))
    return float(_quality(*_between(mean, variance, noise, dealt)).mean())
