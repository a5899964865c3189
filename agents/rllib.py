"""The shared network as an RLModule of RLlib; requires ray with RLlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule

from matchenv.agents.environments import DEFAULT_ENVIRONMENT
from matchenv.agents.learned_names import RLLIB_FILE
from matchenv.agents.policy_file import PolicyDescription, save_policy
from matchenv.agents.run_config import SHARED


class SharedModule(TorchRLModule, ValueFunctionAPI):  # type: ignore[misc]
    """The network of ``matchenv.agents.network``, for PPO and similar algorithms.

    Its ``model_config`` has ``environment``, by default ``"Matchmaking-v0"``, ``env_kwargs``, the
    options of the environment, and ``policy_kwargs``, as in a YAML file of ``matchenv train``.
    Every checkpoint of RLlib also gets the file that ``matchenv.agents.load`` reads: weights and a
    description, without pickled objects.
    """

    def setup(self) -> None:
        """Build the network from ``model_config``."""
        self.description = PolicyDescription(
            algorithm="ppo",
            policy=SHARED,
            policy_kwargs=dict(self.model_config.get("policy_kwargs", {})),
            env_kwargs=dict(self.model_config.get("env_kwargs", {})),
            environment=self.model_config.get("environment", DEFAULT_ENVIRONMENT),
        )
        self.network: Any = self.description.network()

    def _numbers(self, batch: dict[str, Any]) -> Any:
        return self.network.features_extractor(batch[Columns.OBS].float())

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        logits = self.network.mlp_extractor.forward_actor(self._numbers(batch))
        return {Columns.ACTION_DIST_INPUTS: logits}

    def _forward_train(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        numbers = self._numbers(batch)  # shared by actor and critic
        logits = self.network.mlp_extractor.forward_actor(numbers)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: numbers}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        """Return the values of a batch of states, shape (n,)."""
        numbers = embeddings
        if numbers is None:
            numbers = self._numbers(batch)
        return self.network.mlp_extractor.forward_critic(numbers).squeeze(-1)

    def save_to_path(self, *arguments: Any, **options: Any) -> str:
        """Save as RLlib does; on a local disk also a file that ``load`` reads."""
        folder = str(super().save_to_path(*arguments, **options))
        if Path(folder).is_dir():
            save_policy(Path(folder) / RLLIB_FILE, self.network, self.description)
        return folder
