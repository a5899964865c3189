"""The one loop that plays a policy through episodes, side by side."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from matchenv.belief import DEFAULT_BELIEF
from matchenv.episodes import Episodes
from matchenv.games_played import GamesPlayed
from matchenv.instance import GivenInstance
from matchenv.play import REPORT_ROWS
from matchenv.runtime.checks import as_actions
from matchenv.runtime.compile import compiled
from matchenv.settings import Settings
from matchenv.threads import AUTO, as_num_threads

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# True skills of all players at the time of a choice, shape (B, M + 1).
TrueSkills = Callable[[], Floats]

# Makes a policy for episodes with these settings; what knows the truth asks the function for it.
PolicyMaker = Callable[[Settings, TrueSkills], Any]

# What is known of each game, and so can be kept of an episode.
MEASURES = (*REPORT_ROWS, "win_ratio")

# And what the environment pays, which may be a reward of the user's own.
REWARD = "reward"


# Deviation of a belief that was told player 0's skill: next to none.
TOLD_SIGMA = 1e-3


def belief_of(policy: Any) -> str:
    """The belief that a policy reads; a stranger's that says nothing reads the default."""
    return str(getattr(policy, "belief", DEFAULT_BELIEF))


class Batch:
    """Episodes that are played side by side, each from a seed of its own.

    Args:
        settings: of all of them.
        seeds: one for each episode.
        told_skill: the belief starts with player 0's true skill, all but certain; players and
            noise are the same.

    Threads share the games where that pays, as ``num_threads="auto"`` of an environment.

    Attributes:
        episodes: their state.
    """

    def __init__(
        self, settings: Settings, seeds: Sequence[int], *, told_skill: bool = False
    ) -> None:
        threads = as_num_threads(AUTO, len(seeds), settings.num_opponents)
        self.episodes = Episodes(settings, len(seeds), threads)
        self._generators = [np_random(seed)[0] for seed in seeds]
        self._waiting = np.zeros(len(seeds), dtype=np.bool_)
        rows = np.arange(len(seeds))
        self.episodes.begin(rows, self._generators)
        if told_skill:
            mu, sigma, skill = self.episodes.players.transpose(2, 0, 1).copy()
            mu[:, 0], sigma[:, 0] = skill[:, 0], TOLD_SIGMA
            self._generators = [np_random(seed)[0] for seed in seeds]
            self.episodes.begin(rows, self._generators, GivenInstance(mu, sigma, skill))

    def __len__(self) -> int:
        return len(self._generators)

    def play(self, actions: Any) -> GamesPlayed:
        """Play one game in each episode.

        Args:
            actions: shape (B,), integers in [0, M).

        Raises:
            ValueError: for actions of a wrong shape or type, out of range or of opponents who are
                offline.
        """
        opponents = as_actions(actions, len(self), self.episodes.settings.num_opponents)
        self.episodes.check_online(opponents)
        self.episodes.draw_more_noise(self._generators)
        return self.episodes.play(opponents, self._waiting)


class Decisions:
    """A policy that is asked before each game, with a clock.

    A policy with ``act`` reads knowledge states in float64, any other observations, through
    the ``predict`` of stable-baselines3.

    Args:
        policy: who chooses.
        rng: for a policy with ``act`` that is stochastic.

    Attributes:
        count: choices that were timed: all but the first, which may compile or load.
        seconds: what they took.
    """

    def __init__(self, policy: Any, rng: np.random.Generator | None = None) -> None:
        self.count, self.seconds = 0, 0.0
        self._policy, self._rng = policy, rng
        self._acts = callable(getattr(policy, "act", None))
        self._takes_masks = _takes_masks(policy.act if self._acts else policy.predict)
        self._memory: Any = None
        self._first = True

    def of(self, batches: Sequence[Batch]) -> list[Any]:
        """Actions for the episodes of each batch; what reads observations is asked once."""
        sizes = [len(batch) for batch in batches]
        start = time.perf_counter()
        if self._acts:
            actions = [self._act(batch.episodes) for batch in batches]
        else:
            observations = np.concatenate([batch.episodes.observation for batch in batches])
            masks = [self._masks(batch.episodes) for batch in batches]
            among = {key: np.concatenate([m[key] for m in masks]) for key in masks[0]}
            chosen, self._memory = self._policy.predict(
                observations,
                self._memory,
                np.full(len(observations), self._first),
                deterministic=True,
                **among,
            )
            actions = np.split(np.asarray(chosen), np.cumsum(sizes)[:-1])
        if not self._first:
            self.seconds += time.perf_counter() - start
            self.count += sum(sizes)
        self._first = False
        return actions

    def _act(self, episodes: Episodes) -> Integers:
        left = episodes.settings.horizon - episodes.games_played
        chosen: Integers = self._policy.act(
            episodes.knowledge_state(copy=False), left, self._rng, **self._masks(episodes)
        )
        return chosen

    def _masks(self, episodes: Episodes) -> dict[str, NDArray[np.bool_]]:
        """Who can be chosen, for a policy that can be told and where the pool changes."""
        if episodes.pool is None or not self._takes_masks:
            return {}
        return {"action_masks": episodes.pool.online}


def _takes_masks(method: Callable[..., Any]) -> bool:
    """Whether a policy can be told who may be chosen; a stranger's reads it from observations."""
    parameters = inspect.signature(method).parameters
    return "action_masks" in parameters or any(
        each.kind is each.VAR_KEYWORD for each in parameters.values()
    )


def games(decisions: Decisions, batches: Sequence[Batch]) -> Iterator[list[GamesPlayed]]:
    """Play whole episodes.

    Args:
        decisions: the policy.
        batches: fresh ones, of one horizon.

    Yields:
        After each game what it gave in each batch.
    """
    with one_thread():
        for _ in range(batches[0].episodes.settings.horizon):
            yield [
                batch.play(actions)
                for batch, actions in zip(batches, decisions.of(batches), strict=True)
            ]


@dataclass(frozen=True)
class Rollout:
    """What a policy made of a batch of B episodes.

    Attributes:
        sums: sums over the games of W windows of K measures, shape (W, K, B).
        final_squared_error: of the belief about player 0's skill after the last game, (B,).
        curves: sums over episodes of each measure at each game, and sums of squares, shape
            (K, N, 2); of no game where they were not asked for.
        counts: games with each opponent, shape (B, M).
        decisions: choices that were timed.
        seconds: what they took.
    """

    sums: Floats
    final_squared_error: Floats
    curves: Floats
    counts: Integers
    decisions: int
    seconds: float


def rollout(
    make: PolicyMaker,
    settings: Settings,
    seeds: Sequence[int],
    rng: np.random.Generator | None = None,
    *,
    measures: Sequence[str] = MEASURES,
    windows: Mapping[str, slice] | None = None,
    curves: bool = False,
) -> Rollout:
    """Play a policy through a batch of episodes.

    Every policy meets the same instances and the same performance noise: they come from the
    seeds of the episodes, as ``Settings.noise`` says.

    A policy whose ``told_skill`` is true starts from a belief that knows player 0's skill.

    Args:
        make: makes the policy.
        settings: of the episodes, but for the belief, which is the policy's.
        seeds: one for each episode.
        rng: for a stochastic policy.
        measures: out of ``MEASURES``, and ``REWARD``.
        windows: games to sum over, by name; None for all games.
        curves: keep sums over the episodes at each game.
    """
    policy = make(settings, lambda: batch.episodes.true_skill)
    told = bool(getattr(policy, "told_skill", False))
    batch = Batch(replace(settings, belief=belief_of(policy)), seeds, told_skill=told)
    decisions = Decisions(policy, rng)
    horizon = settings.horizon
    chosen = [slice(0, horizon)] if windows is None else windows.values()
    spans = np.array([(span.start, span.stop) for span in chosen])
    rows = np.array([(*MEASURES, REWARD).index(measure) for measure in measures])
    reward = settings.reward_type if REWARD in measures else None
    sums = np.zeros((len(spans), len(rows), len(seeds)))
    at_games = np.zeros((len(rows), horizon if curves else 0, 2))
    counts = np.zeros((len(seeds), settings.num_opponents), dtype=np.int64)
    every = np.arange(len(seeds))
    for n, (played,) in enumerate(games(decisions, [batch])):
        paid = played.draw_density if reward is None else reward.of(played)
        _add_up(n, played.report, played.outcomes, paid, rows, spans, sums, at_games)
        counts[every, played.opponents] += 1
    episodes = batch.episodes
    error = (episodes.mu[:, 0] - episodes.true_skill[:, 0]) ** 2
    return Rollout(sums, error, at_games, counts, decisions.count, decisions.seconds)


@compiled
def _add_up(
    n: int,
    report: Floats,
    outcomes: NDArray[np.int8],
    paid: Floats,
    rows: Integers,
    spans: Integers,
    sums: Floats,
    at_games: Floats,
) -> None:
    """Add game n of each episode to the sums of the windows that it is in, and to the curves."""
    for k in range(rows.size):
        total, squares = 0.0, 0.0
        for b in range(outcomes.size):
            if rows[k] < report.shape[0]:
                value = report[rows[k], b]
            elif rows[k] == report.shape[0]:
                value = 0.5 * (1.0 + outcomes[b])
            else:
                value = paid[b]
            for w in range(spans.shape[0]):
                if spans[w, 0] <= n < spans[w, 1]:
                    sums[w, k, b] += value
            total += value
            squares += value * value
        if at_games.shape[1] > 0:
            at_games[k, n, 0], at_games[k, n, 1] = total, squares


def check_can_play(label: str, make: PolicyMaker, settings: Settings) -> None:
    """Let a policy play one game: one that cannot is found before the work begins.

    Baselines, which have ``act``, play any size and are only made: some are slow at large ones.

    Raises:
        ValueError: if it cannot play; names the policy.
    """
    policy = make(settings, lambda: batch.episodes.true_skill)
    # Whatever a stranger's model raises, the user must learn whose it is and of what size.
    try:
        batch = Batch(replace(settings, belief=belief_of(policy)), [0])
        if not callable(getattr(policy, "act", None)):
            next(games(Decisions(policy), [batch]))
    except Exception as error:
        raise ValueError(
            f"policy {label!r} cannot play with num_opponents={settings.num_opponents}: {error}"
        ) from error


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep a network to one thread: with more, its last digits depend on their number.

    Only where a policy has loaded torch; nothing here imports it.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
