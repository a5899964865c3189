"""The shared network: one set of weights for all opponents, for every algorithm and environment.

A reader turns an observation into *rows*, the same numbers of each action (an opponent), and a
*context*, the numbers of the whole state. A small network scores each row in its context: it
corrects the row's first number, a score that needs no learning, or weighs all of them. So the
weights depend neither on the number of opponents nor on their order. An environment needs a reader
of its own and no more.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from matchenv.belief import BELIEFS
from matchenv.belief.belief import difference_variance
from matchenv.envs import env_id_of, simulator_of
from matchenv.envs.core.settings import LONGEST_HORIZON, PAPER_BETA, Options
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QUEUE_NUMBERS, QueueSettings
from matchenv.envs.ranking import RankingSettings
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE, RANKING

# Observations that are read at a time: so many stay in the processor's cache.
AT_ONCE = 1024

# Score of an action that is not allowed.
NOT_ALLOWED = -1e9

# A first score that is a twentieth below the best is one unit away; all far opponents are alike.
STEEPNESS, FARTHEST = 20.0, 4.0
# Logarithms and roots stay finite.
LEAST_VARIANCE, LEAST_SQUARE, LEAST_SPREAD = 1e-3, 1e-6, 0.01

# Hidden layers start as in stable-baselines3, and so does the last one of the scores: small, so
# that the first scores decide at first.
HIDDEN_GAIN, LAST_GAIN, VALUE_GAIN = math.sqrt(2.0), 0.01, 1.0

# Hidden units of the network that gives the weights of linear scores.
LINEAR_WIDTH = 16
# The library draws a layer of latent_dim_pi x M weights, which ``SharedPolicy`` drops: a seed's
# numbers depend on the draws, but for many actions no memory holds them.
MOST_DRAWN = 2_000


class Numbers(NamedTuple):
    """Rows and context of n observations with M actions each.

    Attributes:
        rows: shape (n, R, M); the first number is the first score, the second the logarithm of
            the weight of an action among the good ones.
        allowed: 1 where an action may be chosen, else 0, shape (n, M).
        context: shape (n, K).
    """

    rows: torch.Tensor
    allowed: torch.Tensor
    context: torch.Tensor


# The same, each number of the rows of shape (n, M).
Apart: TypeAlias = tuple[Sequence[torch.Tensor], torch.Tensor, torch.Tensor]


class Reader(BaseFeaturesExtractor):
    """Read observations of one environment; without weights.

    Args:
        observation_space: of the environment.
        num_actions: M.

    Attributes:
        row_size: R, numbers of each action.
        context_size: K, numbers of the state.
        hidden_numbers: numbers of a row that scores with a hidden layer read; none for all.
        linear_numbers: those that linear scores read.
        given: settings of the environment that are arguments of the constructor.
    """

    row_size: ClassVar[int]
    context_size: ClassVar[int]
    hidden_numbers: ClassVar[tuple[int, ...]] = ()
    linear_numbers: ClassVar[tuple[int, ...]] = ()
    given: ClassVar[tuple[str, ...]] = ("beta", "horizon")

    def __init__(self, observation_space: spaces.Box, num_actions: int) -> None:
        super().__init__(observation_space, (self.row_size + 1) * num_actions + self.context_size)
        self.num_actions = num_actions

    @abstractmethod
    def read(self, observations: torch.Tensor) -> Apart:
        """Return rows, what is allowed and context of observations, shape (n, size)."""

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return the numbers of observations in one row each, for ``split``."""
        flat = observations.new_empty(len(observations), self.features_dim)
        for first in range(0, len(flat), AT_ONCE):
            place = flat[first : first + AT_ONCE]
            rows, allowed, context = self.read(observations[first : first + AT_ONCE])
            torch.cat((*rows, allowed, context), dim=1, out=place)
        return flat

    def split(self, flat: torch.Tensor) -> Numbers:
        """Return the numbers out of what ``forward`` gives."""
        sizes = [self.row_size * self.num_actions, self.num_actions, self.context_size]
        rows, allowed, context = torch.split(flat, sizes, dim=1)
        return Numbers(rows.view(len(flat), self.row_size, self.num_actions), allowed, context)


class OpponentReader(Reader):
    """Read observations of ``Matchmaking-v0``, of any belief.

    With d and C the mean and variance of s_0 - s_k in units of 2 beta^2, the numbers of opponent k
    are: the logarithm of its draw density minus that of the best; the same, squashed, so that far
    opponents are alike; the same for a wider variance, at which a little known opponent looks
    better; the logarithm of C; the distance in standard deviations; the density under C alone; and
    the third for two other variances. Linear scores read numbers 2, 4, 5, 7 and 8.

    The numbers of the state are: the best density; Var(s_0); how many opponents are near; how far
    player 0 stands from the middle of the field; the share and the logarithm of the games left; the
    mean of log C among the best; and the spread of the means and the variance of those who are
    least known, which tell equal priors from informative ones.

    No number depends on the order of the opponents, on the zero of the scale of skills, on its
    unit, or on which end of it is up.

    Args:
        observation_space: the box of the environment's observation, of any belief.
        beta: standard deviation of one performance around skill.
        horizon: games in an episode.

    Raises:
        ValueError: for a space of another environment.
    """

    row_size: ClassVar[int] = 8
    context_size: ClassVar[int] = 9
    hidden_numbers = (0, 1, 2, 3, 4, 5)
    linear_numbers = (1, 3, 4, 6, 7)
    # The variances of the third and of the last two numbers are so many times as wide.
    widenings: ClassVar[torch.Tensor] = torch.tensor([6.0, 4.0, 16.0]).view(3, 1, 1)
    # Numbers of the state are so many times as large, and then so much larger.
    factors: ClassVar[torch.Tensor] = torch.tensor([10.0, 0.5, 0.7, 2.0, 2.0, 0.5, 1.0, 0.5, 0.5])
    terms: ClassVar[torch.Tensor] = torch.tensor([1.0, 0.0, 0.0, -1.0, -1.0, -2.0, 0.0, 0.0, 0.0])

    def __init__(
        self, observation_space: spaces.Box, beta: float = PAPER_BETA, horizon: int = 500
    ) -> None:
        # Only the means have no lower bound.
        num_opponents = int(np.isneginf(observation_space.low).sum()) - 1
        settings: Any = guessed_settings(num_opponents, lambda box: box == observation_space)
        super().__init__(observation_space, num_opponents)
        self.masked = settings.masks_change
        self.belief = settings.belief_type
        self.beta, self.horizon = beta, horizon

    def read(self, observations: torch.Tensor) -> Apart:
        """Return rows, what is allowed and context, as the class says."""
        unit = 0.5 / self.beta**2
        players = self.num_actions + 1
        size = self.belief.observation_size(self.num_actions)
        mu, deviations = observations[:, :players], observations[:, players : size - 1]
        variance = difference_variance(deviations[:, :players], deviations[:, players:])
        # The library pads sequences with observations of zeros.
        variance = (unit * variance).clamp_min(LEAST_SQUARE)
        gap = (mu[:, :1] - mu[:, 1:]) * math.sqrt(unit)
        square = gap * gap
        exponent = -0.5 * square
        online = observations[:, size:] if self.masked else torch.ones_like(gap)

        def best(scores: torch.Tensor) -> torch.Tensor:
            shown = scores + NOT_ALLOWED * (1.0 - online) if self.masked else scores
            return shown.amax(-1, keepdim=True)

        def of_online(weights: torch.Tensor) -> torch.Tensor:
            return online * weights if self.masked else weights

        standardised = square / (1.0 + variance)
        log_density = -0.5 * (standardised + torch.log1p(variance))
        highest = best(log_density)
        score = log_density - highest
        nearness = _squashed(score)
        half_log_variance = 0.5 * torch.log(variance + LEAST_VARIANCE)
        near = torch.exp(exponent / (variance + 0.05))
        wide = exponent / (1.0 + self.widenings.to(gap) * variance)
        third, *last = _squashed(wide - best(wide))
        distance = torch.sqrt(standardised + LEAST_SQUARE).clamp_max(4.0) - 1.0
        rows = (score, nearness, third, half_log_variance, distance, near, *last)
        share = observations[:, size - 1].clamp_min(0.0)
        unknown = _shares(of_online((variance / variance.amax(1, keepdim=True)) ** 6))
        good = _shares(of_online(torch.exp(nearness)))
        middle = (unknown * gap).sum(1, keepdim=True)
        context = (
            highest[:, 0],
            torch.log(unit * deviations[:, 0] ** 2 + LEAST_VARIANCE),
            torch.log(of_online(near).sum(1) + 0.1),
            (gap * torch.rsqrt(1.0 + square)).mean(1).abs(),
            share,
            torch.log((share * self.horizon).clamp_min(1.0)),
            (good * half_log_variance).sum(1),
            torch.log((unknown * (gap - middle) ** 2).sum(1) + LEAST_SPREAD),
            torch.log((unknown * variance).sum(1)),
        )
        scaled = torch.stack(context, dim=1) * self.factors.to(gap)
        return rows, online, scaled + self.terms.to(gap)


class CandidateReader(Reader):
    """Read observations of ``MatchmakingQueue-v0``: action 0 is to wait, the others are candidates.

    The numbers of an action are: its match quality, and for waiting the quality from which on a
    rule would play; how far it is behind the best, squashed; whether it is to wait; and of the
    player (for waiting, the focal one) the distance from the middle of the population, the
    uncertainty and the ticks waited. The numbers of the state are the last three of the focal
    player, the best quality, and how many play, wait and are still to be asked about.

    No number depends on the unit of skill, on its zero, on which end of it is up, or on the
    capacity.

    Args:
        observation_space: the box of the environment's observation.
        mean: of the true skills of those who log on.
        deviation: their standard deviation.
        beta: standard deviation of one performance around skill.
        game_length: ticks that a game lasts.
    """

    row_size: ClassVar[int] = 6
    context_size: ClassVar[int] = 7
    given = ("population.mean", "population.deviation", "beta", "game_length")
    # The rule: a newly joined player waits for a game of this quality, with each tick for less.
    first_quality: ClassVar[float] = 0.47
    less_per_tick: ClassVar[float] = 0.02

    def __init__(
        self,
        observation_space: spaces.Box,
        mean: float = 0.0,
        deviation: float = math.sqrt(6.5),
        beta: float = PAPER_BETA,
        game_length: int = 10,
    ) -> None:
        super().__init__(observation_space, (observation_space.shape[0] - QUEUE_NUMBERS) // 4)
        self.mean, self.deviation, self.beta = mean, deviation, beta
        self.game_length = game_length

    def read(self, observations: torch.Tensor) -> Apart:
        """Return rows, what is allowed and context, as the class says."""
        places = observations[:, : 4 * self.num_actions].view(-1, 4, self.num_actions)
        mu, sigma, waited, present = places.unbind(dim=1)
        waiting, to_ask, playing = (
            self.num_actions * share / (1.0 - share) for share in observations[:, -QUEUE_NUMBERS:].T
        )
        noise = 2.0 * self.beta**2
        total = noise + sigma[:, :1] ** 2 + sigma**2
        quality = torch.sqrt(noise / total) * torch.exp(-0.5 * (mu[:, :1] - mu) ** 2 / total)
        ticks = self.game_length * waited / (1.0 - waited)
        waits = torch.zeros_like(mu)
        waits[:, 0] = 1.0
        rule = (self.first_quality - self.less_per_tick * ticks).clamp_min(0.0)
        score = waits * rule + (1.0 - waits) * present * quality
        allowed = (present + waits).clamp_max(1.0)
        best = (score + NOT_ALLOWED * (1.0 - allowed)).amax(1, keepdim=True)
        place = ((mu - self.mean) / self.deviation).abs().clamp_max(4.0)
        uncertainty = torch.log((sigma / self.deviation).clamp(1e-2, 1e2))
        own = tuple(
            allowed * each for each in (place - 1.0, uncertainty + 0.8, torch.log1p(ticks) - 0.5)
        )
        context = (
            *(each[:, 0] for each in own),
            4.0 * best[:, 0] - 2.0,
            0.5 * torch.log(playing / self.game_length + 0.1),
            0.5 * torch.log(waiting + 1.0) - 1.0,
            2.0 * to_ask / waiting.clamp_min(1.0) - 1.0,
        )
        rows = (score, _squashed(score - best), waits, *own)
        return rows, allowed, torch.stack(context, dim=1)


class PairReader(Reader):
    """Read observations of ``Ranking-v0``: an action is a pair of items.

    With lead h, the distance of the means in deviations of the difference, and w, the variance of
    the difference times the precision of a game, the numbers of a pair are: the logarithm of
    w / (1 + w) times P(misordered), below the best, and the same, squashed; h; log w; the logarithm
    of P(misordered); the sum and the difference of how crowded its items stand, which is the
    expected number of items that stand on the wrong side of an item; and the difference of the
    items' deviations. The numbers of the state are the share and the logarithm of the games left,
    the expected loss, and the mean of log w and of h among the best pairs.

    Only pairs across the cut count for the goals ``"top"`` and ``"best"``. No number depends on
    the order of the items, on the zero and the unit of skill, or on which end of it is up, but for
    the cut.

    Args:
        observation_space: the box of the environment's observation.
        num_items: n.
        beta: standard deviation of one performance around skill.
        horizon: games in an episode.
        cut: items above the cut; 0 for the whole order.
    """

    row_size: ClassVar[int] = 8
    context_size: ClassVar[int] = 5
    given = ("num_items", "beta", "horizon", "cut")
    # The first score is so many times as steep.
    sharpness: ClassVar[float] = 3.0
    # Below the score of every pair that counts.
    does_not_count: ClassVar[float] = -12.0
    # The items of each pair, shape (2, M).
    pairs: torch.Tensor

    def __init__(
        self,
        observation_space: spaces.Box,
        num_items: int = 20,
        beta: float = 1.0,
        horizon: int = 400,
        cut: int = 0,
    ) -> None:
        num_pairs = num_items * (num_items - 1) // 2
        super().__init__(observation_space, num_pairs)
        self.num_items, self.beta, self.horizon, self.cut = num_items, beta, horizon, cut
        self.masked = observation_space.shape[0] > 2 * (num_items + num_pairs) + 1
        pairs = torch.triu_indices(num_items, num_items, 1)
        self.register_buffer("pairs", pairs, persistent=False)

    def read(self, observations: torch.Tensor) -> Apart:
        """Return rows, what is allowed and context, as the class says."""
        items, pairs = self.num_items, self.num_actions
        first, second = self.pairs
        unit = 0.5 / self.beta**2
        sizes = [items, items, pairs, pairs, observations.shape[1] - 2 * (items + pairs)]
        means, deviations, gaps, spreads, rest = torch.split(observations, sizes, dim=1)
        allowed = rest[:, 1:] if self.masked else torch.ones_like(gaps)
        variance = (unit * spreads**2).clamp_min(LEAST_SQUARE)
        square = unit * gaps**2
        lead = torch.sqrt(square / variance)
        misordered = torch.special.ndtr(-lead)
        # A game without draws, as in ``matchenv.belief.joint.game_precision``.
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
        one, other = crowd[:, first], crowd[:, second]
        certain = torch.log(deviations.clamp_min(LEAST_SQUARE))
        nearness = score / (1.0 - score.clamp_max(0.0) / FARTHEST)
        rows = (
            self.sharpness * score,
            nearness,
            lead.clamp_max(4.0) - 1.0,
            0.5 * log_worth + 1.0,
            0.5 * log_misordered.clamp_min(-8.0) + 1.0,
            one + other - 2.0 * loss - 1.0,
            (one - other).abs() - 0.5,
            (certain[:, first] - certain[:, second]).abs(),
        )
        share = rest[:, 0].clamp_min(0.0)
        good = _shares(allowed * torch.exp(nearness))
        context = (
            2.0 * share - 1.0,
            0.5 * torch.log((share * self.horizon).clamp_min(1.0)) - 2.0,
            torch.log(loss.sum(1) / items + LEAST_SPREAD),
            (good * 0.5 * log_worth).sum(1),
            (good * lead.clamp_max(4.0)).sum(1),
        )
        return rows, allowed, torch.stack(context, dim=1)


READERS: dict[str, type[Reader]] = {
    ONE_PLAYER: OpponentReader,
    QUEUE: CandidateReader,
    RANKING: PairReader,
}


def reader_of(settings: Options) -> dict[str, Any]:
    """Return a policy's arguments that choose the reader of an environment."""
    kind = READERS[env_id_of(settings)]
    return {
        "features_extractor_class": kind,
        "features_extractor_kwargs": {
            name.rpartition(".")[2]: attrgetter(name)(settings) for name in kind.given
        },
    }


def guessed_settings(num_actions: int, fits: Callable[[spaces.Box], bool]) -> Options:
    """Return settings whose observations fit what is known of them.

    Args:
        num_actions: of the environment.
        fits: whether a space of observations does.

    Raises:
        ValueError: if there are none.
    """
    items = (1 + math.isqrt(1 + 8 * num_actions)) // 2
    kinds: list[tuple[Callable[..., Options], dict[str, Any]]] = [
        *((Settings, {"num_opponents": num_actions, "belief": belief, "availability": share})
          for belief in BELIEFS for share in (1.0, 0.5)),
        (QueueSettings, {"capacity": max(2, num_actions)}),
        *((RankingSettings, {"num_items": items, "max_games_per_pair": most})
          for most in (None, LONGEST_HORIZON)),
    ]  # fmt: skip
    for kind, options in kinds:
        settings = kind(**options)
        observations, actions = spaces_of(settings)
        if actions.n == num_actions and fits(observations):
            return settings
    raise ValueError(f"observations with {num_actions} actions are those of another environment")


def spaces_of(settings: Options) -> tuple[spaces.Box, spaces.Discrete]:
    """Return the spaces of one observation and one action of an environment."""
    simulator = simulator_of(settings)
    return simulator.observation_space, spaces.Discrete(simulator.num_actions)


class _WeightedSum(torch.autograd.Function):
    """Weights, shape (n, W), times W numbers of the rows: shape (n, M)."""

    @staticmethod
    def forward(ctx: Any, weights: torch.Tensor, rows: torch.Tensor, numbers: torch.Tensor) -> Any:
        ctx.save_for_backward(rows, numbers)
        # So few products torch.bmm computes one by one: the same bits in four times the time.
        if rows.shape[1] * rows.shape[2] < 400:
            sums = torch.zeros_like(rows[:, 0])
            for weight, number in zip(weights.T, numbers.tolist(), strict=True):
                sums += weight.unsqueeze(1) * rows[:, number]
            return sums
        # Weights of 0 for the other numbers: the rows need not be copied.
        padded = rows.new_zeros(rows.shape[:2]).index_copy(1, numbers, weights)
        return torch.bmm(padded.unsqueeze(1), rows).squeeze(1)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        rows, numbers = ctx.saved_tensors
        products = torch.bmm(gradient.unsqueeze(1), rows.transpose(1, 2)).squeeze(1)
        return products.index_select(1, numbers), None, None


class SharedNetwork(nn.Module):
    """Scores of all actions and the value of a state, in the form of ``MlpExtractor``.

    Args:
        reader: whose numbers it reads.
        widths: of the hidden layers of the scores, ``pi``, and of the value, ``vf``. Without a
            layer of ``pi`` scores are linear in the numbers of a row, with weights that a small
            network of the context gives: less to learn, in a third of the time.
        activation: between the layers.

    Attributes:
        latent_dim_pi: M, one logit for each action, or 1 above ``MOST_DRAWN``.
        latent_dim_vf: 1.
    """

    # Places of the numbers of a row that the scores read.
    _numbers: torch.Tensor

    def __init__(
        self,
        reader: Reader,
        widths: dict[str, list[int]],
        activation: type[nn.Module] = nn.Tanh,
    ) -> None:
        super().__init__()
        # The reader belongs to the policy, which has its place in the list of modules.
        self._split = reader.split
        actions = reader.num_actions
        self.latent_dim_pi, self.latent_dim_vf = actions if actions <= MOST_DRAWN else 1, 1
        self.is_linear = not widths["pi"]
        chosen = reader.linear_numbers if self.is_linear else reader.hidden_numbers
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
        """Return values, shape (n, 1), of the context and two means of the rows."""
        rows, allowed, context = self._split(flat)
        weights = torch.stack((allowed * torch.exp(rows[:, 1]), allowed), dim=1)
        weights /= weights.sum(2, keepdim=True)
        pooled = torch.bmm(weights, rows.transpose(1, 2)).index_select(2, self._numbers)
        values: torch.Tensor = self.value(torch.cat((context, pooled.flatten(1)), dim=1))
        return values


class ActionValues(SharedNetwork):
    """The shared network for DQN: the value of the state plus each action's score."""

    def forward(self, flat: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Return values, shape (n, M)."""
        return self.forward_actor(flat) + self.forward_critic(flat)


def linear_layers(
    widths: list[int], activation: type[nn.Module], last_gain: float
) -> nn.Sequential:
    """Return linear layers with an activation between them, and biases of zero.

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


def _squashed(below: torch.Tensor) -> torch.Tensor:
    """Return distances <= 0 below the best in (-FARTHEST, 0]; above it, 0."""
    steep = (STEEPNESS * below).clamp_max_(0.0)
    return steep / torch.rsub(steep, 1.0, alpha=1.0 / FARTHEST)


def _shares(weights: torch.Tensor) -> torch.Tensor:
    """Return weights of the actions as shares of their sum."""
    return weights / weights.sum(1, keepdim=True)
