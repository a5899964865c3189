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
)
from matchenv.evaluation.protocols import cells_of
from matchenv.evaluation.registry import Candidate, candidates_of
from matchenv.evaluation.rollout import belief_of, one_thread
from matchenv.evaluation.seeds import TRUTHS, episode_seeds, spans_of, stream_of
from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import as_actions, as_choice, as_integer, errors_named
from matchenv.runtime.files import Arrays, json_bytes, records_csv
from matchenv.runtime.jobs import Job, RunOptions
from matchenv.runtime.provenance import versions
from matchenv.trueskill import true_draw_density

OPTIMUM = "optimum"
DEFAULT_POLICIES = (
    "pe", "drawchance", "kg", "kg:finite_horizon=true", "kg:multiplier=3", "optimistic",
)  # fmt: skip

# Limits for a run of a few minutes, and for memory.
MOST_SEQUENCES, MOST_NODES, MOST_TRUTHS = 20_000_000, 5_000, 1_000
BLOCK = 10  # instances in a job

# Options of the environment that define a problem, and its default sizes.
OPTIONS = ("num_opponents", "horizon", "belief", "beta", "draw_margin")
SIZES = {"num_opponents": 3, "horizon": 8}

# Maps a batch of states and the games left to actions of shape (B,).
Rule = Callable[[KnowledgeState, int], Integers]


def table_text(result: Record) -> str:
    """Return the result of ``run_optimum`` as text."""
    optimum, *losses = result.losses
    best = optimum.believed.mean
    columns = (
        Column("policy", "{policy}"),
        Column("below the optimum", "{gap:+.4f}", 27),
        Column("%", lambda loss: f"{100.0 * loss.gap.mean / best:.2f}", 6),
        Column("first best", lambda loss: f"{100.0 * loss.first_is_best:.0f} %"),
        Column("true q - optimum", "{true_difference:+.4f}", 27),
    )
    unnamed = {name: result[name] for name in ("beta", "draw_margin")}
    lines = [
        "opponents {num_opponents}, games {horizon}, {belief} belief, {episodes} instances, "
        "{truths} truths each, rank {rank}, seed {seed}".format_map(result)
        + Settings.changed_text(unnamed),
        f"believed q {best:.4f} of the optimum; true q {optimum.true_q.mean:.4f}",
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
        ``believed`` value under the belief model and the ``gap`` to the optimum's, never above 0;
        its expected ``true_q`` and the ``true_difference`` to the policy that is optimal for the
        belief model; and ``first_is_best``, the share of instances in which its first choice is
        optimal.

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
    options = {**SIZES, **(env_kwargs or {})}
    ranks = [options.pop("rank", None)]
    settings = Settings.checked(**options)
    _check_size(settings)
    (cell,) = cells_of(ranks, ["informative"], settings.num_opponents)
    settings = replace(settings, rank=cell.options["rank"])
    candidates = candidates_of(policies, settings)
    # Stored results do not depend on the order of the policies.
    kept = sorted(candidates, key=attrgetter("label"))
    ones = np.ones((1, settings.num_players))
    prior = KnowledgeState.of_prior(0.0 * ones, ones, settings.belief)
    for candidate in candidates:
        with errors_named(f"policy {candidate.label!r}"):
            rule_of(candidate, settings)(prior, 1)
    problem = {"episodes": episodes, "truths": truths, "rank": cell.labels["rank"], "seed": seed,
               **{name: getattr(settings, name) for name in OPTIONS}}  # fmt: skip
    identities = {candidate.label: candidate.identity for candidate in candidates}
    lasting = all(candidate.lasting for candidate in candidates)
    jobs = []
    for first, count in spans_of(episodes, BLOCK):
        key = {
            "optimum": truths,
            "policies": identities,
            "settings": settings.description(),
            "seed": seed,
            "first episode": first,
        }
        call = partial(solve, settings, kept, seed, range(first, first + count), truths)
        jobs.append(Job(key if lasting else None, count, call, name=f"episodes from {first} on"))
    with run.store({"command": "optimum", "policies": identities, **problem}) as store:
        done = store.results(jobs)
        # Shape (P, E), the optimum first.
        order = [0, *(1 + kept.index(candidate) for candidate in candidates)]
        believed, true_q, best = (
            np.concatenate([job[name] for job in done], axis=1)[order]
            for name in ("believed", "true_q", "first_is_best")
        )
        losses = [
            Record(
                policy=policy,
                believed=estimate(believed[i]),
                gap=paired_difference(believed[i], believed[0]),
                true_q=estimate(true_q[i]),
                true_difference=paired_difference(true_q[i], true_q[0]),
                first_is_best=float(best[i].mean()),
            )
            for i, policy in enumerate((OPTIMUM, *identities))
        ]
        result = Record(problem, losses=losses)
        content = {"confidence": CONFIDENCE, "versions": versions(), "problems": [result]}
        files = {
            "optimum.txt": f"{table_text(result)}\n".encode(),
            "optimum.json": json_bytes(content, checked=True),
            "optimum.csv": records_csv([columns_of({**problem, **loss}) for loss in losses]),
        }
        store.finish(result, files.items())
    return result


def solve(
    settings: Settings, candidates: Sequence[Candidate], seed: int, episodes: range, truths: int
) -> Arrays:
    """Return ``believed``, ``true_q`` and ``first_is_best`` for a range of instances."""
    seeds = episode_seeds(seed, episodes.start, len(episodes))
    players = Episodes.of_seeds(
        OnePlayer(replace(settings, belief=DEFAULT_BELIEF)), seeds
    ).state.players
    mu, sigma = players[:, :, MU].copy(), players[:, :, SIGMA].copy()
    normals = [stream_of(seed, TRUTHS, b).standard_normal((truths, mu.shape[1])) for b in episodes]
    skills = mu[:, None, :] + sigma[:, None, :] * np.array(normals)
    prior = KnowledgeState.of_prior(mu, sigma, settings.belief)
    worth = choice_values(prior, settings.horizon, settings.constants)

    def optimal(states: KnowledgeState, games_left: int) -> Integers:
        return np.argmax(choice_values(states, games_left, settings.constants), axis=1)

    rules = [optimal, *(rule_of(candidate, settings) for candidate in candidates)]
    with one_thread():
        values = [follow(rule, prior, skills, settings) for rule in rules]
    first, believed, true_q = map(np.array, zip(*values, strict=True))
    chosen = worth[np.arange(len(worth)), first]
    # The values of identical opponents differ by rounding errors.
    best = chosen >= worth.max(axis=1) - 1e-12
    return {"believed": believed, "true_q": true_q.mean(axis=2), "first_is_best": best}


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

    def choose(states: KnowledgeState, games_left: int) -> Integers:
        if callable(getattr(policy, "act", None)):
            actions = policy.act(MatchmakingView(states, games_left), None)
        else:
            shown = states.to_observation(games_left / settings.horizon)
            actions, memory = policy.predict(shown, None, np.ones(len(shown), np.bool_))
            refuse(memory is not None, "has a memory")
        return as_actions(actions, len(states), settings.num_opponents)

    def refuse(bad: bool, why: str) -> None:
        if bad:
            raise ValueError(f"policies must choose by the state alone, got {label!r}, which {why}")

    refuse(getattr(policy, "stochastic", False), "is stochastic")
    refuse(getattr(policy, "needs_truth", False), "reads the true skills")
    return choose


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
    count, constants = len(states), settings.constants
    outcomes, noise = len(constants.outcomes), math.sqrt(2.0) * constants.beta
    reach, true_reach = np.ones((count, 1)), np.ones((*skills.shape[:2], 1))
    value, true_value = np.zeros(count), np.zeros(skills.shape[:2])
    choices = []
    for games_left in range(settings.horizon, 0, -1):
        actions = rule(states, games_left)
        choices.append(actions)
        chosen = np.arange(len(actions)), actions
        densities = states.draw_density(constants.beta)[chosen].reshape(count, -1)
        value += (reach * densities).sum(axis=1)
        opponents = np.take_along_axis(skills, actions.reshape(count, 1, -1) + 1, axis=2)
        gaps = skills[:, :, :1] - opponents
        true_value += (true_reach * true_draw_density(gaps, 0.0, constants.beta)).sum(axis=2)
        chances = [states.outcome_probability(o, constants)[chosen] for o in constants.outcomes]
        won, lost = (ndtr((sign * gaps - constants.draw_margin) / noise) for sign in (1.0, -1.0))
        true_chances = (won, lost, 1.0 - won - lost)[:outcomes]
        # The successors of a node are adjacent.
        reach = np.repeat(reach, outcomes, axis=1) * np.stack(chances, axis=1).reshape(count, -1)
        true_reach = np.repeat(true_reach, outcomes, axis=2)
        true_reach *= np.stack(true_chances, axis=3).reshape(true_reach.shape)
        states = states.repeated(outcomes).after_games(
            np.repeat(actions, outcomes), np.tile(constants.outcomes, len(actions)), constants
        )
    return choices[0], value, true_value


def _check_size(settings: Settings) -> None:
    outcomes, games = len(settings.constants.outcomes), settings.horizon
    # In logarithms, since the numbers can overflow.
    sequences = (games - 1) * np.log10(outcomes * settings.num_opponents)
    if sequences > np.log10(MOST_SEQUENCES) or games * np.log10(outcomes) > np.log10(MOST_NODES):
        raise ValueError(
            f"horizon must be so small that (outcomes * num_opponents)^(horizon - 1) is at most "
            f"{MOST_SEQUENCES:,} and outcomes^horizon at most {MOST_NODES:,}, got {games} with "
            f"num_opponents={settings.num_opponents} and {outcomes} outcomes per game"
        )
