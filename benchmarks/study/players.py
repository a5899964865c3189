"""A policy through a block of paths: in the compiled loop, or through the environment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from matchenv import MatchmakingVectorEnv
from matchenv.baselines import DrawChance, KnowledgeGradient, Oracle, PointEstimate, Policy
from matchenv.baselines.skill_line import new_skill_line
from matchenv.belief import DEFAULT_BELIEF, PrintedBelief
from matchenv.benchmarks.compare.contestants import Contestant, Predicting, belief_of, policy_of
from matchenv.benchmarks.compare.playing import Chooser, one_thread
from matchenv.benchmarks.study.instances import Instances
from matchenv.benchmarks.study.paths import (
    DRAW_CHANCE,
    KNOWLEDGE_GRADIENT,
    MEASURES,
    ORACLE,
    POINT_ESTIMATE,
    play_paths,
)
from matchenv.settings import Settings

Floats = NDArray[np.float64]

COMPILED: dict[type[Policy], int] = {
    PointEstimate: POINT_ESTIMATE,
    DrawChance: DRAW_CHANCE,
    KnowledgeGradient: KNOWLEDGE_GRADIENT,
    Oracle: ORACLE,
}


def games_of(
    contestant: Contestant,
    game: Settings,
    instances: Instances,
    *,
    printed: bool,
    rng: np.random.Generator,
) -> Floats:
    """What a policy makes of the paths of a block.

    Args:
        contestant: the policy.
        game: horizon and constants of the games.
        instances: the paths.
        printed: play with the misprints of the paper.
        rng: for a policy that draws lots.

    Returns:
        Shape (B, 4, N), ``MEASURES`` of each game.
    """
    if printed:
        game = replace(game, belief=PrintedBelief.name)
    policy = policy_of(contestant, game, lambda: instances.true_skill)
    kind = compiled_kind(policy)
    if kind is None:
        return _through_the_environment(contestant, game, instances, rng)
    games = np.empty((*instances.mu.shape[:1], len(MEASURES), game.horizon))
    play_paths(
        kind,
        multipliers_of(policy, game.horizon),
        instances.mu.copy(),
        instances.sigma.copy(),
        instances.true_skill,
        instances.noise,
        game.beta,
        new_skill_line(game.num_opponents),
        games,
    )
    return games


def compiled_kind(policy: Policy | Predicting) -> int | None:
    """The number of a policy in the compiled loop, None for one that it does not know."""
    return COMPILED.get(type(policy)) if belief_of(policy) == DEFAULT_BELIEF else None  # type: ignore[arg-type]


def check_equations(contestants: tuple[Contestant, ...], game: Settings) -> None:
    """Refuse policies that know only the correct equations.

    Raises:
        ValueError: for a policy outside the compiled loop.
    """
    for contestant in contestants:
        if compiled_kind(policy_of(contestant, game, lambda: np.zeros(1))) is None:
            known = ", ".join(kind.name for kind in COMPILED)
            raise ValueError(
                f"with the printed equations policies must be of {known} on the factorised "
                f"belief, got {contestant.label!r}"
            )


def multipliers_of(policy: Policy | Predicting, horizon: int) -> Floats:
    """KG's multiplier at each game; not used by the others."""
    if isinstance(policy, KnowledgeGradient):
        return policy.multipliers(np.arange(horizon, 0, -1, dtype=np.float64))
    return np.zeros(horizon)


def _through_the_environment(
    contestant: Contestant, game: Settings, instances: Instances, rng: np.random.Generator
) -> Floats:
    count = len(instances.seeds)
    policy = policy_of(contestant, game, lambda: env.true_skill)
    env = MatchmakingVectorEnv(
        count,
        num_opponents=game.num_opponents,
        horizon=game.horizon,
        beta=game.beta,
        belief=belief_of(policy),
        autoreset_mode=AutoresetMode.DISABLED,
    )
    given = {
        "mu": instances.mu,
        "sigma": instances.sigma,
        "true_skill": instances.true_skill,
    }
    observation, _ = env.reset(seed=[*instances.seeds], options=given)
    chooser = Chooser(policy, env, rng)
    games = np.empty((count, len(MEASURES), game.horizon))
    with one_thread():
        for n in range(game.horizon):
            observation, _, _, _, info = env.step(chooser.choose(observation))
            for m, measure in enumerate(MEASURES[:3]):
                games[:, m, n] = info[measure]
            games[:, 3, n] = 0.5 * (1.0 + info["outcome"])
    return games
