"""The loop that plays a policy through episodes of any simulator, side by side."""

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

from matchenv.belief import DEFAULT_BELIEF, MEASURES, TRUE_SKILL
from matchenv.envs import simulator_of
from matchenv.envs.core.settings import Options
from matchenv.envs.core.simulator import Simulator, Step
from matchenv.envs.one_player.settings import Settings
from matchenv.runtime.checks import as_actions
from matchenv.runtime.random import drawn_key

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# True skills of all players at the time of a choice, shape (B, M + 1).
TrueSkills = Callable[[], Floats]

# Makes a policy for episodes with these settings; an oracle asks the function for the truth.
PolicyMaker = Callable[[Settings, TrueSkills], Any]

# Measures of an episode of ``Matchmaking-v0``: those of its games, and the reward.
EPISODE_MEASURES = (*MEASURES, "win_ratio")
REWARD = "reward"

# Deviation of an initial belief that knows player 0's skill.
KNOWN_SIGMA = 1e-3


def belief_of(policy: Any) -> str:
    """Return the belief that a policy reads; third-party policies default to the factorised."""
    return str(getattr(policy, "belief", DEFAULT_BELIEF))


class Batch:
    """Episodes that are played side by side, each from a seed of its own.

    Args:
        simulator: of the episodes, or the settings of an environment.
        seeds: one for each episode: that of ``reset(seed=...)`` of the scalar environment.
        given: as ``options`` of a reset, arrays with one row for each episode.

    Attributes:
        simulator: of the episodes.
        state: of the episodes.
        running: shape (B,), episodes that are not over.
    """

    def __init__(
        self,
        simulator: Simulator[Any] | Options,
        seeds: Sequence[int],
        given: dict[str, Any] | None = None,
    ) -> None:
        self.simulator = simulator_of(simulator) if isinstance(simulator, Options) else simulator
        self.running = np.ones(len(seeds), dtype=np.bool_)
        keys = np.array([drawn_key(np_random(seed)[0]) for seed in seeds], dtype=np.uint64)
        state = self.simulator.new_state(len(seeds))
        self.state = self.simulator.begin(
            state, np.arange(len(seeds)), keys, self.simulator.given(given, len(seeds))
        )

    def __len__(self) -> int:
        return self.running.size

    def step(self, actions: Any, *, strict: bool = True) -> Step[Any]:
        """Carry out one action in each running episode.

        Args:
            actions: shape (B,), integers in [0, A).
            strict: refuse actions that the masks forbid; else they are replaced.

        Raises:
            ValueError: for actions of a wrong shape or type, out of range or refused.
        """
        chosen = as_actions(actions, len(self), self.simulator.num_actions)
        chosen, _ = self.simulator.allowed_actions(self.state, chosen, self.running, strict=strict)
        step = self.simulator.step(self.state, chosen, self.running)
        self.state = step.state
        self.running = self.running & ~(step.terminated | step.truncated)
        return step


class Decisions:
    """A policy that is asked before each step, with a clock.

    A policy with ``act`` reads what the simulator's ``view`` gives, in float64; one with
    ``choose`` alone is asked about each queue (``waiting_players``); any other reads observations,
    through the ``predict`` of stable-baselines3.

    Args:
        policy: chooses.
        rng: for a stochastic policy with ``act`` or ``choose``.

    Raises:
        ValueError: for a policy without such a method.

    Attributes:
        count: choices that were timed: all but the first, which may compile or load.
        seconds: their time.
        knows_masks: whether it sees the allowed actions apart from observations. The actions of
            one that does not are replaced where the masks forbid them.
    """

    def __init__(self, policy: Any, rng: np.random.Generator | None = None) -> None:
        self.count, self.seconds = 0, 0.0
        self._policy, self._rng = policy, rng
        methods = ("act", "choose", "predict")
        found = [name for name in methods if callable(getattr(policy, name, None))]
        if not found:
            raise ValueError(
                f"policy must have a method act, choose or predict, {policy!r} has none"
            )
        self._method = found[0]
        self._takes_masks = _takes_masks(getattr(policy, self._method))
        self.knows_masks = self._takes_masks or self._method != "predict"
        self._memory: Any = None
        self._first = True

    def of(self, batches: Sequence[Batch]) -> list[Any]:
        """Return actions for the episodes of each batch; ``predict`` is asked once for all."""
        start = time.perf_counter()
        if self._method == "act":
            actions = [self._act(batch) for batch in batches]
        elif self._method == "choose":
            actions = [self._choose(batch) for batch in batches]
        else:
            observations = [batch.simulator.observe(batch.state) for batch in batches]
            masks = [self._masks(batch) for batch in batches]
            among = {key: np.concatenate([each[key] for each in masks]) for key in masks[0]}
            sizes = [len(batch) for batch in batches]
            chosen, self._memory = self._policy.predict(
                np.concatenate(observations),
                self._memory,
                np.full(sum(sizes), self._first),
                deterministic=True,
                **among,
            )
            actions = np.split(np.asarray(chosen), np.cumsum(sizes)[:-1])
        if not self._first:
            self.seconds += time.perf_counter() - start
            self.count += sum(int(np.count_nonzero(batch.running)) for batch in batches)
        self._first = False
        return actions

    def _act(self, batch: Batch) -> Any:
        view = batch.simulator.view(batch.state)
        return self._policy.act(*view, rng=self._rng, **self._masks(batch))

    def _choose(self, batch: Batch) -> Integers:
        actions = np.zeros(len(batch), dtype=np.int64)
        simulator: Any = batch.simulator
        for row in np.flatnonzero(batch.running).tolist():
            waiting = simulator.waiting_players(batch.state, row)
            actions[row] = self._policy.choose(waiting, self._rng)
        return actions

    def _masks(self, batch: Batch) -> dict[str, NDArray[np.bool_]]:
        masks = batch.simulator.masks(batch.state)
        return {"action_masks": masks} if masks is not None and self._takes_masks else {}


def _takes_masks(method: Callable[..., Any]) -> bool:
    """Return whether a policy takes masks; third-party policies may read them in observations."""
    parameters = inspect.signature(method).parameters
    return "action_masks" in parameters or any(
        each.kind is each.VAR_KEYWORD for each in parameters.values()
    )


def steps(decisions: Decisions, batches: Sequence[Batch]) -> Iterator[list[Step[Any]]]:
    """Play whole episodes.

    Args:
        decisions: the policy.
        batches: of episodes that have just begun.

    Yields:
        After each step its result in each batch.
    """
    with one_thread():
        while any(batch.running.any() for batch in batches):
            yield [
                batch.step(actions, strict=decisions.knows_masks)
                for batch, actions in zip(batches, decisions.of(batches), strict=True)
            ]


@dataclass(frozen=True)
class Rollout:
    """Sums over a batch of B episodes of a policy.

    Attributes:
        sums: sums over the games of W windows of K measures, shape (W, K, B).
        final_squared_error: of the belief about player 0's skill after the last game, (B,).
        curves: sums over episodes of each measure at each game, and sums of squares, shape
            (K, N, 2); of no game where they were not asked for.
        counts: games with each opponent, shape (B, M).
        decisions: choices that were timed.
        seconds: their time.
    """

    sums: Floats
    final_squared_error: Floats
    curves: Floats
    counts: Integers
    decisions: int
    seconds: float


def begin_for(make: PolicyMaker, settings: Settings, seeds: Sequence[int]) -> tuple[Any, Batch]:
    """Make a policy, and begin episodes under the belief that it reads.

    A policy whose ``told_skill`` is true starts from a belief that knows player 0's skill.
    """
    policy = make(settings, lambda: batch.state.players[:, :, TRUE_SKILL])
    settings = replace(settings, belief=belief_of(policy))
    batch = Batch(settings, seeds)
    if getattr(policy, "told_skill", False):
        mu, sigma, skill = batch.state.players.transpose(2, 0, 1).copy()
        mu[:, 0], sigma[:, 0] = skill[:, 0], KNOWN_SIGMA
        batch = Batch(settings, seeds, {"mu": mu, "sigma": sigma, "true_skill": skill})
    return policy, batch


def rollout(
    make: PolicyMaker,
    settings: Settings,
    seeds: Sequence[int],
    rng: np.random.Generator | None = None,
    *,
    measures: Sequence[str] = EPISODE_MEASURES,
    windows: Mapping[str, slice] | None = None,
    curves: bool = False,
) -> Rollout:
    """Play a policy through a batch of episodes of ``Matchmaking-v0``.

    Every policy meets the same instances and the same luck: they follow from the seeds of the
    episodes, as ``Settings.noise`` says.

    Args:
        make: makes the policy.
        settings: of the episodes, but for the belief, which is the policy's.
        seeds: one for each episode.
        rng: for a stochastic policy.
        measures: out of ``EPISODE_MEASURES``, and ``REWARD``.
        windows: games to sum over, by name; None for all games.
        curves: keep sums over the episodes at each game.
    """
    policy, batch = begin_for(make, settings, seeds)
    decisions = Decisions(policy, rng)
    horizon = settings.horizon
    spans = [slice(0, horizon)] if windows is None else list(windows.values())
    sums = np.zeros((len(spans), len(measures), len(seeds)))
    at_games = np.zeros((len(measures), horizon if curves else 0, 2))
    values = np.empty((len(measures), len(seeds)))
    for n, (step,) in enumerate(steps(decisions, [batch])):
        facts = batch.simulator.facts(batch.state)
        for row, measure in enumerate(measures):
            if measure == REWARD:
                values[row] = step.reward
            elif measure == "win_ratio":
                values[row] = 0.5 * (1.0 + facts["outcome"])
            else:
                values[row] = facts[measure]
        for window, span in enumerate(spans):
            if span.start <= n < span.stop:
                sums[window] += values
        if curves:
            at_games[:, n, 0] = values.sum(axis=1)
            at_games[:, n, 1] = np.square(values).sum(axis=1)
    mu, _, skill = np.moveaxis(batch.state.players[:, 0], 1, 0)
    counts = batch.state.met.astype(np.int64)
    return Rollout(sums, (mu - skill) ** 2, at_games, counts, decisions.count, decisions.seconds)


def check_can_play(label: str, make: PolicyMaker, settings: Settings) -> None:
    """Let a policy play one game, so that one that cannot is found before the work begins.

    Baselines, which have ``act``, play any size and are only made: some are slow at large ones.

    Raises:
        ValueError: if it cannot play; names the policy.
    """
    policy = make(settings, lambda: batch.state.players[:, :, TRUE_SKILL])
    # Whatever a third-party model raises, the user must learn whose it is and of what size.
    try:
        batch = Batch(replace(settings, belief=belief_of(policy)), [0])
        if not callable(getattr(policy, "act", None)):
            next(steps(Decisions(policy), [batch]))
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
