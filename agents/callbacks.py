"""Progress bar, evaluations and checkpoints of a training.

Evaluations and checkpoints are made between two rollouts. They use no random number of the
training, so they do not change what it learns.
"""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.callbacks import BaseCallback
from tqdm import tqdm

from matchenv.agents.checkpoints import save_checkpoint
from matchenv.agents.evaluation import Floats
from matchenv.agents.policy_file import PolicyDescription, save_policy
from matchenv.agents.run_config import RunConfig
from matchenv.agents.run_folder import RunFolder
from matchenv.evaluation.seeds import evaluation_seed
from matchenv.runtime.signals import SafePoint


class Progress(BaseCallback):
    """A progress bar over the timesteps, with the last evaluation beside it.

    Args:
        total: timesteps of the whole training.
        evaluations: the list that ``Evaluation`` fills.
        quiet: no bar.
    """

    def __init__(self, total: int, evaluations: list[dict[str, Any]], quiet: bool) -> None:
        super().__init__()
        self._total, self._evaluations, self._quiet = total, evaluations, quiet
        self._bar: tqdm[Any] | None = None

    def _on_training_start(self) -> None:
        self._bar = tqdm(
            total=self._total, initial=self.num_timesteps, unit="step", disable=self._quiet
        )

    def _on_step(self) -> bool:
        if self._bar is not None:
            self._bar.update(self.model.num_timesteps - self._bar.n)
        return True

    def _on_rollout_start(self) -> None:
        if self._bar is not None and self._evaluations:
            self._bar.set_postfix_str(
                f"evaluation {self._evaluations[-1]['mean_return']:.2f}", refresh=False
            )

    def _on_training_end(self) -> None:
        if self._bar is not None:
            self._bar.close()


class Evaluation(BaseCallback):
    """Play held-out games at intervals; keep the results and the best policy.

    A baseline, KG or the queue's matching, plays the same games once. Each evaluation is written
    to TensorBoard at once, so that the last one and those of short trainings are there too.

    Args:
        folder: of the run.
        config: of the run.
        description: of the policy, for its file.
        evaluations: those made before; new ones are added.
    """

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        description: PolicyDescription,
        evaluations: list[dict[str, Any]],
    ) -> None:
        super().__init__()
        self._folder, self._config, self._description = folder, config, description
        self._rival: Floats | None = None
        self.evaluations = evaluations

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        every = self._config.evaluate_every
        last = self.evaluations[-1]["timesteps"] if self.evaluations else None
        now = self.model.num_timesteps
        if last is None or now // every > last // every:
            self._evaluate()

    def _on_training_end(self) -> None:
        if not self.evaluations or self.evaluations[-1]["timesteps"] != self.model.num_timesteps:
            self._evaluate()

    def _evaluate(self) -> None:
        config, seed = self._config, evaluation_seed(self._config.seed)
        task = config.task
        games = (config.env_kwargs, config.evaluation_episodes, seed)
        if self._rival is None:
            self._rival = task.rival_totals(*games)
        policy = task.learned("in training", self.model.policy, self._description.settings())
        result = task.evaluate(policy, *games, self._rival)
        best = max((each["mean_return"] for each in self.evaluations), default=None)
        if best is None or result["mean_return"] > best:
            save_policy(self._folder.best_policy_file, self.model.policy, self._description)
        self.evaluations.append({"timesteps": self.model.num_timesteps, **result})
        self._folder.write_evaluations(seed, self.evaluations)
        # Written here: the library writes recorded values at the next of its own intervals, and
        # after the last evaluation there is none.
        tags = {f"evaluation/{name}": value for name, value in result.items()}
        for each in self.logger.output_formats:
            each.write(tags, dict.fromkeys(tags, ()), self.model.num_timesteps)


class Checkpoints(BaseCallback):
    """Save the training and its policy at intervals and at the end.

    Args:
        folder: of the run.
        config: of the run.
        description: of the policy, for its file.
        evaluations: the list that ``Evaluation`` fills.
        safe_point: told that the training can be stopped, once a checkpoint is written.
    """

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        description: PolicyDescription,
        evaluations: list[dict[str, Any]],
        safe_point: SafePoint,
    ) -> None:
        super().__init__()
        self._folder, self._config, self._safe_point = folder, config, safe_point
        self._description, self._evaluations = description, evaluations
        self._last = 0

    def _on_training_start(self) -> None:
        self._last = self.model.num_timesteps

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        if self._safe_point.asked:
            self._save()
            self._safe_point.stop()
        every = self._config.checkpoint_every
        if self.model.num_timesteps // every > self._last // every:
            self._save()

    def _on_training_end(self) -> None:
        self._save()

    def _save(self) -> None:
        self._last = self.model.num_timesteps
        save_checkpoint(self._folder.checkpoints, self.model, self._config, self._evaluations)
        save_policy(self._folder.policy_file, self.model.policy, self._description)
