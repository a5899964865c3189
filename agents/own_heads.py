"""Policies whose network gives logits and values itself, without layers of the library."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from stable_baselines3.common.type_aliases import Schedule
from torch import nn


class OwnHeads:
    """For a subclass of an actor-critic policy, in front of the library's class.

    The library would put linear layers behind the network, with weights for each place in the
    list of actions.
    """

    @abstractmethod
    def _logits_and_value(self, widths: dict[str, list[int]]) -> nn.Module:
        """The network, as stable-baselines3's ``MlpExtractor``: logits and a value for latents.

        Args:
            widths: of the hidden layers, ``pi`` and ``vf``.
        """

    def _build_mlp_extractor(self: Any) -> None:
        given = self.net_arch
        widths = given if isinstance(given, dict) else {"pi": given, "vf": given}
        self.add_module("mlp_extractor", self._logits_and_value(widths).to(self.device))

    def _build(self: Any, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)  # type: ignore[misc]
        self.add_module("action_net", nn.Identity())
        self.add_module("value_net", nn.Identity())
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )
