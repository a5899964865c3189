"""The exact optimum of small problems under a belief, and the loss of policies.

The belief model is a Markov decision problem: the reward of a game is the draw density under the
belief, outcomes have their probabilities under the belief, and the updated belief is the next
state. The optimum follows by recursion over all (opponent, outcome) sequences. The last game needs
no outcomes, so there are (outcomes * M)^(N - 1) sequences. They are not merged, since the order of
games matters with the approximate updates of TrueSkill.

Source: the dynamic program of Ryzhov, Tariq, Powell (2011), eq. (7) and (12).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.special import ndtr

from matchenv.baselines.knowledge_gradient_rule import add_best_after_game
from matchenv.belief import DEFAULT_BELIEF, MU, SIGMA, GameConstants
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.one_player.simulator import MatchmakingView, OnePlayer
from matchenv.evaluation.estimates import (
    CONFIDENCE,
    Record,
    columns_of,
    estimate,
    paired_difference,
    ratio_of_means,
    share_of_episodes,
)
from matchenv.evaluation.protocols import cells_of
from matchenv.evaluation.registry import Candidate, candidates_of
from matchenv.evaluation.rollout import belief_of, one_thread
from matchenv.evaluation.seeds import TRUTHS, episode_seeds, spans_of, stream_of
from matchenv.evaluation.tables import Column, share_text, text_table
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import as_actions, as_choice, as_integer, errors_named
from matchenv.runtime.files import Arrays, json_bytes, records_csv
from matchenv.runtime.jobs import Job, RunOptions
from matchenv.runtime.provenance import versions
from matchenv.trueskill import true_draw_density

OPTIMUM = "optimum"
DEFAULT_POLICIES = (
    "pe",
    "drawchance",
    "kg",
    "kg:finite_horizon=true",
    "kg:multiplier=3",
    "optimistic",
)

# Limits for a run of a few minutes, and for memory.
MOST_SEQUENCES = 20_000_000
MOST_NODES = 5_000
MOST_TRUTHS = 1_000
BLOCK = 10  # instances in a job

# Options of the environment that define a problem, and its default sizes.
OPTIONS = ("num_opponents", "horizon", "belief", "beta", "draw_margin")
SIZES = {"num_opponents": 3, "horizon": 8}

# Maps a batch of states and the games left to actions of shape (B,).
Rule = Callable[[KnowledgeState, int], Integers]


def table_text(result: Record) -> str:
    """Return the result of ``run_optimum`` as text."""
    optimum, *losses = result.losses
    columns = (
        Column("policy", "{policy}"),
        Column("below the optimum, %", lambda loss: f"{loss.gap_share.times(100.0):+.2f}"),
        Column("first best", lambda loss: share_text(loss.first_is_best)),
        Column("true q - optimum", "{true_difference:+.4f}"),
    )
    others = {"beta": result.beta, "draw_margin": result.draw_margin}
    lines = [
        f"opponents {result.num_opponents}, games {result.horizon}, {result.belief} belief, "
        f"{result.episodes} instances, {result.truths} truths each, rank {result.rank}, "
        f"seed {result.seed}{Settings.changed_text(others)}",
        f"believed q {optimum.believed.mean:.4f} of the optimum; "
        f"true q {optimum.true_q.mean:.4f}; [..]: {100.0 * CONFIDENCE:.0f} % interval",
    ]
    return "\n".join([*lines, *text_table(columns, losses)])


def run_optimum(
    policies: Sequence[Any] = DEFAULT_POLICIES,
    *,
    episodes: int = 100,
    truths: int = 64,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    run: RunOptions | None = None,
) -> Record:
    """Compute the optimum of a small problem, and the loss of policies.

    Instances have informative priors and the seeds of a comparison.

    Args:
        policies: see ``matchenv.benchmarks.compare.run_comparison``.
        episodes: number of instances, >= 2.
        truths: sets of true skills drawn from the prior of each instance, in [1, 1,000].
        seed: random seed of instances and truths, >= 0.
        env_kwargs: ``num_opponents`` (default 3), ``horizon`` (8), ``rank`` of player 0 by prior
            mean, ``belief``, ``beta`` and ``draw_margin``.
            (outcomes * num_opponents)^(horizon - 1) must be at most 20 million.
        run: folder, workers and engine.

    Returns:
        The problem, by name, and ``losses`` of the optimum and of each policy: the ``policy``; its
        ``believed`` value under the belief model and the ``gap`` to the optimum's, never above 0,
        also as ``gap_share`` of the optimum's; its expected ``true_q`` and the ``true_difference``
        to the policy that is optimal for the belief model; and ``first_is_best``, the share of
        instances in which its first choice is optimal.

    Raises:
        ValueError: for a bad argument, before anything is computed; for a policy that is
            stochastic, has a memory, reads the true skills, or reads another belief; for a folder
            with other results, or with damaged files.
        OSError: for a folder that cannot be written.
    """
    run = run or RunOptions()
    as_integer("episodes", episodes, 2)
    as_integer("truths", truths, 1, MOST_TRUTHS)
    as_integer("seed", seed, 0)
    for name in env_kwargs or {}:
        as_choice("env_kwargs", name, (*OPTIONS, "rank"))
    settings, rank = _problem_of({**SIZES, **(env_kwargs or {})})
    candidates = candidates_of(policies, settings)
    ones = np.ones((1, settings.num_players))
    prior = KnowledgeState.of_prior(0.0 * ones, ones, settings.belief)
    for candidate in candidates:
        with errors_named(f"policy {candidate.label!r}"):
            rule_of(candidate, settings)(prior, 1)
    problem = {
        "episodes": episodes,
        "truths": truths,
        "rank": rank,
        "seed": seed,
        **{name: getattr(settings, name) for name in OPTIONS},
    }
    # Stored results do not depend on the order of the policies.
    ordered = sorted(candidates, key=attrgetter("label"))
    lasting = all(candidate.lasting for candidate in candidates)
    jobs = []
    for first, count in spans_of(episodes, BLOCK):
        work = partial(solve, settings, ordered, seed, range(first, first + count), truths)
        key = {
            "optimum": truths,
            "policies": [candidate.identity for candidate in ordered],
            "settings": settings.description(),
            "seed": seed,
            "first episode": first,
        }
        name = f"optimum from episode {first} on"
        jobs.append(Job(key if lasting else None, count, work, name=name))
    identities = {candidate.label: candidate.identity for candidate in candidates}
    with run.store({"command": "optimum", "policies": identities, **problem}) as store:
        solved = store.results(jobs)
        order = [0, *(1 + ordered.index(candidate) for candidate in candidates)]
        losses = _losses([OPTIMUM, *identities], order, solved)
        result = Record(problem, losses=losses)
        content = {"confidence": CONFIDENCE, "versions": versions(), "problems": [result]}
        files = {
            "optimum.txt": f"{table_text(result)}\n".encode(),
            "optimum.json": json_bytes(content, checked=True),
            "optimum.csv": records_csv([columns_of({**problem, **loss}) for loss in losses]),
        }
        store.finish(result, files.items())
    return result


def _problem_of(options: Mapping[str, Any]) -> tuple[Settings, str]:
    """Return the settings of a problem, and the name of player 0's rank."""
    known = {name: value for name, value in options.items() if name != "rank"}
    settings = Settings.checked(**known)
    _check_size(settings)
    (cell,) = cells_of([options.get("rank")], ["informative"], settings.num_opponents)
    return replace(settings, rank=cell.options["rank"]), cell.labels["rank"]


def _losses(
    policies: Sequence[str], order: Sequence[int], solved: Sequence[Arrays]
) -> list[Record]:
    """Return the losses of policies, the optimum first.

    Args:
        policies: their labels.
        order: the row of each policy in the arrays.
        solved: results of ``solve``.
    """
    believed = np.concatenate([block["believed"] for block in solved], axis=1)[order]
    true_q = np.concatenate([block["true_q"] for block in solved], axis=1)[order]
    first_is_best = np.concatenate([block["first_is_best"] for block in solved], axis=1)[order]
    losses = []
    for i, policy in enumerate(policies):
        loss = Record(
            policy=policy,
            believed=estimate(believed[i]),
            gap=paired_difference(believed[i], believed[0]),
            gap_share=ratio_of_means(believed[i] - believed[0], believed[0]),
            true_q=estimate(true_q[i]),
            true_difference=paired_difference(true_q[i], true_q[0]),
            first_is_best=share_of_episodes(first_is_best[i]),
        )
        losses.append(loss)
    return losses


def solve(
    settings: Settings, candidates: Sequence[Candidate], seed: int, episodes: range, truths: int
) -> Arrays:
    """Solve a range of instances.

    Returns:
        ``believed``, ``true_q`` and ``first_is_best`` of the optimum and of each policy, shape
        (1 + P, instances).
    """
    seeds = episode_seeds(seed, episodes.start, len(episodes))
    simulator = OnePlayer(replace(settings, belief=DEFAULT_BELIEF))
    players = Episodes.of_seeds(simulator, seeds).state.players
    mu = players[:, :, MU].copy()
    sigma = players[:, :, SIGMA].copy()
    skills = np.empty((len(mu), truths, mu.shape[1]))
    for row, episode in enumerate(episodes):
        normals = stream_of(seed, TRUTHS, episode).standard_normal((truths, mu.shape[1]))
        skills[row] = mu[row] + sigma[row] * normals
    prior = KnowledgeState.of_prior(mu, sigma, settings.belief)
    worth = choice_values(prior, settings.horizon, settings.constants)

    def optimal(states: KnowledgeState, games_left: int) -> Integers:
        return np.argmax(choice_values(states, games_left, settings.constants), axis=1)

    rules = [optimal, *(rule_of(candidate, settings) for candidate in candidates)]
    believed = []
    true_q = []
    first_is_best = []
    with one_thread():
        for rule in rules:
            first, value, true_value = follow(rule, prior, skills, settings)
            believed.append(value)
            true_q.append(true_value.mean(axis=1))
            chosen = worth[np.arange(len(worth)), first]
            # The values of identical opponents differ by rounding errors.
            first_is_best.append(chosen >= worth.max(axis=1) - 1e-12)
    return {
        "believed": np.array(believed),
        "true_q": np.array(true_q),
        "first_is_best": np.array(first_is_best),
    }


def choice_values(states: KnowledgeState, games_left: int, constants: GameConstants) -> Floats:
    """Return the expected sum of q for every first choice, followed by optimal choices.

    The result has shape (B, M), for B states; ``games_left`` includes the next one, and is >= 1.
    """
    values = states.draw_density(constants.beta)
    if games_left > 1:
        later = partial(choice_values, games_left=games_left - 1, constants=constants)
        add_best_after_game(values, states, constants, later)
    return values


def rule_of(candidate: Candidate, settings: Settings) -> Rule:
    """Return a policy, with ``act`` or ``predict``, as a function of a batch of states.

    Raises:
        ValueError: for a policy that does not choose by the state alone; for one with a memory,
            the returned function raises it.
    """
    label = candidate.label
    policy = candidate.policy(settings)
    if label == OPTIMUM:
        raise ValueError(f"policies must not be named {OPTIMUM!r}, the name of the optimum")
    if belief_of(policy) != settings.belief:
        raise ValueError(
            f"belief must be the one that the policies read, got {settings.belief!r}: {label!r} "
            f"reads the {belief_of(policy)} one"
        )

    if getattr(policy, "stochastic", False):
        raise _not_by_the_state(label, "is stochastic")
    if getattr(policy, "needs_truth", False):
        raise _not_by_the_state(label, "reads the true skills")

    def choose(states: KnowledgeState, games_left: int) -> Integers:
        if callable(getattr(policy, "act", None)):
            actions = policy.act(MatchmakingView(states, games_left), None)
        else:
            observation = states.to_observation(games_left / settings.horizon)
            starts = np.ones(len(observation), np.bool_)
            actions, memory = policy.predict(observation, None, starts)
            if memory is not None:
                raise _not_by_the_state(label, "has a memory")
        return as_actions(actions, len(states), settings.num_opponents)

    return choose


def _not_by_the_state(label: str, reason: str) -> ValueError:
    return ValueError(f"policies must choose by the state alone, got {label!r}, which {reason}")


def follow(
    rule: Rule, states: KnowledgeState, skills: Floats, settings: Settings
) -> tuple[Integers, Floats, Floats]:
    """Evaluate a policy over all outcomes of all games, with one call per game.

    Args:
        rule: the policy.
        states: B priors.
        skills: T sets of true skills for each prior, shape (B, T, M + 1).
        settings: settings of the problem.

    Returns:
        First choices, shape (B,); expected sums of q under the belief model, shape (B,); and
        expected sums of true q for the true skills, shape (B, T).
    """
    constants = settings.constants
    count = len(states)
    outcomes = len(constants.outcomes)
    value = np.zeros(count)
    true_value = np.zeros(skills.shape[:2])
    # Probabilities of the nodes: of a state and, for each set of true skills, of its history.
    reach = np.ones((count, 1))
    true_reach = np.ones((*skills.shape[:2], 1))
    choices = []
    for games_left in range(settings.horizon, 0, -1):
        actions = rule(states, games_left)
        choices.append(actions)
        chosen = (np.arange(len(actions)), actions)
        densities = states.draw_density(constants.beta)[chosen].reshape(count, -1)
        value += (reach * densities).sum(axis=1)
        opponents = np.take_along_axis(skills, actions.reshape(count, 1, -1) + 1, axis=2)
        gaps = skills[:, :, :1] - opponents
        true_value += (true_reach * true_draw_density(gaps, 0.0, constants.beta)).sum(axis=2)
        # The successors of a node are adjacent.
        chances = [states.outcome_probability(o, constants)[chosen] for o in constants.outcomes]
        reach = np.repeat(reach, outcomes, axis=1) * np.stack(chances, axis=1).reshape(count, -1)
        true_reach = np.repeat(true_reach, outcomes, axis=2)
        true_reach *= _true_chances(gaps, constants).reshape(true_reach.shape)
        states = states.repeated(outcomes).after_games(
            np.repeat(actions, outcomes), np.tile(constants.outcomes, len(actions)), constants
        )
    return choices[0], value, true_value


def _true_chances(gaps: Floats, constants: GameConstants) -> Floats:
    """Return the probability of each outcome, given the differences in true skill.

    ``gaps`` has shape (B, T, S); the result has shape (B, T, S, outcomes).
    """
    noise = math.sqrt(2.0) * constants.beta
    won = ndtr((gaps - constants.draw_margin) / noise)
    lost = ndtr((-gaps - constants.draw_margin) / noise)
    chances = (won, lost, 1.0 - won - lost)
    return np.stack(chances[: len(constants.outcomes)], axis=3)


def _check_size(settings: Settings) -> None:
    outcomes = len(settings.constants.outcomes)
    games = settings.horizon
    # In logarithms, since the numbers can overflow.
    log_sequences = (games - 1) * np.log10(outcomes * settings.num_opponents)
    log_nodes = games * np.log10(outcomes)
    if log_sequences > np.log10(MOST_SEQUENCES) or log_nodes > np.log10(MOST_NODES):
        raise ValueError(
            f"horizon must be so small that (outcomes * num_opponents)^(horizon - 1) is at most "
            f"{MOST_SEQUENCES:,} and outcomes^horizon at most {MOST_NODES:,}, got {games} with "
            f"num_opponents={settings.num_opponents} and {outcomes} outcomes per game"
        )
