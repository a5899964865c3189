"""The rollout: a policy plays a batch of episodes of any simulator."""

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

# Returns the current true skills of all players, shape (B, players).
TrueSkills = Callable[[], Floats]

# Builds a policy for episodes with these settings; an oracle calls the function.
PolicyMaker = Callable[[Any, TrueSkills], Any]

# The measure that every environment has.
REWARD = "reward"

# The window of all steps.
ALL = "all"

# Prefix of arrays that are sums over episodes; all others have a row for each episode.
TOTAL = "total/"

# Methods by which a policy chooses, the preferred one first.
METHODS = ("act", "choose", "predict")

# Standard deviation of the initial belief of a policy that is given player 0's skill.
KNOWN_SIGMA = 1e-3


def method_of(policy: Any) -> str:
    """Return the name of the method by which a policy chooses.

    Raises:
        ValueError: if it has none of ``METHODS``.
    """
    for name in METHODS:
        if callable(getattr(policy, name, None)):
            return name
    raise ValueError(f"policy must have a method act, choose or predict, {policy!r} has none")


def belief_of(policy: Any) -> str:
    """Return the belief that a policy reads; third-party policies default to the factorised one."""
    return str(getattr(policy, "belief", DEFAULT_BELIEF))


class Batch:
    """A batch of B episodes.

    Args:
        simulator: simulator of the episodes, or the settings of one.
        seeds: one for each episode, equal to ``reset(seed=...)`` of the scalar environment.
        given: ``options`` of a reset, arrays with one row for each episode.

    Attributes:
        simulator: simulator of the episodes.
        state: current state.
        running: shape (B,), False for episodes that have ended.
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
        """Take one action in each running episode.

        Args:
            actions: shape (B,), integers in [0, A).
            strict: refuse masked actions instead of replacing them.

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
    """The choices of a policy in a batch of episodes.

    A policy with ``act`` gets the simulator's ``view`` in float64; one with ``choose`` gets each
    queue by itself (``waiting_players``); any other gets observations, through the ``predict`` of
    stable-baselines3.

    Args:
        policy: the policy.
        rng: for a stochastic policy with ``act`` or ``choose``.

    Raises:
        ValueError: if the policy has none of ``METHODS``.

    Attributes:
        times: seconds of each choice, and the number of episodes that it was for.
        knows_masks: whether the policy gets masks. Otherwise its forbidden actions are replaced.
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
        """Return the actions in a batch, which is the same in all calls."""
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

    def step(self, batch: Batch) -> Step[Any]:
        """Choose actions, record the time, and take them."""
        start, running = time.perf_counter(), int(np.count_nonzero(batch.running))
        actions = self.of(batch)
        self.times.append((time.perf_counter() - start, running))
        return batch.step(actions, strict=self.knows_masks)


class Sums:
    """Summary of a batch: sums, means and last values of the measures of its steps.

    Args:
        measures: among the simulator's ``measures`` and ``REWARD``; None for all.
        windows: steps to sum over, by name, which is appended to the columns except for ``ALL``;
            None for all steps.
        curves: number of steps at which to keep sums over the episodes, of the values and of
            their squares: ``total/curves``, shape (K, N, 2), without measures of kind ``LAST``.
        fields: fields of the final state to keep.
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
        """Set the sums to 0, for episodes that have just begun."""
        known = {REWARD: SUM, **batch.simulator.measures}
        names = known if self._asked is None else self._asked
        self._ways = {name: known[name] for name in names if known[name] != LAST}
        self._last = {name: np.full(len(batch), np.nan) for name in names if known[name] == LAST}
        self._sums = np.zeros((len(self._windows), len(self._ways), len(batch)))
        self._counts = np.zeros((len(self._windows), len(batch)))
        self._values = np.empty(self._sums.shape[1:])
        self._curves = np.zeros((len(self._ways), self._num_curves, 2))

    def add(self, batch: Batch, step: Step[Any], running: NDArray[np.bool_]) -> None:
        """Add a step to the windows that it is in.

        Args:
            batch: the episodes after the step.
            step: its result.
            running: shape (B,), the episodes that took the step.
        """
        measured = batch.simulator.measured(batch.state)
        values = self._values
        for row, name in enumerate(self._ways):
            values[row] = step.reward if name == REWARD else measured[name]
        values[:, ~running] = 0.0
        for place, span in enumerate(self._windows.values()):
            if span.start <= self._steps < span.stop:
                self._sums[place] += values
                self._counts[place] += running
        if self._num_curves:
            self._curves[:, self._steps, 0] = values.sum(axis=1)
            self._curves[:, self._steps, 1] = np.square(values).sum(axis=1)
        for name, last in self._last.items():
            np.copyto(last, measured[name], where=running)
        self._steps += 1

    def arrays(self, batch: Batch) -> Arrays:
        """Return the summary of a batch that has ended.

        Returns:
            Arrays with a row for each episode: each measure over each window, last values and
            fields; and sums over the episodes, whose names begin with ``TOTAL``.
        """
        columns: Arrays = {}
        for window, sums, counts in zip(self._windows, self._sums, self._counts, strict=True):
            for (name, way), values in zip(self._ways.items(), sums, strict=True):
                share = np.maximum(counts, 1.0) if way == MEAN else 1.0
                columns[column_of(name, window)] = values / share
        fields = {name: getattr(batch.state, name).copy() for name in self._fields}
        totals = {f"{TOTAL}curves": self._curves} if self._num_curves else {}
        return {**columns, **self._last, **fields, **totals}


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
    """Build a policy, and begin episodes under the belief that it reads.

    If the policy's ``told_skill`` is true, the initial belief knows player 0's skill.
    """
    policy = make(settings, lambda: batch.simulator.true_skill(batch.state))
    if hasattr(settings, "belief"):
        settings = replace(settings, belief=belief_of(policy))  # type: ignore[call-arg]
    batch = Batch(simulator(settings), seeds, given)
    if getattr(policy, "told_skill", False):
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
    """Play a batch of episodes with a policy.

    Instances and luck depend on the seeds alone, and are the same for all policies.

    Args:
        make: builds the policy.
        settings: of any environment; the belief is that of the policy.
        seeds: one for each episode.
        rng: for a stochastic policy.
        summary: builds the summary; None for that of the environment's protocol.
        given: see ``Batch``.

    Returns:
        The summary's ``arrays``, and ``CLOCK``: seconds and number of all choices but the first,
        which may compile or load.

    Raises:
        ValueError: for a forbidden action.
    """
    kept = (summary or part_of(env_id_of(settings), "protocol").summary)()
    policy, batch = begin_for(make, settings, seeds, kept.simulator, given)
    kept.begin(batch)
    decisions = Decisions(policy, np.random.default_rng() if rng is None else rng)
    with one_thread():
        while batch.running.any():
            running = batch.running
            kept.add(batch, decisions.step(batch), running)
    clock = np.reshape(decisions.times[1:], (-1, 2)).sum(axis=0)
    return {**kept.arrays(batch), CLOCK: clock}


def check_can_play(label: str, make: PolicyMaker, settings: Options) -> None:
    """Take one step with a policy, so that errors are raised before the work begins.

    Baselines are only built: they play any size, and some are slow at large ones.

    Raises:
        ValueError: if it cannot play; the message names the policy.
    """
    # Third-party code can raise anything; the message must name the policy and the size.
    try:
        policy, batch = begin_for(make, settings, [0])
        if not type(policy).__module__.startswith("matchenv.baselines."):
            with one_thread():
                Decisions(policy, np.random.default_rng(0)).step(batch)
    except Exception as error:
        size = next(iter(settings.sizes), "seed")
        value = getattr(settings, size, 0)
        raise ValueError(f"policy {label!r} cannot play with {size}={value}: {error}") from error


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread, so that results do not depend on the number of threads.

    It does nothing if no policy has imported torch.
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
