"""The ranking of named items: record results, choose pairs, decide when to stop."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from matchenv.baselines.ranking import UNSURE
from matchenv.belief.joint import FITTED, NOBODY, Results
from matchenv.envs.ranking import ORDER, TOP, places_of, stopping_loss
from matchenv.ranking.arguments import game_rows, rows_of, with_names
from matchenv.ranking.batches import Batch, Sides
from matchenv.ranking.dense import DenseBelief, Goal
from matchenv.ranking.fit_check import FitCheck, checked_fit
from matchenv.ranking.games import Game, GameTable, IndexedGame
from matchenv.ranking.leaderboard import Ranked, places_by_draws
from matchenv.ranking.model import FAR, MOST_MIXED_ITEMS, Model, estimated, sigma_mixture
from matchenv.ranking.options import DENSE_ITEMS, OPTIONS, checked_options, first_model
from matchenv.ranking.simulation import interval_of, simulated_games
from matchenv.ranking.sparse import SparseBelief
from matchenv.ranking.state_file import RankerState, content_of, state_of
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import (
    as_choice,
    as_flag,
    as_integer,
    as_non_negative_number,
    as_number,
    as_share,
    elements_of,
    refusal,
)
from matchenv.runtime.files import read_json, write_bytes
from matchenv.trueskill.normal import normal_density, normal_probability

Pair = tuple[str, str]

# With more items than this the belief is fitted again only after a growth of the games by a
# twentieth; games in between are learned one by one.
EXACT_ITEMS = 300
GROWTH = 1.05

# Tolerance of the dense belief of more than ``DENSE_ITEMS`` items, see ``fit_joint``.
MANY_FITTED = 1e-3

MOST_SIMULATIONS = 99  # of ``games_needed``

# sigma / beta from which intervals are too narrow while items have few games.
WIDE = 5.0
# Win probability between equals of the first item from which its advantage is worth a warning.
LARGE_ADVANTAGE = 0.55

NORMAL_95 = 1.959963984540054


class GamesNeeded(NamedTuple):
    """Median and 80 % interval of the games until the goal is settled; 1,000,000 means or more."""

    games: int
    low: int
    high: int


class Advantage(NamedTuple):
    """Advantage of the item that is named first; the interval has 95 % probability.

    Attributes:
        mean: posterior mean, in skill points.
        low: lower end of the interval.
        high: upper end of the interval.
        win_probability: probability that the first of two equal items wins, at the mean, without
            draws.
    """

    mean: float
    low: float
    high: float
    win_probability: float


class Ranker:
    """Ranking of items from pairwise games that are chosen to settle a goal quickly.

    The belief does not depend on the order of the games. With more than 300 items, games since the
    last fit are learned in their order, and the belief is fitted again when their number has grown
    by a twentieth. With more than 2,000 items and the goal ``"top"`` or ``"best"``, covariances are
    kept for the items above the cut only; see ``matchenv.ranking.sparse``.

    Args:
        items: at least two distinct names; at most 10,000, or 200,000 with ``goal="top"`` and a k
            of at most 100, or with ``goal="best"``.
        beta: standard deviation of one performance around skill, > 0.
        sigma: prior standard deviation of a skill, > 0; None to estimate it from the games.
        draw_margin: performances no further apart are a draw; 0 for games without draws; None to
            estimate it from the games.
        first_advantage: prior standard deviation of the advantage of the item that is named first,
            for example by a judge who prefers what he sees first; 0 for none.
        goal: ``"order"``, ``"top"`` (the best ``k`` in any order) or ``"best"``.
        k: number of items at the top; required by ``goal="top"``.
        seed: decides who is named first where sides are balanced.

    Raises:
        ValueError: for a bad argument.
    """

    def __init__(
        self,
        items: Iterable[str],
        *,
        beta: float = 1.0,
        sigma: float | None = None,
        draw_margin: float | None = None,
        first_advantage: float = 0.0,
        goal: str = ORDER,
        k: int | None = None,
        seed: int = 0,
    ) -> None:
        names = elements_of(items) or []
        if len(names) < 2:
            raise refusal("items must be at least two names", items)
        options = {
            "beta": beta,
            "sigma": sigma,
            "draw_margin": draw_margin,
            "first_advantage": first_advantage,
            "goal": goal,
            "k": k,
            "seed": seed,
        }
        self._index = with_names({}, names)
        self._options = checked_options(options, len(self._index))
        self._table = GameTable()
        self._clusters: dict[str, int] = {}
        self._retired: set[int] = set()
        self._barred: set[tuple[int, int]] = set()
        self._first_counts: Counter[tuple[int, int]] = Counter()
        self._balance: Counter[int] = Counter()
        # Values that are in use: given or estimated.
        self._model = first_model(self._options)
        self._belief: DenseBelief | SparseBelief | None = None
        self._fitted_games = 0
        self._learned_games = 0
        self._estimated_games = -1
        self._mixture: list[Model] = []  # values of sigma, if it is estimated

    # Items, games and options.

    @property
    def items(self) -> list[str]:
        """Names in the order in which they were added."""
        return list(self._index)

    @property
    def retired(self) -> list[str]:
        """Names of retired items."""
        return [name for name, index in self._index.items() if index in self._retired]

    @property
    def games(self) -> list[Game]:
        """Recorded games in order."""
        names = self.items
        clusters: list[str | None] = [*self._clusters, None]
        games: list[Game] = []
        for i, j, outcome, advantage, cluster in self._table.games:
            games.append(Game(names[i], names[j], outcome, advantage == 0, clusters[cluster]))
        return games

    @property
    def num_games(self) -> int:
        """Number of recorded games."""
        return len(self._table)

    @property
    def goal(self) -> str:
        """The goal."""
        return str(self._options["goal"])

    @property
    def k(self) -> int:
        """Number of items at the top."""
        return int(self._options["k"] or 1)

    @property
    def beta(self) -> float:
        """Standard deviation of one performance."""
        return self._model.beta

    @property
    def first_advantage(self) -> float:
        """Prior standard deviation of the advantage of the first item; 0 for none."""
        return self._model.first_advantage

    @property
    def sigma(self) -> float:
        """Prior standard deviation of a skill, given or estimated."""
        self._current()
        return self._model.sigma

    @property
    def draw_margin(self) -> float:
        """The draw margin, given or estimated."""
        self._current()
        return self._model.draw_margin

    @property
    def estimates_sigma(self) -> bool:
        """Whether ``sigma`` is estimated from the games."""
        return self._options["sigma"] is None

    @property
    def barred_pairs(self) -> list[Pair]:
        """Pairs that ``next_pairs`` never chooses; can be set."""
        names = self.items
        return [(names[i], names[j]) for i, j in sorted(self._barred)]

    @barred_pairs.setter
    def barred_pairs(self, pairs: Iterable[Pair]) -> None:
        barred: set[tuple[int, int]] = set()
        for a, b in rows_of("barred_pairs", "(a, b)", pairs):
            i, j = self._pair(a, b)
            barred.add((min(i, j), max(i, j)))
        self._barred = barred

    def set_options(self, **options: Any) -> None:
        """Change options of the constructor: beta, sigma, draw_margin, first_advantage, goal, k.

        Raises:
            ValueError: for an unknown option, a bad value, and a draw margin of 0 with draws among
                the games; nothing is changed.
        """
        for name in options:
            as_choice("option", name, OPTIONS)
        changed = {**self._options, **options}
        if "goal" in options and "k" not in options and options["goal"] != TOP:
            changed["k"] = None
        changed = checked_options(changed, len(self._index))
        if changed["draw_margin"] == 0.0 and self._table.draws:
            rule = "draw_margin must be above 0 with draws among the games"
            raise refusal(rule, changed["draw_margin"])
        self._options = changed
        self._model = first_model(changed)
        self._table.forget_results()
        self._estimated_games = -1
        self._mixture = []
        self._belief = None

    def add(self, *items: str) -> None:
        """Add items whose skills have the prior distribution.

        Raises:
            ValueError: for a name that is empty, not a string or already in use, and for too many
                items; nothing is changed.
        """
        index = with_names(self._index, items)
        self._options = checked_options(self._options, len(index))
        self._index = index
        self._table.forget_results()
        self._belief = None

    def retire(self, item: str) -> None:
        """Keep an item's games, but choose no new ones; the goal no longer includes it.

        Raises:
            ValueError: for an unknown item, and if fewer than two items, or no more than ``k``,
                would be left.
        """
        index = self._item("item", item)
        left = len(self._index) - len(self._retired | {index})
        if left < 2 or left <= self.k:
            raise ValueError(
                f"item must leave at least {max(2, self.k + 1)} items that are not retired, "
                f"got {item!r}, which leaves {left}"
            )
        self._retired.add(index)

    def record(
        self, a: str, b: str, outcome: int, *, neutral: bool = False, cluster: str | None = None
    ) -> None:
        """Add one game to the belief.

        Args:
            a: the item that was named first, or played at home.
            b: another item.
            outcome: +1 if a won, -1 if b won, 0 for a draw.
            neutral: whether nobody was first; matters only with ``first_advantage``.
            cluster: name of what the game shares with others, for example a prompt: games of one
                cluster are not independent, and intervals become wider.

        Raises:
            ValueError: for unknown or equal items, another outcome, or a draw with
                ``draw_margin=0``; nothing is changed.
        """
        self.record_games([(a, b, outcome, neutral, cluster)])

    def record_games(self, games: Iterable[tuple[Any, ...]]) -> None:
        """Record games; equal to repeated calls of ``record``, but faster.

        Args:
            games: ``Game`` or other tuples ``(a, b, outcome)``, perhaps with ``neutral`` and
                ``cluster``.

        Raises:
            ValueError: if ``record`` would refuse one of the games; nothing is changed.
        """
        checked = [self._checked_game(*row) for row in game_rows(games)]
        for i, j, outcome, advantage, cluster in checked:
            number = NOBODY
            if cluster is not None:
                number = self._clusters.setdefault(cluster, len(self._clusters))
            self._table.add(IndexedGame(i, j, outcome, advantage, number))
            self._first_counts[i, j] += 1
            self._balance[i] += 1
            self._balance[j] -= 1

    def remove(self, index: int) -> Game:
        """Remove a game by its index in ``games``, and return it.

        Raises:
            ValueError: for an index outside ``games``.
        """
        last = len(self._table) - 1
        if last < 0:
            raise refusal("index must be that of a game; there are none", index)
        index = as_integer("index", index, -last - 1, last)
        game = self.games[index]
        i, j, *_ = self._table.remove(index)
        self._first_counts[i, j] -= 1
        self._balance[i] -= 1
        self._balance[j] += 1
        self._belief = None
        return game

    # The belief.

    @property
    def belief(self) -> tuple[Floats, Floats]:
        """Posterior means, shape (n,), and covariances, shape (n, n), of the skills.

        They are relative to the mean of the items.

        Raises:
            ValueError: if the covariances are not kept, see the class.
        """
        belief = self._dense("belief")
        means = belief.means.copy()
        items = belief.total_covariance
        shared = items.mean(axis=0)
        return means, items - shared - shared[:, np.newaxis] + shared.mean()

    @property
    def advantage(self) -> Advantage | None:
        """Advantage of the item that is named first; None without ``first_advantage``."""
        if self._options["first_advantage"] == 0.0:
            return None
        mean, deviation = self._current().advantage
        scale = math.sqrt(2.0) * self._model.beta
        return Advantage(
            mean,
            mean - NORMAL_95 * deviation,
            mean + NORMAL_95 * deviation,
            float(normal_probability(mean / scale)),
        )

    @property
    def keeps_covariances(self) -> bool:
        """Whether all covariances are kept, see the class."""
        return isinstance(self._current(), DenseBelief)

    @property
    def cluster_deviation(self) -> float:
        """Estimated standard deviation of an item's effect within a cluster, in skill points."""
        belief = self._current()
        if not isinstance(belief, DenseBelief):
            return 0.0
        return math.sqrt(belief.effect_variance)

    @property
    def elo_per_skill(self) -> float:
        """Elo points of one skill point: expected scores of an even game have equal slopes.

        Elo's expected score is 1 / (1 + 10^(-d / 400)), with slope log(10) / 1600 at 0. A draw
        counts half.
        """
        self._current()
        scale = math.sqrt(2.0) * self._model.beta
        slope = normal_density(self._model.draw_margin / scale) / scale
        return 1600.0 / math.log(10.0) * float(slope)

    def fit(self) -> None:
        """Estimate ``sigma`` and ``draw_margin`` again, if they are not given, and fit the belief.

        This happens without a call when the number of games has grown by a twentieth.
        """
        self._estimated_games = -1
        self._fit()

    def warnings(self) -> list[str]:
        """Return what makes the ranking doubtful, in sentences; see ``check`` for the fit."""
        belief = self._current()
        messages: list[str] = []
        small = isinstance(belief, DenseBelief) and len(self._index) <= DENSE_ITEMS
        if not self.estimates_sigma and self._table.games and small:
            messages += self._sigma_warning()
        if self._model.beta * WIDE <= self._model.sigma:
            messages.append(
                f"beta={self._model.beta:.3g} is a fifth of sigma={self._model.sigma:.3g} or less: "
                "95 % intervals of items with few games cover less"
            )
        advantage = self.advantage
        if advantage is not None:
            strong = abs(advantage.win_probability - 0.5) > LARGE_ADVANTAGE - 0.5
            if strong and (advantage.low > 0.0 or advantage.high < 0.0):
                messages.append(
                    "the item named first wins "
                    f"{100.0 * advantage.win_probability:.0f} % between equals: "
                    f"its advantage is {advantage.mean:+.2f} [{advantage.low:+.2f}, "
                    f"{advantage.high:+.2f}], which skills do not include"
                )
        return messages

    def _sigma_warning(self) -> list[str]:
        results = self._results()
        sites = self._table.sites()
        best = estimated(
            self._model, results, sites, len(self._index), sigma=True, draw_margin=False
        )
        there = best.fit(results, sites, len(self._index)).log_evidence
        here = self._model.fit(results, sites, len(self._index)).log_evidence
        if there - here <= FAR:
            return []
        return [
            f"sigma={self._model.sigma:.3g} is far from what the games say, {best.sigma:.3g}: "
            "intervals and the stopping rule depend on it"
        ]

    def check(self) -> FitCheck:
        """Return whether the games look as the model expects: upsets and cycles.

        A small p-value is evidence against one skill for each item: games that follow the model
        have one of at most 0.05 in 5 % of logs. The check uses the games among the 100 best items.

        Raises:
            ValueError: without games, and if the covariances are not kept, see the class.
        """
        if not self._table.games:
            raise ValueError("check needs games, there are none")
        return checked_fit(self._table, self._dense("check"), self.items)

    # The goal.

    def next_pairs(
        self,
        count: int = 1,
        pending: Iterable[Pair] = (),
        indifference: float = 0.0,
        *,
        disjoint: bool = False,
    ) -> list[Pair]:
        """Choose the pairs that should play next, each given the ones before it.

        A batch is spread: a pair is repeated only if no other one has half of its score.

        The first item of a pair should be named first. Sides are balanced: first within the pair,
        then over all games of each item, then by chance.

        Args:
            count: number of pairs, >= 1.
            pending: pairs whose games are still running.
            indifference: see ``is_settled``; fewer games go to nearly equal items.
            disjoint: whether an item plays one game at a time, as people do. There are then fewer
                pairs if too few items are free. Pairs that do not count for the goal follow by the
                variance of their difference.

        Returns:
            The pairs; fewer than ``count`` if all others are barred, retired or not free.

        Raises:
            ValueError: for a count below 1, and for pending pairs that are not two items.
        """
        count = as_integer("count", count, 1)
        disjoint = as_flag("disjoint", disjoint)
        goal = self._goal(indifference)
        running = [self._pair(a, b) for a, b in rows_of("pending", "(a, b)", pending)]
        sides = Sides(self._first_counts, self._balance, int(self._options["seed"]))
        belief = self._current().copy()
        active = self._active()
        batch = Batch(belief, goal, active, self._barred, sides, disjoint=disjoint)
        for i, j in running:
            batch.add_running(i, j)
        names = self.items
        return [(names[i], names[j]) for i, j in batch.chosen(count)]

    def ranking(self, reference: str | None = None, reference_elo: float = 0.0) -> list[Ranked]:
        """Return the items by decreasing posterior mean, retired ones last.

        Places and ``top`` are estimated from 4,000 posterior draws, with more than 2,000 items from
        200; equal beliefs get equal draws.

        Args:
            reference: item whose skill is 0; None for the mean of the items.
            reference_elo: Elo points of the reference, or of the mean.

        Raises:
            ValueError: for an unknown reference.
        """
        anchor = None if reference is None else self._item("reference", reference)
        level = as_number("reference_elo", reference_elo)
        belief = self._current()
        means = belief.means.copy()
        if anchor is not None:
            means -= means[anchor]
        deviations = np.sqrt(belief.variances(anchor))
        reach = NORMAL_95 * deviations
        active = self._active()
        places = places_by_draws(belief, active, self.k)
        games = self._table.games_of_items(len(self._index))
        scale = self.elo_per_skill
        columns = (
            means,
            deviations,
            means - reach,
            means + reach,
            level + scale * means,
            level + scale * (means - reach),
            level + scale * (means + reach),
            places.best,
            places.worst,
            places.top,
            games,
        )
        rows = list(zip(self.items, *(column.tolist() for column in columns), strict=True))
        order = active[np.argsort(-means[active], kind="stable")]
        ranked = [Ranked(place, *rows[i]) for place, i in enumerate(order.tolist(), start=1)]
        retired = sorted(self._retired, key=lambda i: -means[i])
        return ranked + [Ranked(0, *rows[i]) for i in retired]

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
        every game. The reserve of a fifth is for skills that are not normal. The rule trusts the
        model; ``check`` and ``warnings`` say whether games contradict it.

        Args:
            confidence: in [0, 1].
            indifference: difference of skills that does not matter, >= 0. With 0, equal items are
                settled after many games, in an arbitrary order.
        """
        return not self._open(confidence, indifference).size

    def games_needed(self, confidence: float = 0.95, indifference: float = 0.0) -> GamesNeeded:
        """Estimate the number of further games until the goal is settled.

        Simulates ``next_pairs`` and games between skills drawn from the belief, 99 times with up to
        20 open items, fewer times with more. See ``is_settled`` for the arguments.

        Raises:
            ValueError: if the covariances are not kept, see the class.
        """
        if self.is_settled(confidence, indifference):
            return GamesNeeded(0, 0, 0)
        belief = self._dense("games_needed")
        bound = stopping_loss(confidence)
        goal = self._goal(indifference)
        # Items without an open pair need no more games.
        items = np.unique(self._open(1.0 - 0.01 * (1.0 - confidence), indifference))
        active = self._active()
        places = np.empty(len(self._index), dtype=np.int64)
        places[active] = places_of(belief.means[active])
        cut = int(np.count_nonzero(places[items] < goal.cut))
        pairs = np.stack(np.triu_indices(items.size, 1), axis=1)
        game = pairs, self._model.noise, (cut, goal.indifference)
        covariance = np.ascontiguousarray(belief.covariance[np.ix_(items, items)])
        simulations = max(9, min(MOST_SIMULATIONS, 2_000 // items.size))
        # Other luck after other numbers of games, so that errors do not repeat.
        first_key = 1 + self.num_games * MOST_SIMULATIONS
        keys = np.arange(first_key, first_key + simulations, dtype=np.uint64)
        counts = simulated_games(belief.means[items], covariance, game, bound, keys)
        low, high = interval_of(counts, 0.2)
        return GamesNeeded(round(float(np.median(counts))), low, high)

    # Files.

    def save(self, path: str | Path) -> None:
        """Write options, items and games to a JSON file atomically."""
        write_bytes(Path(path), self.content())

    def content(self) -> bytes:
        """Return the content of the file of ``save``."""
        self._current()
        state = RankerState(
            options=self._options,
            items=self.items,
            retired=sorted(self._retired),
            barred_pairs=sorted(self._barred),
            clusters=list(self._clusters),
            games=self._table.games,
            sigma=self._model.sigma,
            draw_margin=self._model.draw_margin,
            estimated_games=self._estimated_games,
        )
        return content_of(state)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Restore a ranker from a file of ``save``.

        Raises:
            OSError: if the file cannot be read.
            ValueError: for a damaged file, one of another version, or one of another kind; names
                the file.
        """
        content = read_json(Path(path))
        try:
            return cls._restored(state_of(content))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} must be a file that Ranker.save wrote: {error}") from None

    @classmethod
    def _restored(cls, state: RankerState) -> Self:
        names = state.items
        ranker = cls(names, **state.options)
        ranker._barred = set(state.barred_pairs)
        for index in state.retired:
            ranker.retire(names[index])
        clusters: list[str | None] = [*state.clusters, None]
        games: list[Game] = []
        for i, j, outcome, advantage, cluster in state.games:
            games.append(Game(names[i], names[j], outcome, advantage == 0, clusters[cluster]))
        ranker.record_games(games)
        ranker._model = replace(ranker._model, sigma=state.sigma, draw_margin=state.draw_margin)
        ranker._estimated_games = state.estimated_games
        return ranker

    # Internals.

    def _item(self, name: str, item: Any) -> int:
        if not isinstance(item, str) or item not in self._index:
            raise refusal(f"{name} must be an item of the ranking", item)
        return self._index[item]

    def _pair(self, a: Any, b: Any) -> tuple[int, int]:
        i = self._item("a", a)
        j = self._item("b", b)
        if i == j:
            raise ValueError(f"b must be another item than a, got {b!r} twice")
        return i, j

    def _checked_game(
        self, a: Any, b: Any, outcome: Any, neutral: Any = False, cluster: Any = None
    ) -> tuple[int, int, int, int, str | None]:
        i, j = self._pair(a, b)
        result = as_integer("outcome", outcome, -1, 1)
        if result == 0 and self._options["draw_margin"] == 0.0:
            rule = "outcome must be 1 or -1 with draw_margin=0"
            raise ValueError(f"{rule}, got 0 for {a!r} against {b!r}")
        if cluster is not None and not isinstance(cluster, str):
            raise refusal("cluster must be a name or None", cluster)
        return i, j, result, 0 if as_flag("neutral", neutral) else 1, cluster

    def _active(self) -> Integers:
        active = np.arange(len(self._index))
        if self._retired:
            active = np.delete(active, list(self._retired))
        return active

    def _goal(self, indifference: float) -> Goal:
        cut = 0 if self.goal == ORDER else self.k
        return Goal(cut, as_non_negative_number("indifference", indifference))

    def _current(self) -> DenseBelief | SparseBelief:
        """Return the belief from all games, fitted or updated if there are new ones."""
        games = len(self._table)
        if self._belief is None:
            self._fit()
        elif self._learned_games < games:
            small = len(self._index) <= EXACT_ITEMS
            if small or self._needs_margin or games >= GROWTH * self._fitted_games:
                self._fit()
            else:
                for game in self._table.games[self._learned_games :]:
                    self._belief.learn(game)
                self._learned_games = games
        assert self._belief is not None
        return self._belief

    def _fit(self) -> None:
        games = len(self._table)
        num_items = len(self._index)
        many = num_items > DENSE_ITEMS
        sparse = many and self.goal != ORDER
        if games >= GROWTH * self._estimated_games or self._needs_margin:
            estimates_margin = self._options["draw_margin"] is None
            if many:
                self._model = SparseBelief.estimated(
                    self._model,
                    self._table,
                    num_items,
                    sigma=self.estimates_sigma,
                    draw_margin=estimates_margin,
                )
            else:
                self._model = estimated(
                    self._model,
                    self._results(),
                    self._table.sites(),
                    num_items,
                    sigma=self.estimates_sigma,
                    draw_margin=estimates_margin,
                )
            self._estimated_games = games
            self._mixture = []
        tolerance = FITTED
        if many:  # a round of the dense belief takes long: it starts at the sites of the sparse one
            sparse_belief = SparseBelief(num_items, self._model, self.k)
            sparse_belief.fit(self._table)
            self._belief = sparse_belief
            tolerance = MANY_FITTED
        if not sparse:
            mixes = self.estimates_sigma and games > 0 and num_items <= MOST_MIXED_ITEMS
            if mixes and not self._mixture:
                self._mixture = sigma_mixture(
                    self._model, self._results(), self._table.sites(), num_items
                )
            dense_belief = DenseBelief(num_items, self._model)
            dense_belief.fit(self._table, self._mixture, tolerance)
            self._belief = dense_belief
        self._fitted_games = games
        self._learned_games = games

    @property
    def _needs_margin(self) -> bool:
        """Whether the first draw was recorded since the last estimate."""
        return self._model.draw_margin == 0.0 and self._table.draws > 0

    def _results(self) -> Results:
        has_advantage = self._model.has_advantage
        return self._table.results(len(self._index), has_advantage=has_advantage)

    def _dense(self, what: str) -> DenseBelief:
        belief = self._current()
        if not isinstance(belief, DenseBelief):
            raise ValueError(
                f"{what} needs all covariances: at most {DENSE_ITEMS:,} items, or goal='order', "
                f"got {len(self._index):,} items"
            )
        return belief

    def _open(self, confidence: float, indifference: float) -> Integers:
        """Return the indices of the ``unsettled`` pairs, shape (U, 2)."""
        bound = stopping_loss(as_share("confidence", confidence))
        goal = self._goal(indifference)
        pairs, scores = self._current().scores(UNSURE, goal, self._active())
        doubts = np.maximum(scores, 0.0)
        order = np.argsort(-doubts, kind="stable")
        count = np.count_nonzero(np.cumsum(doubts[order[::-1]]) > bound)
        return pairs[order[:count]]
