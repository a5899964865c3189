"""Rank named items by games of two: record games, ask which pair plays next and when to stop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.ranking import KNOWLEDGE, UNSURE, pair_scores
from matchenv.belief.joint import BLOCK, expect_joint, learn_joint
from matchenv.envs.ranking import ORDER, TOP, RankingSettings, places_of
from matchenv.runtime.checks import as_integer, as_non_negative_number, as_share
from matchenv.runtime.compile import compiled
from matchenv.runtime.files import json_bytes, read_json, write_bytes
from matchenv.runtime.random import normal, normals

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Pair = tuple[str, str]

VERSION = 1
DRAWS = 4000  # of all skills, for ranks: a share of 0.95 is good to 0.004
MOST_GAMES = 1_000_000  # beyond these an estimate of the games needed is no use
NEAR = 0.5  # of the best score: pairs with as much are played together in a future
HOPELESS = 5.0  # mistakes expected even after as many; a confidence of 0.95 allows 0.05
OPTIONS = ("beta", "sigma", "draw_margin", "goal", "k")


class Ranked(NamedTuple):
    """An item in the ranking; intervals have 95 % probability.

    Attributes:
        place: 1 for the largest mean.
        item: its name.
        mean: of the belief about its skill.
        deviation: standard deviation of that belief.
        low: lower end of the interval of the skill.
        high: upper end.
        best_place: upper end of the interval of the true place.
        worst_place: lower end.
        top: probability of being among the best k.
        games: that it played.
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
    """Games until the goal is settled: the median, and an interval of 80 % probability.

    1,000,000 stands for as many or more.
    """

    games: int
    low: int
    high: int


class Ranker:
    """Items ranked by games of two, each pair chosen to settle a goal with few games.

    Args:
        items: names, at least two, each once.
        beta: standard deviation of one performance around skill, > 0.
        sigma: standard deviation of the prior of a skill, > 0.
        draw_margin: performances no further apart are a draw; 0: no draws.
        goal: ``"order"``, ``"top"`` (the best ``k``, in any order) or ``"best"``.
        k: items at the top, below the number of items; needed with ``goal="top"``.

    Raises:
        ValueError: for a bad argument; names it and what is allowed.
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
        names = list(items) if isinstance(items, Iterable) else []
        if isinstance(items, str) or len(names) < 2:
            raise ValueError(f"items must be at least two names, got {items!r}")
        if goal == TOP and k is None:
            raise ValueError("k must be given with goal='top', got None")
        self.settings = RankingSettings(
            num_items=len(names), beta=beta, sigma=sigma, draw_margin=draw_margin, goal=goal,
            k=1 if k is None else k,
        )  # fmt: skip
        self._place: dict[str, int] = {}
        self._games: list[tuple[int, int, int]] = []
        self._mu, self._covariance = np.zeros(0), np.zeros((0, 0))
        self._join(names)

    @property
    def items(self) -> list[str]:
        """The names, in the order in which they were added."""
        return list(self._place)

    @property
    def num_games(self) -> int:
        """Games recorded."""
        return len(self._games)

    def add(self, item: str) -> None:
        """Add an item, at any time; its skill is drawn from the prior.

        Raises:
            ValueError: for a name that is empty, no text or already there.
        """
        self._join([item])

    def record(self, a: str, b: str, outcome: int) -> None:
        """Learn from a game.

        Args:
            a: an item.
            b: another.
            outcome: +1 if a won, -1 if b won, 0 for a draw.

        Raises:
            ValueError: for unknown or equal items, another outcome, or a draw without a draw
                margin; nothing is changed then.
        """
        self.record_games([(a, b, outcome)])

    def record_games(self, games: Iterable[tuple[str, str, int]]) -> None:
        """Learn from games as ``record`` does one after another, much faster with many items.

        Args:
            games: arguments of ``record`` for each.

        Raises:
            ValueError: as ``record``, for any of the games; nothing is changed then.
        """
        checked = list[tuple[int, int, int]]()
        for game in games:
            try:
                a, b, outcome = game
            except (TypeError, ValueError):
                raise ValueError(f"games must hold (a, b, outcome), got {game!r}") from None
            i, j = self._pair(a, b)
            checked.append((i, j, as_integer("outcome", outcome, -1, 1)))
            if checked[-1][2] == 0 and self.settings.draw_margin == 0.0:
                raise ValueError("outcome must be 1 or -1 with draw_margin=0, got 0")
        for first in range(0, len(checked), BLOCK):
            block = checked[first : first + BLOCK]
            learn_joint(self._mu, self._covariance, np.array(block), self.settings.noise)
            self._games += block

    def next_pairs(
        self, count: int = 1, pending: Iterable[Pair] = (), indifference: float = 0.0
    ) -> list[Pair]:
        """Return the pairs that should play next, each in view of those before it.

        Args:
            count: pairs, >= 1.
            pending: pairs whose games are under way.
            indifference: as ``is_settled``; saves games of items that may as well be equal.

        Raises:
            ValueError: for a count below 1, and for pending pairs of other than two items.
        """
        covariance, names, found = self._covariance.copy(), self.items, list[Pair]()
        goal = self.settings.cut, as_non_negative_number("indifference", indifference)
        noise = self.settings.noise
        for pair in pending:
            try:
                a, b = pair
            except (TypeError, ValueError):
                raise ValueError(f"pending must hold pairs of items, got {pair!r}") from None
            expect_joint(self._mu, covariance, self._pair(a, b), noise)
        for _ in range(as_integer("count", count, 1)):
            scores = pair_scores(KNOWLEDGE, self._mu, covariance, self._pairs, noise, goal, 1.0)
            i, j = self._pairs[scores.argmax()].tolist()
            found.append((names[i], names[j]))
            expect_joint(self._mu, covariance, (i, j), noise)
        return found

    def ranking(self) -> list[Ranked]:
        """Return the items, the largest mean first; ranks are of 4,000 draws from the belief."""
        draws = self._drawn(DRAWS)
        places = np.argsort(np.argsort(-draws, axis=1), axis=1) + 1
        best, worst = np.quantile(places, [0.025, 0.975], axis=0, method="inverted_cdf")
        top = np.mean(places <= self.settings.k, axis=0)
        deviation = np.sqrt(np.diagonal(self._covariance))
        low, high = self._mu - 1.96 * deviation, self._mu + 1.96 * deviation
        games = np.bincount([i for *pair, _ in self._games for i in pair], minlength=len(self._mu))
        columns = (self._mu, deviation, low, high, best, worst, top, games)
        rows = list(zip(self.items, *(each.tolist() for each in columns), strict=True))
        order = np.argsort(-self._mu, kind="stable").tolist()
        return [Ranked(place, *rows[i]) for place, i in enumerate(order, start=1)]

    def unsettled(self, confidence: float = 0.95, indifference: float = 0.0) -> list[Pair]:
        """Return the pairs of the goal whose order is still open, the least sure first.

        All other pairs together are misordered with a probability of at most 1 - confidence.

        Args:
            confidence: probability that what is called settled is right, in [0, 1].
            indifference: difference of skills that does not matter, >= 0.
        """
        names = self.items
        return [(names[i], names[j]) for i, j in self._open(confidence, indifference).tolist()]

    def is_settled(self, confidence: float = 0.95, indifference: float = 0.0) -> bool:
        """Return whether the goal is settled; may be asked after every game.

        It is when the expected number of misordered pairs of the goal is at most 1 - confidence.
        That number is at least the probability of any mistake, and the belief's probabilities
        hold at every time at which one may stop: so a wrong ranking is called settled with a
        probability of at most 1 - confidence, however often one asks.

        Args:
            confidence: in [0, 1].
            indifference: difference of skills that does not matter, >= 0. Without one, the order
                of two equal items is never settled.
        """
        return not self._open(confidence, indifference).size

    def games_needed(self, confidence: float = 0.95, indifference: float = 0.0) -> GamesNeeded:
        """Estimate how many games more settle the goal.

        The numbers are of up to 99 futures, fewer with more than 20 items. To the belief, its own
        means are random walks: games take off its covariance what they add to that of the means.
        So a future needs no true skills and no outcomes; pairs are chosen by the rule, with the
        same indifference, and their games count as normal measurements. Arguments are those of
        ``is_settled``.
        """
        if self.is_settled(confidence, indifference):
            return GamesNeeded(0, 0, 0)
        bound, noise = 1.0 - confidence, self.settings.noise
        # Items without an open pair need no more games.
        items = np.unique(self._open(1.0 - 0.01 * bound, indifference))
        cut = np.count_nonzero(places_of(self._mu)[items] < self.settings.cut)
        goal, pairs = (cut, float(indifference)), np.stack(np.triu_indices(items.size, 1), axis=1)
        mu, covariance = self._mu[items], self._covariance[np.ix_(items, items)]
        # No game tells s_i - s_j better than a measurement of precision 1 / (pi beta^2).
        variance, skills = np.diagonal(covariance), normals(np.array([0], np.uint64), 0, 0, mu.size)
        after = variance / (1.0 + variance * 2.0 * MOST_GAMES / (mu.size * np.pi * noise[0] ** 2))
        skills = mu + np.sqrt(variance) * skills[0]
        doubts = pair_scores(UNSURE, skills, np.diag(after), pairs, noise, goal)
        if doubts[doubts > 0.0].sum() > HOPELESS:
            return GamesNeeded(MOST_GAMES, MOST_GAMES, MOST_GAMES)
        futures = 10 * max(1, min(10, 200 // items.size)) - 1
        counts = [
            games_until(mu.copy(), covariance.copy(), pairs, noise, goal, bound, key)
            for key in np.arange(1, futures + 1, dtype=np.uint64)
        ]
        # With 10 m - 1 futures, these are some of them, and the interval has 80 % exactly.
        low, middle, high = np.quantile(counts, [0.1, 0.5, 0.9], method="weibull").tolist()
        return GamesNeeded(round(middle), round(low), round(high))

    def save(self, path: str | Path) -> None:
        """Write options, items and games to one JSON file, whole or not at all."""
        write_bytes(Path(path), self.content())

    def content(self) -> bytes:
        """Return what ``save`` writes."""
        options = {name: getattr(self.settings, name) for name in OPTIONS}
        state = {"version": VERSION, **options, "items": self.items, "games": self._games}
        return json_bytes(state, checked=True)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the ranker that ``save`` wrote.

        Raises:
            OSError: if the file cannot be read.
            ValueError: for a file of something else, or a damaged one; names the file.
        """
        state, known = read_json(Path(path)), {"version", "items", "games", *OPTIONS}
        try:
            if not isinstance(state, Mapping) or state.keys() != known:
                raise ValueError(f"it must hold {', '.join(sorted(known))}")
            as_integer("version", state["version"], VERSION, VERSION)
            names = state["items"]
            ranker = cls(names, **{name: state[name] for name in OPTIONS})
            last = len(names) - 1
            ranker.record_games(
                (names[as_integer("game", i, 0, last)], names[as_integer("game", j, 0, last)], won)
                for i, j, won in state["games"]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} must be a file that Ranker.save wrote: {error}") from None
        return ranker

    def _join(self, names: Sequence[str]) -> None:
        old, places = len(self._place), dict(self._place)
        for name in names:
            if not isinstance(name, str) or not name or name in places:
                raise ValueError(f"item must be a new name, got {name!r}")
            places[name] = len(places)
        self.settings = replace(self.settings, num_items=len(places))
        self._place, self._pairs = places, self.settings.pairs
        covariance = self.settings.sigma**2 * np.eye(len(places))
        covariance[:old, :old] = self._covariance
        self._mu, self._covariance = np.pad(self._mu, (0, len(names))), covariance

    def _pair(self, a: str, b: str) -> tuple[int, int]:
        for name, item in (("a", a), ("b", b)):
            if not isinstance(item, str) or item not in self._place:
                raise ValueError(f"{name} must be an item of the ranking, got {item!r}")
        if a == b:
            raise ValueError(f"b must be another item than a, got {b!r} twice")
        return self._place[a], self._place[b]

    def _drawn(self, count: int) -> Floats:
        """Return draws of all skills from the belief, shape (count, n); equal beliefs, equal."""
        belief, rng = (self._mu, self._covariance), np.random.default_rng(0)
        return rng.multivariate_normal(*belief, count, check_valid="ignore", method="eigh")

    def _open(self, confidence: float, indifference: float) -> Integers:
        """Return the items of the pairs that ``unsettled`` names, shape (U, 2)."""
        bound = 1.0 - as_share("confidence", confidence)
        goal = self.settings.cut, as_non_negative_number("indifference", indifference)
        belief = self._mu, self._covariance, self._pairs, self.settings.noise
        doubts = np.maximum(pair_scores(UNSURE, *belief, goal), 0.0)
        order = np.argsort(-doubts, kind="stable")
        count = np.count_nonzero(np.cumsum(doubts[order[::-1]]) > bound)
        pairs: Integers = self._pairs[order[:count]]
        return pairs


@compiled(nogil=True)
def games_until(
    mu: Floats,
    covariance: Floats,
    pairs: Integers,
    noise: tuple[float, float],
    goal: tuple[int, float],
    bound: float,
    key: np.uint64,
) -> int:
    """Return the games after which one future of a belief is settled, at most ``MOST_GAMES``.

    They are played in rounds of pairs without a common item. Each has one game, or as many as a
    tenth of those before and as are worth a tenth of the precision with which its difference is
    known; with more than 100 items, a share of n / 1000.

    Args:
        mu: means, shape (n,); changed.
        covariance: shape (n, n); changed.
        pairs: shape (P, 2).
        noise: as ``pair_scores``.
        goal: as ``pair_scores``.
        bound: expected number of misordered pairs at which the goal is settled.
        key: of the future's random numbers.
    """
    total, step, share = 0.0, 0, min(1.0, max(0.1, mu.size / 1000.0))
    while total < MOST_GAMES:
        doubts = pair_scores(UNSURE, mu, covariance, pairs, noise, goal, 0.0)
        if np.maximum(doubts, 0.0).sum() <= bound:
            break
        scores = pair_scores(KNOWLEDGE, mu, covariance, pairs, noise, goal, NEAR)
        near = np.flatnonzero(scores >= NEAR * scores.max())
        free = np.ones(mu.size, np.bool_)
        for p in near[np.argsort(-scores[near], kind="mergesort")]:
            i, j = pairs[p]
            if free[i] and free[j]:
                free[i], free[j] = False, False
                luck = normal(key, 1, step)
                total += expect_joint(mu, covariance, (i, j), noise, share, share * total, luck)
                step += 1
    return int(min(total, MOST_GAMES))
