"""Ranking of named items from pairwise games: record results, choose pairs, decide when to stop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from matchenv.baselines.ranking import KNOWLEDGE, UNSURE, WIDEST, pair_scores
from matchenv.belief.joint import expect_joint, learn_joint
from matchenv.envs.ranking import ORDER, TOP, Game, RankingSettings, places_of, stopping_loss
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import (
    as_flag,
    as_integer,
    as_non_negative_number,
    as_share,
    elements_of,
    refusal,
)
from matchenv.runtime.compile import compiled
from matchenv.runtime.files import json_bytes, read_json, write_bytes
from matchenv.runtime.random import normal, normals

__all__ = ["GamesNeeded", "Ranked", "Ranker"]

Pair = tuple[str, str]

VERSION = 1
DRAWS = 4000  # posterior draws for places; a probability of 0.95 has an error of 0.004
MOST_GAMES = 1_000_000  # upper limit of estimates
NEAR = 0.5  # pairs with this share of the best score play in the same round of a simulation
HOPELESS = 5.0  # expected misordered pairs after MOST_GAMES for which no simulation is run
OPTIONS = ("beta", "sigma", "draw_margin", "goal", "k")


class Ranked(NamedTuple):
    """A row of a ranking; intervals have 95 % probability under the normal approximation.

    If beta is a fifth of sigma, intervals cover 91 to 93 % of the skills, and those of differences
    81 to 90 %.

    Attributes:
        place: 1 for the largest posterior mean.
        item: name.
        mean: posterior mean of the skill.
        deviation: posterior standard deviation of the skill.
        low: lower end of the interval of the skill.
        high: upper end of the interval of the skill.
        best_place: upper end of the interval of the true place.
        worst_place: lower end of the interval of the true place.
        top: probability of being among the best k.
        games: games played.
    """

    place: int
    item: str
    mean: float
    deviation: float
    low: float
    high: float
    best_place: int
    worst_place: int
    top: float
    games: int


class GamesNeeded(NamedTuple):
    """Median and 80 % interval of the games until the goal is settled; 1,000,000 means or more."""

    games: int
    low: int
    high: int


def ranker_settings(num_items: int, *, k: int | None, **options: Any) -> RankingSettings:
    """Check the options of a ``Ranker`` and return its settings."""
    settings = RankingSettings(num_items=num_items, k=1 if k is None else k, **options)
    if settings.goal == TOP and k is None:
        raise ValueError("k must be given with goal='top', got None")
    return settings


class Ranker:
    """Ranking of items from pairwise games that are chosen to settle a goal quickly.

    Args:
        items: at least two distinct names.
        beta: standard deviation of one performance around skill, > 0.
        sigma: prior standard deviation of a skill, > 0.
        draw_margin: performances no further apart are a draw; 0 for games without draws.
        goal: ``"order"``, ``"top"`` (the best ``k`` in any order) or ``"best"``.
        k: number of items at the top; required by ``goal="top"``.

    Raises:
        ValueError: for a bad argument.
    """

    def __init__(
        self,
        items: Iterable[str],
        *,
        beta: float = 1.0,
        sigma: float = 1.0,
        draw_margin: float = 0.0,
        goal: str = ORDER,
        k: int | None = None,
    ) -> None:
        names = elements_of(items) or []
        if len(names) < 2:
            raise refusal("items must be at least two names", items)
        self.settings = ranker_settings(
            len(names), beta=beta, sigma=sigma, draw_margin=draw_margin, goal=goal, k=k
        )
        self._index: dict[str, int] = {}
        self._games: list[tuple[int, int, int]] = []
        self._mu, self._covariance = np.zeros(0), np.zeros((0, 0))
        self._join(names)

    @property
    def items(self) -> list[str]:
        """Names in the order in which they were added."""
        return list(self._index)

    @property
    def num_games(self) -> int:
        """Number of recorded games."""
        return len(self._games)

    @property
    def belief(self) -> tuple[Floats, Floats]:
        """Posterior means, shape (n,), and covariances, shape (n, n), of the skills."""
        return self._mu.copy(), self._covariance.copy()

    def add(self, item: str) -> None:
        """Add an item whose skill has the prior distribution.

        Raises:
            ValueError: for a name that is empty, not a string or already in use.
        """
        self._join([item])

    def record(self, a: str, b: str, outcome: int) -> None:
        """Update the belief after one game.

        Args:
            a: an item.
            b: another item.
            outcome: +1 if a won, -1 if b won, 0 for a draw.

        Raises:
            ValueError: for unknown or equal items, another outcome, or a draw without a draw
                margin; nothing is changed.
        """
        self.record_games([(a, b, outcome)])

    def record_games(self, games: Iterable[tuple[str, str, int]]) -> None:
        """Record games in order; equal to repeated calls of ``record``, but much faster.

        The order should not depend on the results: shuffle games that are sorted by winner.

        Args:
            games: arguments of ``record`` for each game.

        Raises:
            ValueError: if ``record`` would refuse one of the games; nothing is changed.
        """
        checked = list[tuple[int, int, int]]()
        for a, b, outcome in _rows("games", "(a, b, outcome)", games):
            checked.append((*self._pair(a, b), as_integer("outcome", outcome, -1, 1)))
            if outcome == 0 and self.settings.draw_margin == 0.0:
                rule = "outcome must be 1 or -1 with draw_margin=0"
                raise ValueError(f"{rule}, got 0 for {a!r} against {b!r}")
        for game in checked:
            learn_joint(self._mu, self._covariance, game, self.settings.noise)
            self._games.append(game)

    def next_pairs(
        self,
        count: int = 1,
        pending: Iterable[Pair] = (),
        indifference: float = 0.0,
        *,
        disjoint: bool = False,
    ) -> list[Pair]:
        """Choose the pairs that should play next, each given the ones before it.

        Args:
            count: number of pairs, >= 1.
            pending: pairs whose games are still running.
            indifference: see ``is_settled``; fewer games go to nearly equal items.
            disjoint: whether an item plays one game at a time, as people do. There are then fewer
                pairs if too few items are free. Pairs that do not count for the goal follow by the
                variance of their difference.

        Raises:
            ValueError: for a count below 1, and for pending pairs that are not two items.
        """
        free = np.ones(self.settings.num_items, dtype=np.bool_)
        apart = as_flag("disjoint", disjoint)
        mu, covariance, noise = self._mu, self._covariance.copy(), self.settings.noise
        game = self.settings.game(as_non_negative_number("indifference", indifference))
        for a, b in _rows("pending", "(a, b)", pending):
            i, j = self._pair(a, b)
            expect_joint(mu, covariance, (i, j), noise)
            free[[i, j]] = not apart
        names, chosen = self.items, list[Pair]()
        for _ in range(as_integer("count", count, 1)):
            playable = free[game[0]].all(axis=1)
            if not playable.any():
                break
            # All scores are needed where the best pair may not be free.
            scores = pair_scores(KNOWLEDGE, mu, covariance, game, 0.0 if apart else 1.0)
            if apart and scores[playable].max() < 0.0:  # none counts for the goal
                scores = pair_scores(WIDEST, mu, covariance, game)
            scores[~playable] = -np.inf
            i, j = game[0][scores.argmax()].tolist()
            chosen.append((names[i], names[j]))
            expect_joint(mu, covariance, (i, j), noise)
            free[[i, j]] = not apart
        return chosen

    def ranking(self) -> list[Ranked]:
        """Return the items by decreasing posterior mean.

        Places and ``top`` are estimated from 4,000 posterior draws; equal beliefs get equal draws.
        """
        draws = np.random.default_rng(0).multivariate_normal(
            self._mu, self._covariance, DRAWS, check_valid="ignore", method="eigh"
        )
        places = np.argsort(np.argsort(-draws, axis=1), axis=1) + 1
        best, worst = np.quantile(places, [0.025, 0.975], axis=0, method="inverted_cdf")
        top = np.mean(places <= self.settings.k, axis=0)
        deviation = np.sqrt(np.diagonal(self._covariance))
        low, high = self._mu - 1.96 * deviation, self._mu + 1.96 * deviation
        games = np.bincount([i for *pair, _ in self._games for i in pair], minlength=len(self._mu))
        columns = (self._mu, deviation, low, high, best, worst, top, games)
        rows = list(zip(self.items, *(column.tolist() for column in columns), strict=True))
        order = np.argsort(-self._mu, kind="stable").tolist()
        return [Ranked(place, *rows[i]) for place, i in enumerate(order, start=1)]

    def unsettled(self, confidence: float = 0.95, indifference: float = 0.0) -> list[Pair]:
        """Return the pairs of the goal whose order is still open, the least certain first.

        The expected number of misordered pairs among all others is at most 0.8 (1 - confidence).
        See ``is_settled`` for the arguments.
        """
        names = self.items
        return [(names[i], names[j]) for i, j in self._open(confidence, indifference).tolist()]

    def is_settled(self, confidence: float = 0.95, indifference: float = 0.0) -> bool:
        """Return whether the goal is settled, so that games can stop.

        The goal is settled if the expected number of misordered pairs is at most
        0.8 (1 - confidence). This bounds the posterior probability of any mistake, and posterior
        probabilities are valid at every stopping time. If skills follow the prior, a ranking at
        which games stop is therefore wrong with at most this probability, even with a test after
        every game. The reserve of a fifth is for skills that are not normal.

        Args:
            confidence: in [0, 1].
            indifference: difference of skills that does not matter, >= 0. With 0, equal items are
                settled after many games, in an arbitrary order.
        """
        return not self._open(confidence, indifference).size

    def games_needed(self, confidence: float = 0.95, indifference: float = 0.0) -> GamesNeeded:
        """Estimate the number of further games until the goal is settled.

        The estimate is based on up to 99 simulations of ``next_pairs``, fewer with more than 20
        items. Under the belief, posterior means are random walks whose steps have the covariance
        that a game removes from the posterior, so a simulation needs neither true skills nor
        outcomes. The interval is too narrow for items with few games, whose real steps are not
        normal. See ``is_settled`` for the arguments.
        """
        if self.is_settled(confidence, indifference):
            return GamesNeeded(0, 0, 0)
        bound, noise = stopping_loss(confidence), self.settings.noise
        # Items without an open pair need no more games.
        items = np.unique(self._open(1.0 - 0.01 * (1.0 - confidence), indifference))
        cut = np.count_nonzero(places_of(self._mu)[items] < self.settings.cut)
        pairs = np.stack(np.triu_indices(items.size, 1), axis=1)
        game = pairs, noise, (cut, float(indifference))
        mu, covariance = self._mu[items], self._covariance[np.ix_(items, items)]
        # A game measures s_i - s_j with a precision of at most 1 / (pi beta^2).
        variance, skills = np.diagonal(covariance), normals(np.array([0], np.uint64), 0, 0, mu.size)
        after = variance / (1.0 + variance * 2.0 * MOST_GAMES / (mu.size * np.pi * noise[0] ** 2))
        skills = mu + np.sqrt(variance) * skills[0]
        doubts = pair_scores(UNSURE, skills, np.diag(after), game)
        if doubts[doubts > 0.0].sum() > HOPELESS:
            return GamesNeeded(MOST_GAMES, MOST_GAMES, MOST_GAMES)
        keys = np.arange(1, 10 * max(1, min(10, 200 // items.size)), dtype=np.uint64)
        counts = [games_until(mu.copy(), covariance.copy(), game, bound, key) for key in keys]
        # With 10 m - 1 simulations these quantiles are order statistics.
        low, middle, high = np.quantile(counts, [0.1, 0.5, 0.9], method="weibull").tolist()
        return GamesNeeded(round(middle), round(low), round(high))

    def save(self, path: str | Path) -> None:
        """Write options, items and games to a JSON file atomically."""
        write_bytes(Path(path), self.content())

    def content(self) -> bytes:
        """Return the content of the file of ``save``."""
        options = {name: getattr(self.settings, name) for name in OPTIONS}
        state = {"version": VERSION, **options, "items": self.items, "games": self._games}
        return json_bytes(state, checked=True)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Restore a ranker from a file of ``save``.

        Raises:
            OSError: if the file cannot be read.
            ValueError: for a damaged file or one of another kind; names the file.
        """
        state, known = read_json(Path(path)), {"version", "items", "games", *OPTIONS}
        try:
            if not isinstance(state, Mapping) or state.keys() != known:
                raise ValueError(f"it must hold {', '.join(sorted(known))}")
            as_integer("version", state["version"], VERSION, VERSION)
            names, games = state["items"], _rows("games", "(i, j, outcome)", state["games"])
            if not isinstance(names, list):
                raise refusal("items must be a list", names)
            ranker = cls(names, **{name: state[name] for name in OPTIONS})
            last = len(names) - 1
            ranker.record_games(
                (names[as_integer("game", i, 0, last)], names[as_integer("game", j, 0, last)], won)
                for i, j, won in games
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} must be a file that Ranker.save wrote: {error}") from None
        return ranker

    def _join(self, names: Sequence[str]) -> None:
        old, index = len(self._index), dict(self._index)
        for name in names:
            if not isinstance(name, str) or not name or name in index:
                raise refusal("item must be a new name", name)
            index[name] = len(index)
        self.settings = replace(self.settings, num_items=len(index))
        self._index = index
        covariance = self.settings.sigma**2 * np.eye(len(index))
        covariance[:old, :old] = self._covariance
        self._mu, self._covariance = np.pad(self._mu, (0, len(names))), covariance

    def _pair(self, a: Any, b: Any) -> tuple[int, int]:
        for name, item in (("a", a), ("b", b)):
            if not isinstance(item, str) or item not in self._index:
                raise refusal(f"{name} must be an item of the ranking", item)
        if a == b:
            raise ValueError(f"b must be another item than a, got {b!r} twice")
        return self._index[a], self._index[b]

    def _open(self, confidence: float, indifference: float) -> Integers:
        """Return the indices of the ``unsettled`` pairs, shape (U, 2)."""
        bound = stopping_loss(as_share("confidence", confidence))
        game = self.settings.game(as_non_negative_number("indifference", indifference))
        doubts = np.maximum(pair_scores(UNSURE, self._mu, self._covariance, game), 0.0)
        order = np.argsort(-doubts, kind="stable")
        count = np.count_nonzero(np.cumsum(doubts[order[::-1]]) > bound)
        return game[0][order[:count]]


def _rows(name: str, form: str, values: Any) -> Iterator[tuple[Any, ...]]:
    """Yield tuples of a form, for example ``"(a, b)"``."""
    rows = elements_of(values)
    for value in [values] if rows is None else rows:
        parts = value if type(value) is tuple else tuple(elements_of(value) or ())
        if len(parts) != form.count(",") + 1:
            raise refusal(f"{name} must hold tuples {form}", value)
        yield parts


@compiled
def games_until(mu: Floats, covariance: Floats, game: Game, bound: float, key: np.uint64) -> int:
    """Simulate games until the goal is settled; return their number, at most ``MOST_GAMES``.

    Each round plays disjoint pairs with scores near the best. A pair plays one game, or as many as
    a tenth of all games so far, if they add at most a tenth to the precision of its difference.
    With more than 100 items, the share is n / 1000 in place of a tenth.

    Args:
        mu: posterior means, shape (n,); changed.
        covariance: posterior covariances, shape (n, n); changed.
        game: see ``RankingSettings.game``.
        bound: expected number of misordered pairs at which the goal is settled.
        key: key of the random numbers.
    """
    pairs, noise, _ = game
    total, step, share = 0.0, 0, min(1.0, max(0.1, mu.size / 1000.0))
    while total < MOST_GAMES:
        if np.maximum(pair_scores(UNSURE, mu, covariance, game, 0.0), 0.0).sum() <= bound:
            break
        scores = pair_scores(KNOWLEDGE, mu, covariance, game, NEAR)
        near = np.flatnonzero(scores >= NEAR * scores.max())
        free = np.ones(mu.size, np.bool_)
        for p in near[np.argsort(-scores[near], kind="mergesort")]:
            i, j = pairs[p]
            if free[i] and free[j]:
                free[i] = free[j] = False
                z = normal(key, 1, step)
                total += expect_joint(mu, covariance, (i, j), noise, share, share * total, z)
                step += 1
    return int(min(total, MOST_GAMES))
