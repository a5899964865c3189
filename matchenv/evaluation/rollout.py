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
from numpy.typing import NDArray

from matchenv.belief import DEFAULT_BELIEF
from matchenv.envs import environment_of, simulator_of
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.core.settings import Options
from matchenv.envs.core.simulator import LAST, MEAN, SUM, Simulator, Step
from matchenv.runtime.checks import as_actions, errors_named, refusal
from matchenv.runtime.files import Arrays
from matchenv.runtime.jobs import CLOCK

# Result of each step of a batch, with the episodes that took it, shape (B,).
Steps = Iterable[tuple[Step[Any], NDArray[np.bool_]]]

# The measure that every environment has.
REWARD = "reward"

# The window of all steps.
ALL = "all"

# Prefix of arrays that are sums over episodes; all others have a row for each episode.
TOTAL = "total/"

# Standard deviation of the initial belief of a policy that is given player 0's skill.
KNOWN_SIGMA = 1e-3


def check_methods(policy: Any) -> None:
    """Check that an object can choose.

    Raises:
        ValueError: if it has neither ``act`` nor ``predict``.
    """
    if not has_method(policy, "act") and not has_method(policy, "predict"):
        raise ValueError(f"policy must have a method act or predict, {policy!r} has none")


def has_method(policy: Any, name: str) -> bool:
    """Return whether an object has a method of this name."""
    return callable(getattr(policy, name, None))


def belief_of(policy: Any) -> str:
    """Return the belief that a policy reads; third-party policies default to the factorised one."""
    return str(getattr(policy, "belief", DEFAULT_BELIEF))


def needs_truth(policy: Any) -> bool:
    """Return whether a policy's class says that it reads the true skills."""
    return bool(getattr(type(policy), "needs_truth", False))


def predict_has_masks(policy: Any) -> bool:
    """Return whether ``predict`` has the parameter ``action_masks``, as that of MaskablePPO."""
    parameters = inspect.signature(policy.predict).parameters
    has_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return has_any or "action_masks" in parameters


class Decisions:
    """The choices of a policy in a batch of episodes.

    A policy with ``act(view, rng)`` gets the simulator's view in float64. Any other gets
    observations, through the ``predict`` of stable-baselines3, and the masks if ``predict`` has the
    parameter ``action_masks`` of sb3-contrib's MaskablePPO.

    Args:
        policy: the policy; its memory, if it has one, is used.
        rng: for a stochastic policy with ``act``.

    Raises:
        ValueError: if the policy has neither method.

    Attributes:
        times: seconds of each choice, and the number of episodes that it was for.
    """

    def __init__(self, policy: Any, rng: np.random.Generator | None = None) -> None:
        check_methods(policy)
        self.times: list[tuple[float, int]] = []
        self._policy = policy
        self._rng = rng
        self._acts = has_method(policy, "act")
        self._needs_truth = needs_truth(policy)
        self._gets_masks = self._acts or predict_has_masks(policy)
        self._memory: Any = None
        self._is_first = True

    def of(self, episodes: Episodes[Any]) -> Any:
        """Return the actions in a batch, which is the same in all calls."""
        if self._acts:
            return self._policy.act(episodes.view(truth=self._needs_truth), self._rng)
        begins = np.full(len(episodes), self._is_first)
        self._is_first = False
        # A copy, since a policy may write to its argument.
        observation = episodes.simulator.observe(episodes.state).copy()
        masks = {}
        if self._gets_masks and episodes.has_masks:
            masks["action_masks"] = episodes.masks()
        chosen = self._policy.predict(
            observation, self._memory, begins, deterministic=True, **masks
        )
        if not isinstance(chosen, tuple | list) or len(chosen) != 2:
            raise refusal("predict must return (actions, state)", chosen)
        actions, self._memory = chosen
        return actions

    def step(self, episodes: Episodes[Any]) -> Step[Any]:
        """Choose and carry out an action in each running episode.

        Forbidden actions of a policy that gets no masks are replaced, unless ``invalid_action``
        refuses them.

        Raises:
            ValueError: for actions of a wrong shape or type, out of range or refused.
        """
        return self._carry_out(episodes, self.of(episodes))

    def _carry_out(self, episodes: Episodes[Any], actions: Any) -> Step[Any]:
        simulator = episodes.simulator
        checked = as_actions(actions, len(episodes), simulator.num_actions)
        strict = self._gets_masks or simulator.settings.invalid_action == "error"
        return episodes.step(checked, strict=strict)

    def steps(self, episodes: Episodes[Any]) -> Iterator[tuple[Step[Any], NDArray[np.bool_]]]:
        """Play the episodes to their ends, and yield ``Steps``."""
        with one_thread():
            while episodes.running.any():
                running = episodes.running
                start = time.perf_counter()
                actions = self.of(episodes)
                taken = time.perf_counter() - start
                self.times.append((taken, int(np.count_nonzero(running))))
                yield self._carry_out(episodes, actions), running


def sums(
    episodes: Episodes[Any],
    steps: Steps,
    measures: Sequence[str] | None = None,
    windows: Mapping[str, slice] | None = None,
    curves: int = 0,
    fields: Sequence[str] = (),
) -> Arrays:
    """Return sums, means and last values of the measures of a batch.

    Args:
        episodes: B episodes that have just begun.
        steps: their steps.
        measures: among the simulator's ``aggregations`` and ``REWARD``; None for all.
        windows: steps to sum over, by name; None for all steps.
        curves: number of steps at which to sum over the episodes.
        fields: fields of the final state to return.

    Returns:
        Arrays with a row for each episode: each measure over each window (``column_of``), last
        values and fields. With ``curves``, also ``total/curves``, shape (measures, curves, 2): sums
        over the episodes of the values and of their squares, without measures that are ``LAST``.
    """
    aggregations = {REWARD: SUM, **episodes.simulator.aggregations}
    if measures is not None:
        aggregations = {name: aggregations[name] for name in measures}
    if windows is None:
        windows = {ALL: slice(0, sys.maxsize)}
    summed = [name for name, aggregation in aggregations.items() if aggregation != LAST]
    last = {
        name: np.full(len(episodes), np.nan)
        for name, aggregation in aggregations.items()
        if aggregation == LAST
    }
    totals = np.zeros((len(windows), len(summed), len(episodes)))
    counts = np.zeros((len(windows), len(episodes)))
    moments = np.zeros((len(summed), curves, 2))
    values = np.empty((len(summed), len(episodes)))
    for n, (step, running) in enumerate(steps):
        measured = episodes.simulator.measures(episodes.state)
        for row, name in enumerate(summed):
            values[row] = step.reward if name == REWARD else measured[name]
        values[:, ~running] = 0.0
        for index, window in enumerate(windows.values()):
            if window.start <= n < window.stop:
                totals[index] += values
                counts[index] += running
        if curves:
            moments[:, n, 0] = values.sum(axis=1)
            moments[:, n, 1] = np.square(values).sum(axis=1)
        for name, array in last.items():
            np.copyto(array, measured[name], where=running)
    arrays: Arrays = {}
    for index, window_name in enumerate(windows):
        for row, name in enumerate(summed):
            total = totals[index, row]
            if aggregations[name] == MEAN:
                total = total / np.maximum(counts[index], 1.0)
            arrays[column_of(name, window_name)] = total
    arrays.update(last)
    for field in fields:
        arrays[field] = getattr(episodes.state, field).copy()
    if curves:
        arrays[f"{TOTAL}curves"] = moments
    return arrays


# Turns the steps of a batch that has just begun into arrays; see ``sums``.
Summary = Callable[[Episodes[Any], Steps], Arrays]


def column_of(measure: str, window: str = ALL) -> str:
    """Return the column of a measure over a window of steps."""
    return measure if window == ALL else f"{measure}_{window}"


def begin_for(
    policy: Any,
    settings: Options,
    seeds: Sequence[int],
    simulator: Callable[[Any], Simulator[Any]] = simulator_of,
    options: dict[str, Any] | None = None,
) -> Episodes[Any]:
    """Begin episodes under the belief that a policy reads.

    If the policy's ``knows_skill_0`` is true, the initial belief knows player 0's skill.
    """
    if hasattr(settings, "belief_type"):
        settings = replace(settings, belief=belief_of(policy))  # type: ignore[call-arg]
    episodes = Episodes.of_seeds(simulator(settings), seeds, options)
    if not getattr(policy, "knows_skill_0", False):
        return episodes
    mu, sigma, skill = episodes.state.players.transpose(2, 0, 1).copy()
    mu[:, 0] = skill[:, 0]
    sigma[:, 0] = KNOWN_SIGMA
    known = {"mu": mu, "sigma": sigma, "true_skill": skill}
    return Episodes.of_seeds(simulator(settings), seeds, known)


def rollout(
    policy: Any,
    settings: Options,
    seeds: Sequence[int],
    rng: np.random.Generator | None = None,
    summary: Summary | None = None,
    options: dict[str, Any] | None = None,
    label: str = "",
) -> Arrays:
    """Play a batch of episodes with a policy.

    Instances and luck depend on the seeds alone, and are the same for all policies.

    Args:
        policy: an object with ``act(view, rng)`` or ``predict``, for example from
            ``matchenv.agents.policy_named``. A copy plays, so that no memory is carried over.
        settings: of any environment; the belief is that of the policy.
        seeds: one for each episode.
        rng: for a stochastic policy.
        summary: returns the results; None for the summary of the environment's protocol.
        options: of a reset; arrays have a row for each episode.
        label: name of the policy in errors.

    Returns:
        The arrays of the summary, and ``CLOCK``: seconds and number of all choices but the first,
        which may compile or load.

    Raises:
        ValueError: for a forbidden action, and any error of a policy with a label.
    """
    simulator: Callable[[Any], Simulator[Any]] = simulator_of
    if summary is None:
        summary = sums
        protocol = environment_of(settings).part("protocol")
        if protocol is not None:
            summary = protocol.summary
            simulator = protocol.simulator
    with errors_named(f"policy {label!r}" if label else ""):
        player = copied(policy)
        episodes = begin_for(player, settings, seeds, simulator, options)
        decisions = Decisions(player, np.random.default_rng(rng))
        arrays = summary(episodes, decisions.steps(episodes))
    clock = np.reshape(decisions.times[1:], (-1, 2)).sum(axis=0)
    return {**arrays, CLOCK: clock}


def copied(policy: Any) -> Any:
    """Return a deep copy of a policy; the policy itself if it cannot be copied.

    Models of stable-baselines3 cannot be copied after a training; they keep no memory of their own.
    """
    try:
        return copy.deepcopy(policy)
    except (RuntimeError, TypeError):
        return policy


def check_can_play(label: str, policy: Any, settings: Options) -> None:
    """Take one step with a policy, so that errors are raised before the work begins.

    Baselines play any size, so nothing is played.

    Raises:
        ValueError: if it cannot play; the message names the policy.
    """
    if type(policy).__module__.startswith("matchenv.baselines."):
        return
    size = next(iter(settings.sizes), "seed")
    with errors_named(f"policy {label!r} cannot play with {size}={getattr(settings, size, 0)}"):
        player = copied(policy)
        episodes = begin_for(player, settings, [0])
        Decisions(player, np.random.default_rng(0)).step(episodes)


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
