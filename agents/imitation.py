"""Imitation of a policy by a network, as an algorithm of stable-baselines3.

The network plays, and learns the teacher's choice in each state that it visits (DAgger: Ross,
Gordon, Bagnell 2011). It learns its value from the rewards of its own games, so that PPO or TRPO
can start from both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.type_aliases import GymEnv
from stable_baselines3.common.utils import explained_variance
from torch.nn import functional

from matchenv.evaluation.registry import FROM_SETTINGS, policy_named
from matchenv.evaluation.rollout import has_method, needs_truth


class LabelledRollouts(RolloutBuffer):
    """Rollouts of the student, with the teacher's actions in place of the student's.

    Attributes:
        teacher: the policy that labels the observations; set before the first rollout.
        agreements: share of equal actions in each step of the rollout.
    """

    teacher: Any

    def reset(self) -> None:
        """Start a new rollout."""
        super().reset()
        self.agreements: list[float] = []

    def add(self, obs: Any, action: Any, *others: Any) -> None:
        """Add a step; arguments as for ``RolloutBuffer.add``."""
        if getattr(self.teacher, "stochastic", False):
            # Seeded by the global generator, which the training seeds.
            self.teacher._rng = np.random.default_rng(np.random.randint(2**31))  # noqa: NPY002
        labels = np.asarray(self.teacher.predict(obs)[0]).reshape(action.shape)
        self.agreements.append(float((labels == action).mean()))
        super().add(obs, labels, *others)


class Imitation(PPO):
    """Learn a teacher's choices by maximum likelihood.

    Args:
        policy: an actor-critic policy.
        env: the environment.
        teacher: name of a policy, as for ``matchenv.agents.policy_named``. It reads the student's
            observations, so it must read the belief of the environment.
        others: arguments of ``PPO`` that the attribute ``others`` lists. ``vf_coef`` is the weight
            of the value's squared error relative to the negative log-likelihood.

    Raises:
        ValueError: for a teacher that is unknown, cannot play in the environment, reads another
            belief or must know the true skills.
    """

    rollout_buffer: LabelledRollouts
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": ActorCriticPolicy}
    # Further hyperparameters and their defaults.
    others: ClassVar[dict[str, Any]] = {
        "learning_rate": 3e-3,
        "n_steps": 500,
        "batch_size": 2000,
        "n_epochs": 3,
        "gamma": 0.99,
        "gae_lambda": 0.98,
        "vf_coef": 0.5,
        "max_grad_norm": 1.0,
    }

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv,
        teacher: str = "gittins",
        **others: Any,
    ) -> None:
        self.teacher = teacher
        super().__init__(
            policy, env, rollout_buffer_class=LabelledRollouts, **{**self.others, **others}
        )

    def _setup_model(self) -> None:
        super()._setup_model()
        assert self.env is not None
        self.rollout_buffer.teacher = teacher_for(self.teacher, self.env.get_attr("settings"))

    def train(self) -> None:
        """Learn from the last rollout."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        losses = []
        for _ in range(self.n_epochs):
            for batch in self.rollout_buffer.get(self.batch_size):
                values, likelihoods, entropies = self.policy.evaluate_actions(
                    batch.observations, batch.actions.long().flatten()
                )
                assert entropies is not None  # as for all discrete actions
                imitation = -likelihoods.mean()
                value = functional.mse_loss(values.flatten(), batch.returns)
                self.policy.optimizer.zero_grad()
                (imitation + self.vf_coef * value).backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
                self.policy.optimizer.step()
                losses.append((imitation.item(), value.item(), entropies.mean().item()))
        self._n_updates += self.n_epochs
        buffer = self.rollout_buffer
        explained = explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        loss, value_loss, entropy = np.mean(losses, axis=0)
        self.logger.record("train/loss", float(loss))
        self.logger.record("train/value_loss", float(value_loss))
        self.logger.record("train/entropy", float(entropy))
        self.logger.record("train/agreement", float(np.mean(buffer.agreements)))
        self.logger.record("train/explained_variance", float(explained))


def teacher_for(name: str, settings: Sequence[Any]) -> Any:
    """Return a policy that can teach in all environments of a training.

    Args:
        name: as for ``matchenv.agents.policy_named``.
        settings: settings of each environment.

    Raises:
        ValueError: see ``Imitation``.
    """
    first = settings[0]
    for option in FROM_SETTINGS:
        value = getattr(first, option, None)
        if any(getattr(other, option, None) != value for other in settings):
            raise ValueError(f"{option} must not be a list where {name!r} teaches")
    teacher = policy_named(name, first)
    student_belief = getattr(first, "belief", None)
    belief = getattr(teacher, "belief", student_belief)
    if belief != student_belief:
        raise ValueError(
            f"teacher must read the belief of the environment, {student_belief!r}, and {name!r} "
            f"reads {belief!r}: choose --belief {belief}"
        )
    if needs_truth(teacher) or not has_method(teacher, "predict"):
        raise ValueError(f"teacher must choose from observations, {name!r} does not")
    return teacher
