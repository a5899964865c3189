"""A trained shared network as a policy, for any number of opponents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import torch
from gymnasium import spaces
from stable_baselines3.common.policies import BasePolicy

from matchenv.agents.learned_policy import GAMES, LearnedPolicy
from matchenv.agents.shared.rows import OpponentNumbers
from matchenv.envs.one_player.simulator import observation_space
from matchenv.settings import Settings


class SharedLearnedPolicy(LearnedPolicy):
    """A trained shared network, for any number of opponents, horizon and unit of skill.

    Its weights are the same for every opponent, and it reads skills in units of beta and the share
    of games left. It does not know of draws or of a drift that the training did not have: there it
    plays by the belief as everywhere.
    """

    def for_settings(self, settings: Settings) -> Self:
        """The same weights for an environment; all of it may be other than in the training.

        Args:
            settings: of the environment.

        Raises:
            ValueError: if the policy's belief cannot follow the games, such as the full belief
                where skills drift.
        """
        assert self.settings is not None
        games = {name: getattr(settings, name) for name in GAMES}
        if all(getattr(self.settings, name) == value for name, value in games.items()):
            return self
        try:
            # The place of the training may be one that a smaller field does not have.
            told = replace(self.settings, rank=None, **games)
        except ValueError as error:
            raise ValueError(
                f"the policy {self.name} reads the {self.belief} belief and cannot play: {error}"
            ) from None
        network = _for_environment(self.network, told)
        return type(self)(self.name, network, self.belief, told)


def is_shared(network: BasePolicy) -> bool:
    """Whether a network reads numbers that are alike for every opponent."""
    return any(isinstance(module, OpponentNumbers) for module in network.modules())


def _for_environment(network: Any, settings: Settings) -> BasePolicy:
    """A network with the same weights for other settings."""
    # Weights are drawn before they are replaced: whoever draws choices must not notice.
    with torch.random.fork_rng(devices=[]):
        made: BasePolicy = type(network)(
            **{
                **network._get_constructor_parameters(),
                "observation_space": observation_space(settings),
                "action_space": spaces.Discrete(settings.num_opponents),
                "belief": settings.belief,
                "beta": settings.beta,
            }
        )
    made.load_state_dict(network.state_dict())
    made.set_training_mode(False)
    return made.to(network.device)
