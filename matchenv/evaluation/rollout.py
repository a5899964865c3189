"""The loop that plays a policy through episodes of any simulator, side by side."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from matchenv.belief import DEFAULT_BELIEF
from matchenv.envs import env_id_of, part_of, simulator_of
from matchenv.envs.core.settings import Options
from matchenv.envs.core.simulator import LAST, MEAN, SUM, Simulator, Step
from matchenv.runtime.checks import as_actions, as_integer
from matchenv.runtime.files import Arrays
from matchenv.runtime.jobs import CLOCK
from matchenv.runtime.random import drawn_key

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# True skills of all players at the time of a choice, shape (B, players).
TrueSkills = Callable[[], Floats]

# Makes a policy for episodes with these settings; an oracle asks the function for the truth.
PolicyMaker = Callable[[Any, TrueSkills], Any]

# The measure that every environment has.
REWARD = "reward"

# The window of all steps.
ALL = "all"

# Names of sums over episodes begin so, among arrays with a row for each episode.
TOTAL = "total/"

# By which a policy chooses, the preferred first.
METHODS = ("act", "choose", "predict")

# Deviation of an initial belief that knows player 0's skill.
KNOWN_SIGMA = 1e-3


def method_of(policy: Any) -> str:
    """Return the method by which a policy chooses.

    Raises:
        ValueError: for a policy without one of ``METHODS``.
    """
    for name in METHODS:
        if callable(getattr(policy, name, None)):
            return name
    raise ValueError(f"policy must have a method act, choose or predict, {policy!r} has none")


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
        times: seconds of each choice, and the episodes that it was for.
        knows_masks: whether it sees the allowed actions apart from observations. The actions of
            one that does not are replaced where the masks forbid them.
    """

    def __init__(self, policy: Any, rng: np.random.Generator | None = None) -> None:
        self.times: list[tuple[float, int]] = []
        self._policy, self._rng = policy, rng
        self._method = method_of(policy)
        # Third-party policies may read masks in observations instead.
        parameters = inspect.signature(getattr(policy, self._method)).parameters
        any_name = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        self._takes_masks = any_name or "action_masks" in parameters
        self.knows_masks = self._takes_masks or self._method != "predict"
        self._memory: Any = None
        self._first = True

    def of(self, batch: Batch) -> Any:
        """Return actions for the episodes of a batch, always the same one."""
        simulator: Any = batch.simulator
        state = batch.state
        masks = simulator.masks(state) if self._takes_masks else None
        among = {} if masks is None else {"action_masks": masks}
        if self._method == "act":
            return self._policy.act(*simulator.view(state), rng=self._rng, **among)
        if self._method == "choose":
            actions = np.zeros(len(batch), dtype=np.int64)
            for row in np.flatnonzero(batch.running).tolist():
                waiting = simulator.waiting_players(state, row)
                actions[row] = as_integer("action", self._policy.choose(waiting, self._rng), 0)
            return actions
        begins, self._first = np.full(len(batch), self._first), False
        actions, self._memory = self._policy.predict(
            simulator.observe(state), self._memory, begins, deterministic=True, **among
        )
        return actions


def steps(decisions: Decisions, batch: Batch) -> Iterator[Step[Any]]:
    """Play episodes that have just begun to their ends, and yield the result of each step."""
    with one_thread():
        while batch.running.any():
            start = time.perf_counter()
            actions = decisions.of(batch)
            running = int(np.count_nonzero(batch.running))
            decisions.times.append((time.perf_counter() - start, running))
            yield batch.step(actions, strict=decisions.knows_masks)


class Sums:
    """Sums, means and last values of the measures of the steps of a batch of episodes.

    Args:
        measures: out of the simulator's ``measures`` and ``REWARD``; None for all.
        windows: steps to sum over, by name: a column ends in the name of its window, but for
            ``ALL``. None for all steps.
        curves: number of steps at which to keep sums over the episodes, of the values and of
            their squares: ``total/curves``, shape (K, N, 2), without those of ``LAST``.
        fields: fields of the state after the last step to keep too.
    """

    def __init__(
        self,
        measures: Sequence[str] | None = None,
        windows: Mapping[str, slice] | None = None,
        curves: int = 0,
        fields: Sequence[str] = (),
    ) -> None:
        self._asked, self._fields, self._steps = measures, tuple(fields), 0
        self._windows = {ALL: slice(0, sys.maxsize)} if windows is None else dict(windows)
        self._num_curves = curves

    def simulator(self, settings: Options) -> Simulator[Any]:
        """Return the simulator of the episodes."""
        return simulator_of(settings)

    def begin(self, batch: Batch) -> None:
        """Begin the sums over episodes that have just begun."""
        known = {REWARD: SUM, **batch.simulator.measures}
        names = known if self._asked is None else self._asked
        self._ways = {name: known[name] for name in names if known[name] != LAST}
        self._last = {name: np.full(len(batch), np.nan) for name in names if known[name] == LAST}
        self._sums = np.zeros((len(self._windows), len(self._ways), len(batch)))
        self._counts = np.zeros((len(self._windows), len(batch)))
        self._values = np.empty(self._sums.shape[1:])
        self._curves = np.zeros((len(self._ways), self._num_curves, 2))

    def add(self, batch: Batch, step: Step[Any], running: NDArray[np.bool_]) -> None:
        """Add a step to the windows that it lies in.

        Args:
            batch: the episodes after the step.
            step: its result.
            running: shape (B,), the episodes that took it.
        """
        found = batch.simulator.measured(batch.state)
        values = self._values
        for row, name in enumerate(self._ways):
            values[row] = step.reward if name == REWARD else found[name]
        values[:, ~running] = 0.0
        for place, span in enumerate(self._windows.values()):
            if span.start <= self._steps < span.stop:
                self._sums[place] += values
                self._counts[place] += running
        if self._num_curves:
            self._curves[:, self._steps, 0] = values.sum(axis=1)
            self._curves[:, self._steps, 1] = np.square(values).sum(axis=1)
        for name, last in self._last.items():
            np.copyto(last, found[name], where=running)
        self._steps += 1

    def arrays(self, batch: Batch) -> Arrays:
        """Return what was kept of a batch that is over.

        A row for each episode: a column for each measure and window, the last values and the
        fields. Names of sums over the episodes begin with ``TOTAL``.
        """
        found: Arrays = {}
        for window, sums, counts in zip(self._windows, self._sums, self._counts, strict=True):
            for (name, way), values in zip(self._ways.items(), sums, strict=True):
                share = np.maximum(counts, 1.0) if way == MEAN else 1.0
                found[column_of(name, window)] = values / share
        fields = {name: getattr(batch.state, name).copy() for name in self._fields}
        totals = {f"{TOTAL}curves": self._curves} if self._num_curves else {}
        return {**found, **self._last, **fields, **totals}


def column_of(measure: str, window: str = ALL) -> str:
    """Return the column of a measure over a window of steps."""
    return measure if window == ALL else f"{measure}_{window}"


def begin_for(
    make: PolicyMaker,
    settings: Options,
    seeds: Sequence[int],
    simulator: Callable[[Any], Simulator[Any]] = simulator_of,
    given: dict[str, Any] | None = None,
) -> tuple[Any, Batch]:
    """Make a policy, and begin episodes under the belief that it reads.

    A policy whose ``knows_skill_0`` is true starts from a belief that knows player 0's skill.
    """
    policy = make(settings, lambda: batch.simulator.true_skill(batch.state))
    if hasattr(settings, "belief"):
        settings = replace(settings, belief=belief_of(policy))  # type: ignore[call-arg]
    batch = Batch(simulator(settings), seeds, given)
    if getattr(policy, "knows_skill_0", False):
        mu, sigma, skill = batch.state.players.transpose(2, 0, 1).copy()
        mu[:, 0], sigma[:, 0] = skill[:, 0], KNOWN_SIGMA
        batch = Batch(settings, seeds, {"mu": mu, "sigma": sigma, "true_skill": skill})
    return policy, batch


def rollout(
    make: PolicyMaker,
    settings: Options,
    seeds: Sequence[int],
    rng: np.random.Generator | None = None,
    summary: Callable[[], Sums] | None = None,
    given: dict[str, Any] | None = None,
) -> Arrays:
    """Play a policy through a batch of episodes.

    Every policy meets the same instances and the same luck: they follow from the seeds of the
    episodes.

    Args:
        make: makes the policy.
        settings: of the episodes, of any environment; a policy that reads another belief gets it.
        seeds: one for each episode.
        rng: for a stochastic policy.
        summary: makes what keeps the results; None for that of the environment.
        given: as ``Batch``.

    Returns:
        The summary's ``arrays``, and ``CLOCK``: seconds of all choices but the first, which may
        compile or load, and their number.

    Raises:
        ValueError: for a choice that is not allowed.
    """
    kept = (summary or part_of(env_id_of(settings), "protocol").summary)()
    policy, batch = begin_for(make, settings, seeds, kept.simulator, given)
    kept.begin(batch)
    decisions = Decisions(policy, np.random.default_rng() if rng is None else rng)
    running = batch.running
    for step in steps(decisions, batch):
        kept.add(batch, step, running)
        running = batch.running
    clock = np.reshape(decisions.times[1:], (-1, 2)).sum(axis=0)
    return {**kept.arrays(batch), CLOCK: clock}


def check_can_play(label: str, make: PolicyMaker, settings: Options) -> None:
    """Let a policy take one step, so that one that cannot is found before the work begins.

    Baselines play any size and are only made: some are slow at large ones.

    Raises:
        ValueError: if it cannot play; names the policy.
    """
    # Whatever a third-party model raises, the user must learn whose it is and of what size.
    try:
        policy, batch = begin_for(make, settings, [0])
        if not type(policy).__module__.startswith("matchenv.baselines."):
            next(steps(Decisions(policy, np.random.default_rng(0)), batch))
    except Exception as error:
        size = next(iter(settings.sizes), "seed")
        value = getattr(settings, size, 0)
        raise ValueError(f"policy {label!r} cannot play with {size}={value}: {error}") from error


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
