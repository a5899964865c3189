"""The environments: simulators, which share one scalar and one vector environment.

``ENVIRONMENTS`` lists their parts; a new environment is an entry there.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from matchenv.runtime.checks import as_choice, refusal

if TYPE_CHECKING:
    from matchenv.envs.core.settings import Options
    from matchenv.envs.core.simulator import Simulator


class Environment(NamedTuple):
    """Parts of an environment as ``module:name``, imported on first use.

    Attributes:
        settings: dataclass of the options.
        simulator: class of the simulator.
        env: the scalar environment.
        vector_env: the native vector environment.
        renderer: class of the renderer; "" for none.
        protocol: how policies are compared.
    """

    settings: str
    simulator: str
    env: str
    vector_env: str
    renderer: str = ""
    protocol: str = "matchenv.evaluation.protocols:GENERAL"


ENVIRONMENTS = {
    "Matchmaking-v0": Environment(
        settings="matchenv.envs.one_player.settings:Settings",
        simulator="matchenv.envs.one_player.simulator:OnePlayer",
        env="matchenv.envs.one_player.env:MatchmakingEnv",
        vector_env="matchenv.envs.one_player.env:MatchmakingVectorEnv",
        renderer="matchenv.rendering.one_player:OnePlayerRenderer",
        protocol="matchenv.evaluation.protocols:ONE_PLAYER",
    ),
    "MatchmakingQueue-v0": Environment(
        settings="matchenv.envs.queue.settings:QueueSettings",
        simulator="matchenv.envs.queue.simulator:QueueSimulator",
        env="matchenv.envs.queue.env:MatchmakingQueueEnv",
        vector_env="matchenv.envs.queue.env:MatchmakingQueueVectorEnv",
        renderer="matchenv.rendering.queue:QueueRenderer",
        protocol="matchenv.evaluation.protocols:QUEUE",
    ),
    "Ranking-v0": Environment(
        settings="matchenv.envs.ranking:RankingSettings",
        simulator="matchenv.envs.ranking:RankingSimulator",
        env="matchenv.envs.ranking:RankingEnv",
        vector_env="matchenv.envs.ranking:RankingVectorEnv",
        renderer="matchenv.rendering.ranking:RankingRenderer",
        protocol="matchenv.evaluation.protocols:RANKING",
    ),
}


def part_of(env_id: str, part: str) -> Any:
    """Import a part of an environment.

    Args:
        env_id: a name of ``ENVIRONMENTS``.
        part: a field of ``Environment``.

    Raises:
        ValueError: for an unknown environment, or one without this part.
    """
    as_choice("env", env_id, ENVIRONMENTS)
    module, _, name = getattr(ENVIRONMENTS[env_id], part).partition(":")
    if not module:
        raise ValueError(f"env must be one with a {part}, got {env_id!r}")
    return getattr(import_module(module), name)


def simulator_of(settings: Options) -> Simulator[Any]:
    """Return the simulator of an environment with these settings."""
    return part_of(env_id_of(settings), "simulator")(settings)


def env_id_of(settings: Options) -> str:
    """Return the name of the environment that these settings belong to."""
    kind = f"{type(settings).__module__}:{type(settings).__qualname__}"
    for env_id, parts in ENVIRONMENTS.items():
        if parts.settings == kind:
            return env_id
    raise refusal("settings must be the settings of an environment", settings)
