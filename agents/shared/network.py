"""Scores of the opponents and the value of a state, with the same weights for every opponent."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import nn

from matchenv.agents.shared.rows import CONTEXT, DENSITY, OFFLINE, ROWS, split_numbers

# Hidden layers start as stable-baselines3's, and so does the last one: small, so that at first
# all opponents are about equally likely.
HIDDEN_GAIN, LAST_GAIN, VALUE_GAIN = math.sqrt(2.0), 0.01, 1.0


class OpponentScores(nn.Module):
    """Scores of every opponent: its numbers, weighed as the state asks for.

    A small network reads the numbers of the state and gives a weight for each number of an
    opponent. The cost is that of five multiplications for each opponent. Opponents
    who are offline get a score that nobody chooses.

    Args:
        widths: of the hidden layers of that network.
        activation: between its layers.
        outputs: scores of each opponent, such as quantiles.
    """

    def __init__(
        self, widths: list[int], activation: type[nn.Module] = nn.Tanh, outputs: int = 1
    ) -> None:
        super().__init__()
        self.outputs = outputs
        self.weights = linear_layers([CONTEXT, *widths, outputs * ROWS], activation, LAST_GAIN)

    def forward(self, flat: torch.Tensor) -> torch.Tensor:
        """Scores, shape (n, outputs * M), from what ``OpponentNumbers`` gives."""
        rows, online, context = split_numbers(flat)
        weights = self.weights(context).view(-1, self.outputs, ROWS)
        scores = torch.bmm(weights, rows) + OFFLINE * (1.0 - online).unsqueeze(1)
        return scores.flatten(1)


class PooledValue(nn.Module):
    """Value of a state: from its numbers, and the opponents' as means over all and over the best.

    Args:
        widths: of the hidden layers.
        activation: between the layers.
        outputs: values of each state, such as quantiles.
    """

    def __init__(
        self, widths: list[int], activation: type[nn.Module] = nn.Tanh, outputs: int = 1
    ) -> None:
        super().__init__()
        self.layers = linear_layers([CONTEXT + 2 * ROWS, *widths, outputs], activation, VALUE_GAIN)

    def forward(self, flat: torch.Tensor) -> torch.Tensor:
        """Values, shape (n, outputs), from what ``OpponentNumbers`` gives."""
        rows, online, context = split_numbers(flat)
        near = online * torch.exp(rows[:, DENSITY])
        pooled = [
            torch.bmm(rows, (share / share.sum(1, keepdim=True)).unsqueeze(2)).squeeze(2)
            for share in (near, online)
        ]
        values: torch.Tensor = self.layers(torch.cat((context, *pooled), dim=1))
        return values


class ActionValues(nn.Module):
    """Values of all actions: the value of the state, and each opponent's score.

    Args:
        widths: of the hidden layers of both parts.
        activation: between the layers.
        outputs: values of each action, such as quantiles.
    """

    def __init__(
        self, widths: list[int], activation: type[nn.Module] = nn.ReLU, outputs: int = 1
    ) -> None:
        super().__init__()
        self.scores = OpponentScores(widths, activation, outputs)
        self.value = PooledValue(widths, activation, outputs)
        self.outputs = outputs

    def forward(self, flat: torch.Tensor) -> torch.Tensor:
        """Values, shape (n, outputs * M), from what ``OpponentNumbers`` gives."""
        scores = self.scores(flat).view(flat.shape[0], self.outputs, -1)
        return (scores + self.value(flat).unsqueeze(2)).flatten(1)


def linear_layers(
    widths: list[int], activation: type[nn.Module], last_gain: float
) -> nn.Sequential:
    """Linear layers with an activation between them, and biases of zero.

    Args:
        widths: of the input, the hidden layers and the output.
        activation: between the layers.
        last_gain: size of what the last layer gives at first.
    """
    layers: list[nn.Module] = []
    for number, (width, following) in enumerate(pairwise(widths)):
        last = number == len(widths) - 2
        layer = nn.Linear(width, following)
        nn.init.orthogonal_(layer.weight, last_gain if last else HIDDEN_GAIN)
        nn.init.zeros_(layer.bias)
        layers += [layer] if last else [layer, activation()]
    return nn.Sequential(*layers)
