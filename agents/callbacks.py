"""Callbacks of a training: evaluations, checkpoints, the progress bar.

Evaluations and checkpoints are made between two rollouts. They use no random number of the
training, so they do not change what it learns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter
from tqdm import tqdm

from matchenv.agents.checkpoints import save_checkpoint
from matchenv.agents.environments import PROBLEMS, evaluate, played
from matchenv.agents.learned_policy import LearnedPolicy
from matchenv.agents.policy_file import PolicyDescription, save_policy
from matchenv.agents.run_config import RunConfig
from matchenv.agents.run_folder import RunFolder
from matchenv.belief import DEFAULT_BELIEF
from matchenv.evaluation.seeds import evaluation_seed
from matchenv.runtime.files import Arrays


class Keeper(BaseCallback):
    """Evaluate a training at intervals, save it, and show how far it is.

    An evaluation plays held-out games; the rivals of the ``Problem`` play them too, once. It is
    written to TensorBoard at once, so that the last one and those of short trainings are there too.

    Args:
        folder: of the run.
        config: of the run.
        description: of the policy, for its file.
        evaluations: those made before; new ones are added.
        bar: progress over the timesteps of the whole training.
    """

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        description: PolicyDescription,
        evaluations: list[dict[str, Any]],
        bar: tqdm[Any],
    ) -> None:
        super().__init__()
        self.folder, self.config, self.description = folder, config, description
        self.evaluations, self._bar = evaluations, bar
        self._rivals: dict[str, list[Arrays]] = {}
        self._saved = 0

    def _on_training_start(self) -> None:
        self._saved = self.model.num_timesteps

    def _on_step(self) -> bool:
        self._bar.update(self.model.num_timesteps - self._bar.n)
        return True

    def _on_rollout_start(self) -> None:
        now = self.model.num_timesteps
        last = self.evaluations[-1]["timesteps"] if self.evaluations else -1
        if now // self.config.evaluate_every > last // self.config.evaluate_every:
            self._evaluate()
        if now // self.config.checkpoint_every > self._saved // self.config.checkpoint_every:
            self._save()

    def _on_training_end(self) -> None:
        if not self.evaluations or self.evaluations[-1]["timesteps"] != self.model.num_timesteps:
            self._evaluate()
        self._save()

    def _save(self) -> None:
        self._saved = self.model.num_timesteps
        save_checkpoint(self.folder.checkpoints, self.model, self.config, self.evaluations)
        save_policy(self.folder.policy_file, self.model.policy, self.description)

    def _evaluate(self) -> None:
        config, seed = self.config, evaluation_seed(self.config.seed)
        games = (config.environment, config.env_kwargs, config.evaluation_episodes, seed)
        if not self._rivals:
            rivals = PROBLEMS[config.environment].rivals
            self._rivals = {rival: played(rival, *games) for rival in rivals}
        settings, network = self.description.settings(), self.model.policy
        belief, training = getattr(settings, "belief", DEFAULT_BELIEF), network.training
        policy = LearnedPolicy("in training", network, belief, settings)
        result = evaluate(policy, *games, self._rivals)
        network.set_training_mode(training)
        best = max((each["mean_return"] for each in self.evaluations), default=-np.inf)
        if result["mean_return"] > best:
            save_policy(self.folder.best_policy_file, network, self.description)
        self.evaluations.append({"timesteps": self.model.num_timesteps, **result})
        self.folder.write_evaluations(seed, self.evaluations)
        self._bar.set_postfix_str(standing(config.environment, result))
        # Written here: the library writes recorded values at the next of its own intervals, and
        # after the last evaluation there is none.
        tags = {f"evaluation/{name}": value for name, value in result.items()}
        for each in self.logger.output_formats:
            each.write(tags, dict.fromkeys(tags, ()), self.model.num_timesteps)


def standing(environment: str, result: dict[str, float | int]) -> str:
    """Return the distance to the baselines in an evaluation, for the progress bar."""
    problem = PROBLEMS[environment]
    if problem.part:
        return f"{result['mean_return']:.1%} of {problem.rivals[0]}"
    distances = [f"{result[f'{problem.difference}_{rival}']:+.1f} to {rival}"
                 for rival in problem.rivals]  # fmt: skip
    name = problem.measure if problem.measure in result else "mean_return"
    return f"{name.replace('_', ' ')} {result[name]:.1f}: {', '.join(distances)}"


class Recorder(KVWriter):
    """Output of stable-baselines3's logger: call a function with numbers and a step.

    Args:
        record: called with the numbers by name, and with the games played so far, as
            ``wandb.log`` and ``mlflow.log_metrics`` are.
    """

    def __init__(self, record: Callable[[dict[str, float], int], Any]) -> None:
        self._record = record

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        """Record the entries that are numbers."""
        numbers = {name: float(value) for name, value in key_values.items()
                   if isinstance(value, int | float | np.number)}  # fmt: skip
        self._record(numbers, step)

    def close(self) -> None:
        """Do nothing: nothing is open."""
