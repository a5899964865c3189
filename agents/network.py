"""The shared network: one set of weights for all actions, algorithms and environments.

A reader converts an observation into *rows*, some numbers of each action, and a *context*, numbers
of the whole state. A small network scores each row in its context: it corrects the row's first
number, a score that needs no learning, or gives weights to all of its numbers. So the weights
depend neither on the number of actions nor on their order. A new environment needs only a reader,
which its record names.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, TypeAlias

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from matchenv.belief.belief import Belief, difference_variance
from matchenv.envs import environment_of, simulator_of
from matchenv.envs.core.settings import Options
from matchenv.envs.core.space import ObservationBox
from matchenv.envs.queue.settings import (
    ACTION_NUMBERS,
    LOBBY_ACTION_NUMBERS,
    QUEUE_NUMBERS,
    QueueSettings,
)

# Observations are read in blocks that fit into the processor's cache.
AT_ONCE = 1024

# Added to the score of a forbidden action.
NOT_ALLOWED = -1e9

# Squashed distances to the best score: a distance of 1/20 is about 1, and none exceeds 4.
STEEPNESS = 20.0
FARTHEST = 4.0

# Lower bounds that keep logarithms and roots finite.
LEAST_VARIANCE = 1e-3
LEAST_SQUARE = 1e-6
LEAST_SPREAD = 0.01

# Gains of the initial weights, as in stable-baselines3. The last layer of the scores starts small,
# so that the rows' first numbers decide at first.
HIDDEN_GAIN = math.sqrt(2.0)
LAST_GAIN = 0.01
VALUE_GAIN = 1.0

# Hidden units of the network that computes the weights of linear scores.
LINEAR_WIDTH = 16

# The library draws a layer of latent_dim_pi x M weights, which ``SharedPolicy`` replaces. A seed's
# random numbers depend on these draws, but with more actions they would exhaust memory.
MOST_DRAWN = 2_000


class Numbers(NamedTuple):
    """Rows and context of n observations with M actions each.

    Attributes:
        rows: shape (n, R, M); the first number is a score, the second the logarithm of an action's
            weight in averages over the good actions.
        allowed: 1 for an allowed action, else 0, shape (n, M).
        context: shape (n, K).
    """

    rows: torch.Tensor
    allowed: torch.Tensor
    context: torch.Tensor


# The same, with a tensor of shape (n, M) for each number of the rows.
Columns: TypeAlias = tuple[Sequence[torch.Tensor], torch.Tensor, torch.Tensor]


class Reader(BaseFeaturesExtractor):
    """Convert the observations of one environment to rows and context; has no weights.

    A subclass defines ``row_size``, ``context_size`` and ``read``. Constants of the game, for
    example beta, are in ``settings``.

    Args:
        observation_space: observation space of the environment, with its options.

    Attributes:
        settings: settings of the environment.
        num_actions: M.
        row_size: R, numbers of each action.
        context_size: K, numbers of the state.
        hidden_numbers: indices of the numbers that scores with a hidden layer read; () for all.
        linear_numbers: indices of the numbers that linear scores read; () for all.

    Raises:
        ValueError: for a space of another environment, or of a wrapper that changes observations.
    """

    row_size: ClassVar[int]
    context_size: ClassVar[int]
    hidden_numbers: ClassVar[tuple[int, ...]] = ()
    linear_numbers: ClassVar[tuple[int, ...]] = ()
    low: torch.Tensor  # lower bounds of an observation

    def __init__(self, observation_space: spaces.Box) -> None:
        settings = settings_of_space(observation_space)
        num_actions = simulator_of(settings).num_actions
        super().__init__(observation_space, (self.row_size + 1) * num_actions + self.context_size)
        self.settings = settings
        self.num_actions = num_actions
        self.register_buffer("low", torch.from_numpy(observation_space.low), persistent=False)

    @classmethod
    def for_settings(cls, settings: Options) -> type[Reader]:
        """Return the reader for an environment with these settings, by default this one."""
        return cls

    @abstractmethod
    def read(self, observations: torch.Tensor) -> Columns:
        """Return rows, allowed actions and context of observations, shape (n, size)."""

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return the numbers of each observation as one row, for ``split``.

        Raises:
            ValueError: during training, for observations below the bounds of the space.
        """
        if self.training:
            below = observations < self.low
            if below.any():
                raise ValueError(
                    "observations must be those of the environment, got "
                    f"{observations[below].min():g} below its least value; use "
                    "VecNormalize(norm_obs=False)"
                )
        flat = observations.new_empty(len(observations), self.features_dim)
        for first in range(0, len(flat), AT_ONCE):
            block = slice(first, first + AT_ONCE)
            rows, allowed, context = self.read(observations[block])
            torch.cat((*rows, allowed, context), dim=1, out=flat[block])
        return flat

    def split(self, flat: torch.Tensor) -> Numbers:
        """Return the numbers in the output of ``forward``."""
        sizes = [self.row_size * self.num_actions, self.num_actions, self.context_size]
        rows, allowed, context = torch.split(flat, sizes, dim=1)
        return Numbers(rows.view(len(flat), self.row_size, self.num_actions), allowed, context)


def settings_of_space(observation_space: spaces.Space[Any]) -> Any:
    """Return the settings of the environment that an observation space is from.

    Raises:
        ValueError: for other spaces, for example those of wrappers that change observations.
    """
    if not isinstance(observation_space, ObservationBox):
        raise ValueError(
            "observation_space must be that of an environment of matchenv, got "
            f"{observation_space}: the shared network reads no observations that a wrapper changed"
        )
    return observation_space.settings


class OpponentReader(Reader):
    """Reader of ``Matchmaking-v0``, for any belief.

    With d and C the mean and variance of s_0 - s_k in units of 2 beta^2, the numbers of opponent k
    are:

    1. the logarithm of its draw density minus that of the best opponent
    2. the same, squashed, so that all distant opponents are equal
    3. the same for a variance of 6 C, which favours uncertain opponents
    4. the logarithm of C
    5. the distance in standard deviations
    6. the density under C alone, without the noise of the performances
    7. as number 3 for 4 C
    8. as number 3 for 16 C

    Scores with a hidden layer read numbers 1 to 6, linear scores 2, 4, 5, 7 and 8.

    The numbers of the state are the best density; Var(s_0); the number of near opponents; the
    distance of player 0 from the middle of the field; the share and the logarithm of the games
    left; the mean of log C among the best opponents; and the spread of the means and the variance
    of the most uncertain opponents, which tell equal priors from informative ones.

    No number depends on the order of the opponents, or on the origin, unit and direction of the
    scale of skills.

    Args:
        observation_space: observation space of the environment, for any belief.
    """

    row_size: ClassVar[int] = 8
    context_size: ClassVar[int] = 9
    hidden_numbers = (0, 1, 2, 3, 4, 5)
    linear_numbers = (1, 3, 4, 6, 7)
    # Factors of the variance in numbers 3, 7 and 8.
    widenings: ClassVar[torch.Tensor] = torch.tensor([6.0, 4.0, 16.0]).view(3, 1, 1)
    # Scale and shift of the numbers of the state.
    factors: ClassVar[torch.Tensor] = torch.tensor([10.0, 0.5, 0.7, 2.0, 2.0, 0.5, 1.0, 0.5, 0.5])
    terms: ClassVar[torch.Tensor] = torch.tensor([1.0, 0.0, 0.0, -1.0, -1.0, -2.0, 0.0, 0.0, 0.0])

    def __init__(self, observation_space: spaces.Box) -> None:
        super().__init__(observation_space)
        self.masked: bool = self.settings.masks_change
        self.belief: Belief = self.settings.belief_type

    def read(self, observations: torch.Tensor) -> Columns:
        """Return rows, allowed actions and context."""
        unit = 0.5 / self.settings.beta**2
        players = self.num_actions + 1
        size = self.belief.observation_size(self.num_actions)
        mu = observations[:, :players]
        deviations = observations[:, players : size - 1]
        variance = difference_variance(deviations[:, :players], deviations[:, players:])
        # sb3-contrib pads sequences with observations of zeros.
        variance = (unit * variance).clamp_min(LEAST_SQUARE)
        gap = (mu[:, :1] - mu[:, 1:]) * math.sqrt(unit)
        square = gap * gap
        exponent = -0.5 * square
        online = torch.ones_like(gap)
        if self.masked:
            online = observations[:, size:]
        standardised = square / (1.0 + variance)
        log_density = -0.5 * (standardised + torch.log1p(variance))
        highest = self._best(log_density, online)
        score = log_density - highest
        nearness = _squashed(score)
        half_log_variance = 0.5 * torch.log(variance + LEAST_VARIANCE)
        near = torch.exp(exponent / (variance + 0.05))
        wide = exponent / (1.0 + self.widenings.to(gap) * variance)
        third, *last = _squashed(wide - self._best(wide, online))
        distance = torch.sqrt(standardised + LEAST_SQUARE).clamp_max(4.0) - 1.0
        rows = (score, nearness, third, half_log_variance, distance, near, *last)
        share = observations[:, size - 1].clamp_min(0.0)
        unknown = (variance / variance.amax(1, keepdim=True)) ** 6
        unknown = _shares(self._of_online(unknown, online))
        good = _shares(self._of_online(torch.exp(nearness), online))
        middle = (unknown * gap).sum(1, keepdim=True)
        context = (
            highest[:, 0],
            torch.log(unit * deviations[:, 0] ** 2 + LEAST_VARIANCE),
            torch.log(self._of_online(near, online).sum(1) + 0.1),
            (gap * torch.rsqrt(1.0 + square)).mean(1).abs(),
            share,
            torch.log((share * self.settings.horizon).clamp_min(1.0)),
            (good * half_log_variance).sum(1),
            torch.log((unknown * (gap - middle) ** 2).sum(1) + LEAST_SPREAD),
            torch.log((unknown * variance).sum(1)),
        )
        scaled = torch.stack(context, dim=1) * self.factors.to(gap)
        return rows, online, scaled + self.terms.to(gap)

    def _best(self, scores: torch.Tensor, online: torch.Tensor) -> torch.Tensor:
        """Return the highest score of an opponent who is online, shape (..., 1)."""
        if self.masked:  # without masks, this saves time and changes no bit
            scores = scores + NOT_ALLOWED * (1.0 - online)
        return scores.amax(-1, keepdim=True)

    def _of_online(self, weights: torch.Tensor, online: torch.Tensor) -> torch.Tensor:
        """Return weights that are 0 for opponents who are offline."""
        if not self.masked:
            return weights
        return online * weights


class Entries(NamedTuple):
    """Entries of n observations of the queue with A actions, each of shape (n, A).

    The first entry is that of waiting: the focal player or the open lobby.

    Attributes:
        mu: mean skill of a player of each entry.
        sigma: standard deviation of the belief about it.
        waited: ticks w that it has waited, as w / (w + game_length).
        present: 1 for an entry, else 0.
        quality: match quality of a game of the first entry and this one.
    """

    mu: torch.Tensor
    sigma: torch.Tensor
    waited: torch.Tensor
    present: torch.Tensor
    quality: torch.Tensor


class CandidateReader(Reader):
    """Reader of ``MatchmakingQueue-v0``: action 0 is to wait, the others are candidates.

    The numbers of an action are its match quality (for waiting, the least quality that a rule
    would accept); its squashed distance below the best; 1 for waiting, else 0; and the player's
    distance from the middle of the population, uncertainty and ticks waited (for waiting, those of
    the focal player). The numbers of the state are the last three of the focal player, the best
    quality, and the numbers of players in a game, waiting and still to be matched in this tick.
    Lobbies have a reader of their own, ``LobbyReader``.

    No number depends on the capacity, or on the origin, unit and direction of the scale of skills.

    Args:
        observation_space: observation space of the environment.
    """

    row_size: ClassVar[int] = 6
    context_size: ClassVar[int] = 7
    # The rule: a new player waits for a game of this quality, and accepts less with each tick.
    first_quality: ClassVar[float] = 0.47
    less_per_tick: ClassVar[float] = 0.02

    def __init__(self, observation_space: spaces.Box) -> None:
        super().__init__(observation_space)
        self.mean: float = self.settings.population.mean
        self.deviation: float = self.settings.population.deviation

    @classmethod
    def for_settings(cls, settings: Options) -> type[Reader]:
        """Return the reader of pairs, or that of lobbies for games of more than two seats."""
        if isinstance(settings, QueueSettings) and settings.has_lobbies:
            return LobbyReader
        return CandidateReader

    def read(self, observations: torch.Tensor) -> Columns:
        """Return rows, allowed actions and context."""
        players = observations[:, : ACTION_NUMBERS * self.num_actions]
        mu, sigma, waited, present = self._sections(players, ACTION_NUMBERS)
        noise = 2.0 * self.settings.beta**2
        total = noise + sigma[:, :1] ** 2 + sigma**2
        quality = torch.sqrt(noise / total) * torch.exp(-0.5 * (mu[:, :1] - mu) ** 2 / total)
        entries = Entries(mu, sigma, waited, present, quality)
        return self.read_entries(entries, observations[:, -QUEUE_NUMBERS:])

    def read_entries(self, entries: Entries, shares: torch.Tensor) -> Columns:
        """Return rows, allowed actions and context.

        Args:
            entries: of the actions.
            shares: numbers n of players who wait, have no choice yet in this tick and play, as
                n / (n + A), shape (n, 3).
        """
        mu, sigma, waited, present, quality = entries
        waiting, to_ask, playing = (self.num_actions * shares / (1.0 - shares)).T
        ticks = self.settings.game_length * waited / (1.0 - waited)
        waits = torch.zeros_like(mu)
        waits[:, 0] = 1.0
        rule = (self.first_quality - self.less_per_tick * ticks).clamp_min(0.0)
        score = waits * rule + (1.0 - waits) * present * quality
        allowed = (present + waits).clamp_max(1.0)
        best = (score + NOT_ALLOWED * (1.0 - allowed)).amax(1, keepdim=True)
        distance = ((mu - self.mean) / self.deviation).abs().clamp_max(4.0)
        uncertainty = torch.log((sigma / self.deviation).clamp(1e-2, 1e2))
        from_middle = allowed * (distance - 1.0)
        doubt = allowed * (uncertainty + 0.8)
        patience = allowed * (torch.log1p(ticks) - 0.5)
        context = (
            from_middle[:, 0],
            doubt[:, 0],
            patience[:, 0],
            4.0 * best[:, 0] - 2.0,
            0.5 * torch.log(playing / self.settings.game_length + 0.1),
            0.5 * torch.log(waiting + 1.0) - 1.0,
            2.0 * to_ask / waiting.clamp_min(1.0) - 1.0,
        )
        rows = (score, _squashed(score - best), waits, from_middle, doubt, patience)
        return rows, allowed, torch.stack(context, dim=1)

    def _sections(self, numbers: torch.Tensor, count: int) -> tuple[torch.Tensor, ...]:
        """Return ``count`` numbers of each entry, each of shape (n, A)."""
        sections: tuple[torch.Tensor, ...]
        sections = numbers.view(-1, count, self.num_actions).unbind(dim=1)
        return sections


class LobbyReader(CandidateReader):
    """Reader of ``MatchmakingQueue-v0`` with teams: the entries are the open lobby and parties.

    The numbers are those of ``CandidateReader``, per player of a lobby or party: means are divided
    by the number of players and deviations by its root. The quality is that of the lobby with the
    party. An action has two numbers more: the seats that it takes, as a share of a side (for
    waiting, of the seats of a game), and how much it changes the quality of the lobby. The state
    has the share of the seats that are taken and the quality of the lobby.

    No number depends on the capacity, or on the origin, unit and direction of the scale of skills.

    Args:
        observation_space: observation space of the environment.
    """

    row_size: ClassVar[int] = 8
    context_size: ClassVar[int] = 9

    def read(self, observations: torch.Tensor) -> Columns:
        """Return rows, allowed actions and context."""
        end = LOBBY_ACTION_NUMBERS * self.num_actions
        sections = self._sections(observations[:, :end], LOBBY_ACTION_NUMBERS)
        mu, sigma, waited, present, size, quality = sections
        shares = observations[:, end : end + QUEUE_NUMBERS]
        taken = observations[:, end + QUEUE_NUMBERS]
        players = (self.settings.side_size * size).clamp_min(1.0)
        entries = Entries(mu / players, sigma / players.sqrt(), waited, present, quality)
        rows, allowed, context = self.read_entries(entries, shares)
        seats = size.clone()
        seats[:, 0] = taken
        change = FARTHEST * present * (quality - quality[:, :1])
        of_lobby = torch.stack((2.0 * taken - 1.0, 4.0 * quality[:, 0] - 2.0), dim=1)
        return (*rows, seats, change), allowed, torch.cat((context, of_lobby), dim=1)


class PairReader(Reader):
    """Reader of ``Ranking-v0``: an action is a pair of items.

    With h the distance of the means in standard deviations of the difference, and w the variance
    of the difference times the precision of a game, the numbers of a pair are the logarithm of
    P(misordered) w / (1 + w) minus that of the best pair; the same, squashed; h; log w; the
    logarithm of P(misordered); the sum and the difference of the crowding of its items, the
    expected number of items on the wrong side of an item; and the difference of the logarithms of
    the items' deviations. The numbers of the state are the share and the logarithm of the games
    left, the expected loss, and the means of log w and of h among the best pairs.

    For the goals ``"top"`` and ``"best"`` only pairs across the cut count. Apart from the cut, no
    number depends on the order of the items, or on the origin, unit and direction of the scale. The
    advantage of the item named first is left out.

    Args:
        observation_space: observation space of the environment.
    """

    row_size: ClassVar[int] = 8
    context_size: ClassVar[int] = 5
    # Factor of the first number.
    sharpness: ClassVar[float] = 3.0
    # Added to the score of a pair that does not count.
    does_not_count: ClassVar[float] = -12.0
    # The items of each pair, shape (2, M).
    pairs: torch.Tensor

    def __init__(self, observation_space: spaces.Box) -> None:
        super().__init__(observation_space)
        items = self.settings.num_items
        self.num_items: int = items
        self.cut: int = self.settings.cut
        # Without masks, the share of games left is the last number.
        self.masked: bool = self.settings.masks_change
        # Mean and deviation of the advantage.
        self.unread: int = 2 * self.settings.has_advantage
        pairs = torch.triu_indices(items, items, 1)
        self.register_buffer("pairs", pairs, persistent=False)

    def read(self, observations: torch.Tensor) -> Columns:
        """Return rows, allowed actions and context."""
        items = self.num_items
        pairs = self.num_actions
        first, second = self.pairs
        unit = 0.5 / self.settings.beta**2
        last = observations.shape[1] - 2 * (items + pairs) - self.unread
        sizes = [items, items, pairs, pairs, self.unread, last]
        means, deviations, gaps, spreads, _, others = torch.split(observations, sizes, dim=1)
        allowed = torch.ones_like(gaps)
        if self.masked:
            allowed = others[:, 1:]
        variance = (unit * spreads**2).clamp_min(LEAST_SQUARE)
        square = unit * gaps**2
        lead = torch.sqrt(square / variance)
        misordered = torch.special.ndtr(-lead)
        # Precision of a game without draws, as in ``matchenv.belief.joint.game_precision``.
        far = torch.sqrt(square / (1.0 + variance)).clamp_max(6.0)
        below = torch.special.ndtr(-far)
        expected = torch.exp(-(far**2)) / (2.0 * math.pi * below * (1.0 - below))
        worth = variance * expected / (1.0 + variance - expected * variance)
        log_worth = torch.log(worth.clamp_min(1e-9))
        log_misordered = torch.special.log_ndtr(-lead).clamp_min(-30.0)
        counts = torch.ones_like(gaps)
        if self.cut:
            places = means.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
            above = (places < self.cut).float()
            counts = (above[:, first] - above[:, second]).abs()
        score = log_misordered + log_worth - torch.log1p(worth)
        score = score + self.does_not_count * (1.0 - counts)
        score = score - (score + NOT_ALLOWED * (1.0 - allowed)).amax(1, keepdim=True)
        loss = counts * misordered
        crowd = torch.zeros_like(means).index_add(1, first, loss)
        crowd = crowd.index_add(1, second, loss)
        crowd_of_first = crowd[:, first]
        crowd_of_second = crowd[:, second]
        certain = torch.log(deviations.clamp_min(LEAST_SQUARE))
        nearness = score / (1.0 - score.clamp_max(0.0) / FARTHEST)
        rows = (
            self.sharpness * score,
            nearness,
            lead.clamp_max(4.0) - 1.0,
            0.5 * log_worth + 1.0,
            0.5 * log_misordered.clamp_min(-8.0) + 1.0,
            crowd_of_first + crowd_of_second - 2.0 * loss - 1.0,
            (crowd_of_first - crowd_of_second).abs() - 0.5,
            (certain[:, first] - certain[:, second]).abs(),
        )
        share = others[:, 0].clamp_min(0.0)
        good = _shares(allowed * torch.exp(nearness))
        context = (
            2.0 * share - 1.0,
            0.5 * torch.log((share * self.settings.horizon).clamp_min(1.0)) - 2.0,
            torch.log(loss.sum(1) / items + LEAST_SPREAD),
            (good * 0.5 * log_worth).sum(1),
            (good * lead.clamp_max(4.0)).sum(1),
        )
        return rows, allowed, torch.stack(context, dim=1)


def reader_of(settings: Options) -> dict[str, Any]:
    """Return the policy arguments that select the reader of an environment; {} if it has none."""
    reader = environment_of(settings).part("reader")
    if reader is None:
        return {}
    return {"features_extractor_class": reader.for_settings(settings)}


def spaces_of(settings: Options) -> tuple[spaces.Box, spaces.Discrete]:
    """Return the observation space and the action space of an environment."""
    simulator = simulator_of(settings)
    return simulator.observation_space, spaces.Discrete(simulator.num_actions)


class _WeightedSum(torch.autograd.Function):
    """Sum of W numbers of the rows with weights of shape (n, W): shape (n, M)."""

    @staticmethod
    def forward(ctx: Any, weights: torch.Tensor, rows: torch.Tensor, numbers: torch.Tensor) -> Any:
        ctx.save_for_backward(rows, numbers)
        # For small sizes this has the bits of torch.bmm in a quarter of its time.
        if rows.shape[1] * rows.shape[2] < 400:
            sums = torch.zeros_like(rows[:, 0])
            for weight, number in zip(weights.T, numbers.tolist(), strict=True):
                sums += weight.unsqueeze(1) * rows[:, number]
            return sums
        # Weights of 0 for the other numbers save a copy of the rows.
        padded = rows.new_zeros(rows.shape[:2]).index_copy(1, numbers, weights)
        return torch.bmm(padded.unsqueeze(1), rows).squeeze(1)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        rows, numbers = ctx.saved_tensors
        products = torch.bmm(gradient.unsqueeze(1), rows.transpose(1, 2)).squeeze(1)
        return products.index_select(1, numbers), None, None


class SharedNetwork(nn.Module):
    """Scores of all actions and value of a state, with the interface of ``MlpExtractor``.

    Args:
        reader: reader of the observations.
        widths: hidden layers of the scores, ``pi``, and of the value, ``vf``. Without a layer in
            ``pi``, scores are linear in the numbers of a row, with weights that a small network
            computes from the context: fewer parameters and a third of the time.
        activation: activation between the layers.

    Attributes:
        latent_dim_pi: M, one logit for each action, or 1 above ``MOST_DRAWN``.
        latent_dim_vf: 1.
    """

    # Indices of the numbers of a row that the scores read.
    _numbers: torch.Tensor

    def __init__(
        self,
        reader: Reader,
        widths: dict[str, list[int]],
        activation: type[nn.Module] = nn.Tanh,
    ) -> None:
        super().__init__()
        # The reader itself is a module of the policy, not of this network.
        self._split = reader.split
        actions = reader.num_actions
        self.latent_dim_pi = 1
        if actions <= MOST_DRAWN:
            self.latent_dim_pi = actions
        self.latent_dim_vf = 1
        self.is_linear = not widths["pi"]
        chosen = reader.hidden_numbers
        if self.is_linear:
            chosen = reader.linear_numbers
        numbers = torch.tensor(chosen or range(reader.row_size))
        self.register_buffer("_numbers", numbers, persistent=False)
        row_size = len(numbers)
        if self.is_linear:
            weights = [reader.context_size, LINEAR_WIDTH, row_size]
            self.weights = linear_layers(weights, activation, LAST_GAIN)
        else:
            first, *others = widths["pi"]
            self.of_row = linear_layers([row_size, first], activation, HIDDEN_GAIN)
            self.of_context = linear_layers([reader.context_size, first], activation, VALUE_GAIN)
            self.correction = nn.Sequential(
                activation(), *linear_layers([first, *others, 1], activation, LAST_GAIN)
            )
            self.log_sharpness = nn.Parameter(torch.ones(()))
        pooled = reader.context_size + 2 * row_size
        self.value = linear_layers([pooled, *widths["vf"], 1], activation, VALUE_GAIN)

    def forward(self, flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits, shape (n, M), and values, shape (n, 1)."""
        return self.forward_actor(flat), self.forward_critic(flat)

    def forward_actor(self, flat: torch.Tensor) -> torch.Tensor:
        """Return scores, shape (n, M)."""
        rows, allowed, context = self._split(flat)
        if self.is_linear:
            weights = self.weights(context)
            scores = _WeightedSum.apply(weights, rows, self._numbers)  # type: ignore[no-untyped-call]
        else:
            chosen = rows.index_select(1, self._numbers).transpose(1, 2)
            hidden = self.of_row(chosen) + self.of_context(context).unsqueeze(1)
            scores = self.log_sharpness.exp() * (rows[:, 0] + self.correction(hidden).squeeze(2))
        return torch.add(scores, 1.0 - allowed, alpha=NOT_ALLOWED)

    def forward_critic(self, flat: torch.Tensor) -> torch.Tensor:
        """Return values, shape (n, 1), from the context and two means of the rows."""
        rows, allowed, context = self._split(flat)
        weights = torch.stack((allowed * torch.exp(rows[:, 1]), allowed), dim=1)
        weights /= weights.sum(2, keepdim=True)
        pooled = torch.bmm(weights, rows.transpose(1, 2)).index_select(2, self._numbers)
        return self.value(torch.cat((context, pooled.flatten(1)), dim=1))


class ActionValues(SharedNetwork):
    """Shared network for DQN: the value of the state plus the score of each action."""

    def forward(self, flat: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Return action values, shape (n, M)."""
        return self.forward_actor(flat) + self.forward_critic(flat)


def linear_layers(
    widths: list[int], activation: type[nn.Module], last_gain: float
) -> nn.Sequential:
    """Return linear layers with an activation between them and zero biases.

    Args:
        widths: widths of the input, the hidden layers and the output.
        activation: activation between the layers.
        last_gain: gain of the initial weights of the last layer.
    """
    layers: list[nn.Module] = []
    last = len(widths) - 2
    for k, (width, following) in enumerate(pairwise(widths)):
        layer = nn.Linear(width, following)
        gain = HIDDEN_GAIN
        if k == last:
            gain = last_gain
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
        layers += [layer, activation()]
    return nn.Sequential(*layers[:-1])


def _squashed(below: torch.Tensor) -> torch.Tensor:
    """Squash distances <= 0 to the best score into (-FARTHEST, 0]; positive ones become 0."""
    steep = (STEEPNESS * below).clamp_max_(0.0)
    return steep / torch.rsub(steep, 1.0, alpha=1.0 / FARTHEST)


def _shares(weights: torch.Tensor) -> torch.Tensor:
    """Normalise the weights of the actions to a sum of 1."""
    return weights / weights.sum(1, keepdim=True)
