"""Rank named items by games of two: record games, ask which pair plays next and when to stop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from matchenv.baselines.ranking import KNOWLEDGE, pair_scores
from matchenv.belief.joint import difference_variance, game_precision, learn_joint, narrow
from matchenv.envs.ranking import ORDER, TOP, RankingSettings, places_of
from matchenv.runtime.checks import as_integer, as_non_negative_number, as_share
from matchenv.runtime.files import json_bytes, read_json, write_bytes

Floats = NDArray[np.float64]
Pair = tuple[str, str]

VERSION = 1
DRAWS = 4000  # of all skills, for ranks: a share of 0.95 is good to 0.004
MOST_GAMES = 1_000_000  # beyond these an estimate of the games needed is no use
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
        names = [items] if isinstance(items, str) else list(items)
        if len(names) < 2:
            raise ValueError(f"items must be at least two names, got {names!r}")
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
        i, j = self._pair(a, b)
        result = as_integer("outcome", outcome, -1, 1)
        if result == 0 and self.settings.draw_margin == 0.0:
            raise ValueError("outcome must be 1 or -1 with draw_margin=0, got 0")
        learn_joint(self._mu, self._covariance, (i, j), result, self.settings.noise)
        self._games.append((i, j, result))

    def next_pairs(self, count: int = 1, pending: Iterable[Pair] = ()) -> list[Pair]:
        """Return the pairs that should play next, each in view of those before it.

        Args:
            count: pairs, >= 1.
            pending: pairs whose games are under way.

        Raises:
            ValueError: for a count below 1, and for pending pairs of other than two items.
        """
        covariance, names, found = self._covariance.copy(), self.items, list[Pair]()
        for pair in pending:
            try:
                a, b = pair
            except (TypeError, ValueError):
                raise ValueError(f"pending must hold pairs of items, got {pair!r}") from None
            self._expect(self._mu, covariance, self._pair(a, b), 1)
        for _ in range(as_integer("count", count, 1)):
            i, j = self._pairs[self._scores(self._mu, covariance).argmax()].tolist()
            found.append((names[i], names[j]))
            self._expect(self._mu, covariance, (i, j), 1)
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
        doubts = self._doubts(self._mu, self._covariance, indifference)
        order = np.argsort(-doubts, kind="stable")
        bound = 1.0 - as_share("confidence", confidence)
        count = np.count_nonzero(np.cumsum(np.sort(doubts)) > bound)
        names = self.items
        return [(names[i], names[j]) for i, j in self._pairs[order[:count]].tolist()]

    def is_settled(self, confidence: float = 0.95, indifference: float = 0.0) -> bool:
        """Return whether the goal is settled; may be asked after every game.

        It is when the expected number of misordered pairs of the goal is at most 1 - confidence.
        That number is at least the probability of any mistake, and the belief's probabilities
        hold at every time at which one may stop: so a ranking that was called settled is wrong
        with a probability of at most 1 - confidence, however often one asks.

        Args:
            confidence: in [0, 1].
            indifference: difference of skills that does not matter, >= 0. Without one, the order
                of two equal items is never settled.
        """
        return not self.unsettled(confidence, indifference)

    def games_needed(self, confidence: float = 0.95, indifference: float = 0.0) -> GamesNeeded:
        """Estimate how many games more settle the goal.

        For each of 20 draws of all skills from the belief, fewer with more than 50 items, games are
        chosen by the rule and shrink the belief's covariance as is expected of them, while the
        means are those of the draw. Arguments are those of ``is_settled``.
        """
        if self.is_settled(confidence, indifference):
            return GamesNeeded(0, 0, 0)
        bound, skills = 1.0 - confidence, self._drawn(max(3, min(20, 1000 // len(self._mu))))
        counts = [max(1, self._games_for(each, bound, indifference)) for each in skills]
        middle, low, high = np.quantile(counts, [0.5, 0.1, 0.9], method="inverted_cdf").tolist()
        return GamesNeeded(middle, low, high)

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
            for *pair, outcome in state["games"]:
                a, b = (names[as_integer("game", each, 0, len(names) - 1)] for each in pair)
                ranker.record(a, b, outcome)
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

    def _scores(self, mu: Floats, covariance: Floats) -> Floats:
        game = self._pairs, self.settings.noise, self.settings.cut
        scores: Floats = pair_scores(KNOWLEDGE, mu, covariance, *game)
        return scores

    def _expect(self, mu: Floats, covariance: Floats, pair: tuple[int, int], games: int) -> None:
        """Shrink a covariance as games of a pair are expected to."""
        spread = difference_variance(covariance, *pair)
        precision = games * game_precision(mu[pair[0]] - mu[pair[1]], spread, self.settings.noise)
        narrow(covariance, pair, precision / (1.0 + precision * spread))

    def _drawn(self, count: int) -> Floats:
        """Return draws of all skills from the belief, shape (count, n); equal beliefs, equal."""
        belief, rng = (self._mu, self._covariance), np.random.default_rng(0)
        return rng.multivariate_normal(*belief, count, check_valid="ignore", method="eigh")

    def _doubts(self, mu: Floats, covariance: Floats, indifference: float) -> Floats:
        """Return P(misordered by more than the indifference) of each pair, 0 where none counts."""
        margin = as_non_negative_number("indifference", indifference)
        i, j = self._pairs.T
        variance = np.diagonal(covariance)[i] + np.diagonal(covariance)[j] - 2.0 * covariance[i, j]
        doubts: Floats = ndtr(-(np.abs(mu[i] - mu[j]) + margin) / np.sqrt(variance))
        above, cut = places_of(mu) < self.settings.cut, self.settings.cut
        return doubts if cut == 0 else doubts * (above[i] != above[j])

    def _games_for(self, skills: Floats, bound: float, indifference: float) -> int:
        """Return the games after which skills would be settled, in rounds that grow by a fifth."""
        covariance, total = self._covariance.copy(), 0
        while total < MOST_GAMES:
            if self._doubts(skills, covariance, indifference).sum() <= bound:
                break
            scores = self._scores(skills, covariance)
            near = np.flatnonzero(scores >= 0.5 * scores.max())
            busy, chosen = set[int](), list[tuple[int, int]]()
            for i, j in self._pairs[near[np.argsort(-scores[near], kind="stable")]].tolist():
                if not {i, j} & busy:
                    chosen.append((i, j))
                    busy |= {i, j}
            each = max(1, total // (5 * len(chosen)))
            for pair in chosen:
                self._expect(skills, covariance, pair, each)
            total += each * len(chosen)
        return min(total, MOST_GAMES)
