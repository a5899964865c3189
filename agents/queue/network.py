"""Prices of waiting players by one network for all, and what a state of the queue is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from matchenv.agents.queue.best_plans import plan_margins
from matchenv.agents.shared.network import linear_layers
from matchenv.envs.queue.population import REGULAR_SHARE
from matchenv.envs.queue.settings import QUEUE_NUMBERS, QueueSettings

# Numbers of each player, and of the queue.
PLAYER_NUMBERS, STATE_NUMBERS = 4, 3
NUMBERS = PLAYER_NUMBERS + STATE_NUMBERS

# What is asked of a game before anything is learned, in match quality: less with each tick, with
# the square of the distance from the middle of the population, and with doubt beyond a regular's;
# the last two in standard deviations of the population. Tried by hand on seeds that no report uses.
FIRST_PRICE, LESS_PER_TICK, LESS_PER_SQUARE, LESS_PER_DOUBT = 0.47, 0.02, 0.02, 0.38
# Numbers of a player are moved by this, so that they are about zero on average.
PLACE_SHIFT, DOUBT_SHIFT, TICKS_SHIFT = 1.0, 0.8, 0.5
# What the price network's output of 1 adds to that: prices change slowly beside values.
PRICE_UNIT = 0.1
# A margin of this much is one unit of a logit at first.
FIRST_TEMPERATURE = 0.03
# A fresh value network's outputs have a size of 1, and values are of the order of this.
VALUE_UNIT = 10.0
# What a player who waits, and one who plays, adds to the value of a fresh network: the match
# quality of some five games, and four.
FIRST_WORTHS = (3.7, 3.0)


@dataclass(frozen=True)
class QueueConstants:
    """What the network must know of the environment, so that it plays under other numbers too.

    Attributes:
        mean: of the true skills of those who log on.
        deviation: their standard deviation.
        beta: standard deviation of one performance around skill.
        game_length: ticks that a game lasts.
    """

    mean: float
    deviation: float
    beta: float
    game_length: int

    @classmethod
    def of(cls, settings: QueueSettings) -> QueueConstants:
        """Those of an environment."""
        population = settings.population
        return cls(population.mean, population.deviation, settings.beta, settings.game_length)


@dataclass(frozen=True)
class QueueNumbers:
    """An observation as numbers of each player and of the queue.

    Attributes:
        mu: means, shape (n, C): the focal player, then the candidates.
        sigma: standard deviations, shape (n, C).
        present: where there is a player, shape (n, C), bool.
        players: shape (P, NUMBERS): what the network reads of each player who is there, row after
            row, and of the queue.
        state: shape (n, STATE_NUMBERS): of the queue alone.
        counts: players who wait and who play, shape (n, 2).
    """

    mu: torch.Tensor
    sigma: torch.Tensor
    present: torch.Tensor
    players: torch.Tensor
    state: torch.Tensor
    counts: torch.Tensor

    @classmethod
    def of(cls, observations: torch.Tensor, constants: QueueConstants) -> QueueNumbers:
        """Read observations of shape (n, 4 C + 3).

        No number depends on the unit of skill, on its zero, or on which end of it is up, nor on
        the capacity.
        """
        capacity = (observations.shape[1] - QUEUE_NUMBERS) // 4
        rows = observations[:, : 4 * capacity].reshape(-1, 4, capacity)
        mu, sigma, waited, present = rows.unbind(dim=1)
        waiting, to_ask, playing = (
            capacity * share / (1.0 - share) for share in observations[:, 4 * capacity :].T
        )
        ticks = constants.game_length * waited / (1.0 - waited)
        there = present > 0.5
        # Most places are empty where few wait, and cost nothing so.
        own = own_numbers(mu[there], sigma[there], ticks[there], constants)
        state = state_numbers(waiting, to_ask, playing, constants)
        players = torch.cat((own, state[there.nonzero()[:, 0]]), dim=1)
        return cls(mu, sigma, there, players, state, torch.stack((waiting, playing), dim=1))

    def spread(self, values: torch.Tensor) -> torch.Tensor:
        """Values of the players who are there, shape (P,), in their places, shape (n, C)."""
        places: torch.Tensor = torch.zeros_like(self.mu).masked_scatter(self.present, values)
        return places


def own_numbers(
    mu: torch.Tensor, sigma: torch.Tensor, ticks: torch.Tensor, constants: QueueConstants
) -> torch.Tensor:
    """What is read of players apart from the queue, shape (P, PLAYER_NUMBERS).

    Args:
        mu: means of their beliefs, shape (P,).
        sigma: standard deviations.
        ticks: that they have waited.
        constants: of the environment.
    """
    place = ((mu - constants.mean) / constants.deviation).abs().clamp_max(4.0)
    doubt = torch.log((sigma / constants.deviation).clamp(1e-2, 1e2))
    return torch.stack(
        (
            place - PLACE_SHIFT,
            0.5 * place * place - 0.5,
            doubt + DOUBT_SHIFT,
            torch.log1p(ticks) - TICKS_SHIFT,
        ),
        dim=1,
    )


def state_numbers(
    waiting: torch.Tensor, to_ask: torch.Tensor, playing: torch.Tensor, constants: QueueConstants
) -> torch.Tensor:
    """What is read of queues, shape (n, STATE_NUMBERS).

    Args:
        waiting: players who wait, shape (n,).
        to_ask: those who are to be asked about in this tick.
        playing: players in games: so many return in a game's length.
        constants: of the environment.
    """
    return torch.stack(
        (
            0.5 * torch.log(playing / constants.game_length + 0.1),
            0.5 * torch.log(waiting + 1.0) - 1.0,
            2.0 * to_ask / waiting.clamp_min(1.0) - 1.0,
        ),
        dim=1,
    )


def first_prices(players: torch.Tensor) -> torch.Tensor:
    """The prices of the rule that a fresh network starts from, shape (P, NUMBERS) to (P,)."""
    place, doubt = players[:, 0] + PLACE_SHIFT, torch.exp(players[:, 2] - DOUBT_SHIFT)
    ticks = torch.expm1(players[:, 3] + TICKS_SHIFT)
    return (
        FIRST_PRICE
        - LESS_PER_TICK * ticks
        - LESS_PER_SQUARE * place * place
        - LESS_PER_DOUBT * (doubt - REGULAR_SHARE)
    )


class PlanLogits(nn.Module):
    """Logits of the choices: margins of the best plan for all who are shown, at learned prices.

    A small network, the same for every player, gives each a price, as a correction to that of a
    rule; a game is worth its match quality less the mean of both prices. ``plan_margins`` says
    what each choice is worth to all, and the logits are that in units of a learned temperature.

    Args:
        widths: of the hidden layers.
        activation: between the layers.
    """

    def __init__(self, widths: list[int], activation: type[nn.Module] = nn.Tanh) -> None:
        super().__init__()
        self.prices = linear_layers([NUMBERS, *widths, 1], activation, 0.01)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(FIRST_TEMPERATURE)))

    def price(self, numbers: QueueNumbers) -> torch.Tensor:
        """What each player asks of a game, in match quality, shape (n, C)."""
        return numbers.spread(self.price_of(numbers.players))

    def price_of(self, players: torch.Tensor) -> torch.Tensor:
        """The same of players by their numbers, shape (P, NUMBERS) to (P,)."""
        price: torch.Tensor = first_prices(players) + PRICE_UNIT * self.prices(players)[:, 0]
        return price

    def forward(self, numbers: QueueNumbers, beta: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of shape (n, C), and how much the best choice is ahead of waiting, (n,)."""
        price = self.price(numbers)
        margins, slopes = plan_margins(
            *(_doubles(each) for each in (numbers.mu, numbers.sigma)),
            numbers.present.sum(dim=1).cpu().numpy(),
            _doubles(price),
            beta,
        )
        fixed = torch.from_numpy(margins.astype(np.float32)).to(price.device)
        slope = torch.from_numpy(slopes).to(price.device)
        # The values are the kernel's, the gradient is that of the linear piece.
        change = torch.bmm(slope, (price - price.detach()).unsqueeze(2)).squeeze(2)
        ahead = fixed.amax(dim=1)
        return (fixed + change) * torch.exp(-self.log_temperature), ahead


class PlayersValue(nn.Module):
    """Value of a state: what every player who waits adds to it, and what the queue's numbers say.

    Args:
        widths: of the hidden layers of both parts.
        activation: between the layers.
    """

    def __init__(self, widths: list[int], activation: type[nn.Module] = nn.Tanh) -> None:
        super().__init__()
        self.of_player = linear_layers([NUMBERS, *widths, 1], activation, 0.1)
        self.of_state = linear_layers([STATE_NUMBERS, *widths, 1], activation, 1.0)
        self.worths = nn.Parameter(torch.tensor(FIRST_WORTHS))

    def forward(self, numbers: QueueNumbers, ahead: torch.Tensor) -> torch.Tensor:
        """Values, shape (n, 1)."""
        added = numbers.spread(self.of_player(numbers.players)[:, 0]).sum(1, keepdim=True)
        whole = self.of_state(numbers.state)
        known = numbers.counts @ self.worths + ahead
        value: torch.Tensor = VALUE_UNIT * (added + whole) + known.unsqueeze(1)
        return value


def _doubles(tensor: torch.Tensor) -> Any:
    return tensor.detach().cpu().numpy().astype(np.float64)
