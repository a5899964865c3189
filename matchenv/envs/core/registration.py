"""The record of what is known about an environment, and the list of all records.

Rooms below cannot import rooms above, so a record names its parts as ``module:name``. They are
imported on first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import gymnasium

from matchenv.runtime.checks import as_choice, refusal

if TYPE_CHECKING:
    from matchenv.envs.core.settings import Options
    from matchenv.envs.core.simulator import Simulator


@dataclass(frozen=True)
class Environment:
    """What is known about an environment.

    Parts are ``module:name``, or the objects themselves. Only the first five are required.

    Attributes:
        env_id: name in Gymnasium.
        settings: dataclass of the options, a subclass of ``Options``.
        simulator: class of the simulator, a subclass of ``Simulator``.
        env: class of the scalar environment, a subclass of ``ScalarEnv``.
        vector_env: class of the native vector environment, a subclass of ``NativeVectorEnv``.
        renderer: class that draws pictures, a ``matchenv.rendering.SceneRenderer``.
        protocol: how policies are compared, a ``matchenv.evaluation.protocols.Protocol``; by
            default the sum of rewards with default options.
        policies: baselines by name, each a class.
        reader: how the shared network reads observations, a ``matchenv.agents.network.Reader``.
        training: how a training is evaluated, a ``matchenv.agents.environments.Training``; by
            default its mean return.
        hyperparameters: folder of a package with the hyperparameters of trainings, as
            ``package:folder``. ``matchenv train --algo ppo`` reads ``ppo.yml`` of it, and
            ``--config NAME`` reads ``NAME.yml``, from the section with the environment's name.
    """

    env_id: str
    settings: str | type
    simulator: str | type
    env: str | type
    vector_env: str | type
    renderer: str | type | None = None
    protocol: str | Any = None
    policies: Mapping[str, str | type] = field(default_factory=dict)
    reader: str | type | None = None
    training: str | Any = None
    hyperparameters: str | None = None

    def part(self, name: str) -> Any:
        """Return a part, imported if it is a string; None if there is none.

        Args:
            name: a field of this record.
        """
        value = getattr(self, name)
        return resolve_name(value) if isinstance(value, str) else value


# All registered environments, by name.
ENVIRONMENTS: dict[str, Environment] = {}

# Objects that find policies by other names than those of classes, as ``module:name``; see
# ``matchenv.evaluation.registry.PolicySource``.
POLICY_SOURCES: list[str] = []


def register_environment(environment: Environment) -> None:
    """Make an environment known to Gymnasium, to comparisons, to trainings and to commands.

    Raises:
        ValueError: if another environment has this name.
    """
    known = ENVIRONMENTS.get(environment.env_id)
    if known is not None and known != environment:
        raise refusal("env_id must be new", environment.env_id)
    ENVIRONMENTS[environment.env_id] = environment
    gymnasium.register(
        id=environment.env_id,
        entry_point=environment.env,  # type: ignore[arg-type]
        vector_entry_point=environment.vector_env,  # type: ignore[arg-type]
    )


def environment_named(env_id: str) -> Environment:
    """Return the record of a registered environment.

    Raises:
        ValueError: for an unknown name; the known ones are listed.
    """
    return ENVIRONMENTS[as_choice("env", env_id, ENVIRONMENTS)]


def environment_of(settings: Options) -> Environment:
    """Return the record of the environment that settings belong to.

    Raises:
        ValueError: if ``settings`` are not those of a registered environment.
    """
    env_id = getattr(settings, "env_id", None)
    if env_id not in ENVIRONMENTS:
        raise refusal("settings must be the settings of an environment", settings)
    return ENVIRONMENTS[env_id]


def simulator_of(settings: Options) -> Simulator[Any]:
    """Return a simulator of the environment that settings belong to.

    Raises:
        ValueError: see ``environment_of``.
    """
    simulator: Simulator[Any] = environment_of(settings).part("simulator")(settings)
    return simulator
