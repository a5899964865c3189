"""The rollout: a policy plays a batch of episodes of any simulator."""

from __future__ import annotations

import copy
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from matchenv.belief import DEFAULT_BELIEF
from matchenv.envs import env_id_of, part_of, simulator_of
from matchenv.envs.core.settings import Options
from matchenv.envs.core.simulator import LAST, MEAN, SUM, Simulator, Step
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_actions, as_integer, errors_named, refusal
from matchenv.runtime.files import Arrays
from matchenv.runtime.jobs import CLOCK
from matchenv.runtime.random import drawn_key

# Returns the current true skills of all players, shape (B, players).
TrueSkills = Callable[[], Floats]

# Builds a policy for episodes with these settings; an oracle calls the function.
PolicyMaker = Callable[[Any, TrueSkills], Any]

# Result of each step of a batch, with the episodes that took it, shape (B,).
Steps = Iterable[tuple[Step[Any], NDArray[np.bool_]]]

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
        actions: those of the last step, allowed ones in place of forbidden ones, shape (B,).
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
        self.actions, _ = self.simulator.allowed_actions(
            self.state, chosen, self.running, strict=strict
        )
        step = self.simulator.step(self.state, self.actions, self.running)
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
    """

    def __init__(self, policy: Any, rng: np.random.Generator | None = None) -> None:
        self.times: list[tuple[float, int]] = []
        self._policy, self._rng = policy, rng
        self._method = method_of(policy)
        # Third-party policies may read masks in observations instead.
        parameters = inspect.signature(getattr(policy, self._method)).parameters
        any_name = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        self._takes_masks = any_name or "action_masks" in parameters
        # They may also change their arguments, which are views of the state.
        self._foreign = not type(policy).__module__.startswith("matchenv.")
        self._memory: Any = None
        self._first = True

    def of(self, batch: Batch) -> Any:
        """Return the actions in a batch, which is the same in all calls."""
        simulator: Any = batch.simulator
        state = batch.state
        masks = simulator.masks(state) if self._takes_masks else None
        masks = masks.copy() if self._foreign and masks is not None else masks
        masked = {} if masks is None else {"action_masks": masks}
        if self._method == "act":
            view = simulator.view(state)
            if self._foreign:  # but for the settings
                view = copy.deepcopy(view, {id(simulator.settings): simulator.settings})
            return self._policy.act(*view, rng=self._rng, **masked)
        if self._method == "choose":
            actions = np.zeros(len(batch), dtype=np.int64)
            for row in np.flatnonzero(batch.running).tolist():
                waiting = simulator.waiting_players(state, row)
                if waiting.focal < 0:  # nobody waits
                    continue
                actions[row] = as_integer("action", self._policy.choose(waiting, self._rng), 0)
            return actions
        begins, self._first = np.full(len(batch), self._first), False
        seen = simulator.observe(state).copy() if self._foreign else simulator.observe(state)
        found = self._policy.predict(seen, self._memory, begins, deterministic=True, **masked)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise refusal("predict must return (actions, state)", found)
        actions, self._memory = found
        return actions

    def strict(self, batch: Batch) -> bool:
        """Return whether forbidden actions are refused, or else replaced.

        A policy that does not get masks may choose them unless ``invalid_action`` refuses them.
        """
        if self._takes_masks or self._method == "choose":
            return True
        return getattr(batch.simulator.settings, "invalid_action", "") == "error"

    def steps(self, batch: Batch) -> Iterator[tuple[Step[Any], NDArray[np.bool_]]]:
        """Play the episodes to their ends, and yield ``Steps``."""
        with one_thread():
            while batch.running.any():
                start, running = time.perf_counter(), batch.running
                actions = self.of(batch)
                taken = time.perf_counter() - start
                self.times.append((taken, int(np.count_nonzero(running))))
                yield batch.step(actions, strict=self.strict(batch)), running


def sums(
    batch: Batch,
    steps: Steps,
    measures: Sequence[str] | None = None,
    windows: Mapping[str, slice] | None = None,
    curves: int = 0,
    fields: Sequence[str] = (),
) -> Arrays:
    """Return sums, means and last values of the measures of a batch.

    Args:
        batch: episodes that have just begun.
        steps: their steps.
        measures: among the simulator's ``measures`` and ``REWARD``; None for all.
        windows: steps to sum over, by name; None for all steps.
        curves: number of steps at which to sum over the episodes.
        fields: fields of the final state to return.

    Returns:
        Arrays with a row for each episode: each measure over each window (``column_of``), last
        values and fields. With ``curves``, also ``total/curves``, shape (measures, curves, 2): sums
        over the episodes of the values and of their squares, without measures of kind ``LAST``.
    """
    known = {REWARD: SUM, **batch.simulator.measures}
    kinds = known if measures is None else {name: known[name] for name in measures}
    summed = {name: kind for name, kind in kinds.items() if kind != LAST}
    last = {name: np.full(len(batch), np.nan) for name in kinds if name not in summed}
    spans = {ALL: slice(0, sys.maxsize)} if windows is None else windows
    totals = np.zeros((len(spans), len(summed), len(batch)))
    counts = np.zeros((len(spans), len(batch)))
    values, moments = np.empty(totals.shape[1:]), np.zeros((len(summed), curves, 2))
    for n, (step, running) in enumerate(steps):
        measured = batch.simulator.measured(batch.state)
        for row, name in enumerate(summed):
            values[row] = step.reward if name == REWARD else measured[name]
        values[:, ~running] = 0.0
        for place, span in enumerate(spans.values()):
            if span.start <= n < span.stop:
                totals[place] += values
                counts[place] += running
        if curves:
            moments[:, n, 0] = values.sum(axis=1)
            moments[:, n, 1] = np.square(values).sum(axis=1)
        for name, array in last.items():
            np.copyto(array, measured[name], where=running)
    columns: Arrays = {}
    for place, window in enumerate(spans):
        for row, (name, kind) in enumerate(summed.items()):
            share = np.maximum(counts[place], 1.0) if kind == MEAN else 1.0
            columns[column_of(name, window)] = totals[place, row] / share
    kept = {name: getattr(batch.state, name).copy() for name in fields}
    return {**columns, **last, **kept, **({f"{TOTAL}curves": moments} if curves else {})}


# Turns the steps of a batch that has just begun into arrays; see ``sums``.
Summary = Callable[[Batch, Steps], Arrays]


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

    If the policy's ``knows_skill_0`` is true, the initial belief knows player 0's skill.
    """
    policy = make(settings, lambda: batch.simulator.true_skill(batch.state))
    if hasattr(settings, "belief_type"):
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
    summary: Summary | None = None,
    given: dict[str, Any] | None = None,
    label: str = "",
) -> Arrays:
    """Play a batch of episodes with a policy.

    Instances and luck depend on the seeds alone, and are the same for all policies.

    Args:
        make: builds the policy.
        settings: of any environment; the belief is that of the policy.
        seeds: one for each episode.
        rng: for a stochastic policy.
        summary: returns the results; None for the summary of the environment's protocol.
        given: see ``Batch``.
        label: name of the policy in errors.

    Returns:
        The arrays of the summary, and ``CLOCK``: seconds and number of all choices but the first,
        which may compile or load.

    Raises:
        ValueError: for a forbidden action, and any error of a policy with a label.
    """
    protocol = part_of(env_id_of(settings), "protocol")
    simulator = protocol.simulator if summary is None else simulator_of
    with errors_named(f"policy {label!r}" if label else ""):
        policy, batch = begin_for(make, settings, seeds, simulator, given)
        decisions = Decisions(policy, np.random.default_rng(rng))
        arrays = (summary or protocol.summary)(batch, decisions.steps(batch))
    clock = np.reshape(decisions.times[1:], (-1, 2)).sum(axis=0)
    return {**arrays, CLOCK: clock}


def check_can_play(label: str, make: PolicyMaker, settings: Options) -> None:
    """Take one step with a policy, so that errors are raised before the work begins.

    Baselines are only built: they play any size, and some are slow at large ones.

    Raises:
        ValueError: if it cannot play; the message names the policy.
    """
    size = next(iter(settings.sizes), "seed")
    with errors_named(f"policy {label!r} cannot play with {size}={getattr(settings, size, 0)}"):
        policy, batch = begin_for(make, settings, [0])
        if not type(policy).__module__.startswith("matchenv.baselines."):
            next(Decisions(policy, np.random.default_rng(0)).steps(batch))


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread, so that results do not depend on the number of threads.

    It does nothing if no policy has imported torch.
    """
    with ExitStack() as stack:
        if torch := sys.modules.get("torch"):
            stack.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(1)
        yield
