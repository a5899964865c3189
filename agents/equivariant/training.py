"""Training of the equivariant policy by evolution strategies on true draw densities.

Candidates are judged by the sum of true draw densities of whole episodes, which the simulator
knows. They read the observation alone. Both candidates of a pair play the same games; other pairs
play others, and no comparison uses these seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, repeat
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from matchenv.agents.cells import check_cells
from matchenv.agents.config_file import CLOSED, Count, Number, Positive, Whole
from matchenv.agents.equivariant.evolution import Evolution, Generation, evolve
from matchenv.agents.equivariant.network import (
    INDEX,
    MISSING_SLOPE,
    OPPONENT_COUNT_SLOPE,
    EquivariantNetwork,
    Index,
)
from matchenv.agents.equivariant.state import state_of_observations
from matchenv.evaluation.rollout import Batch, Decisions
from matchenv.evaluation.rollout import steps as games
from matchenv.evaluation.seeds import evaluation_seed, training_seed
from matchenv.runtime.parallel import Mapper
from matchenv.settings import Settings

Floats = NDArray[np.float64]

# Episodes side by side in a validation: more would leave the processor's cache.
BLOCK = 512


VALIDATION_CELLS = tuple(
    {"rank": rank, "prior": prior}
    for prior in ("informative", "equal")
    for rank in ("top", "middle", "bottom")
)


@checked_dataclass(frozen=True, config=CLOSED)
class Perturbations:
    """Standard deviations of the perturbations of a search, > 0.

    Attributes:
        bias: of biases and trust.
        slope: of slopes.
        missing_variance: of the slope on the variance that an equal prior does not know of.
    """

    bias: Positive
    slope: Positive
    missing_variance: Positive


@checked_dataclass(frozen=True, config=CLOSED)
class EquivariantConfig:
    """What a training needs; ``agents/hyperparameters/equivariant.yml`` explains each.

    Raises:
        ValueError: for a bad number or an unknown name.
    """

    cells: list[dict[str, Any]]
    env_kwargs: dict[str, Any]
    episodes: Count
    generations: Whole
    pairs: Whole
    rate: Number
    perturbations: Perturbations
    start: Index = INDEX
    validation_episodes: Annotated[Whole, Field(ge=2)] = 1000

    def __post_init__(self) -> None:
        check_cells(self.cells, {**self.env_kwargs, "belief": "full"})
        self.evolution()

    def evolution(self) -> Evolution:
        """The settings of the search."""
        return Evolution(self.generations, self.pairs, self.rate)


def play_totals(
    network: EquivariantNetwork, cells: list[dict[str, Any]], seeds: list[list[int]]
) -> Floats:
    """Sums of true draw densities of whole episodes.

    Args:
        network: chooses the opponent with the highest score.
        cells: keyword arguments of an environment each, alike in opponents, horizon and beta.
        seeds: for each cell, the seeds of its episodes; as many in every cell.

    Returns:
        Shape (cells, episodes).
    """
    batches = [
        Batch(Settings.checked(**{**cell, "belief": "full"}), row)
        for cell, row in zip(cells, seeds, strict=True)
    ]
    policy = _Greedy(network, batches[0].simulator.settings.beta)
    totals = np.zeros((len(cells), len(seeds[0])))
    for played in games(Decisions(policy), batches):
        del played
        totals += [batch.simulator.facts(batch.state)["true_draw_density"] for batch in batches]
    return totals


@dataclass(frozen=True)
class _Greedy:
    """The policy of a network that is being trained."""

    network: EquivariantNetwork
    beta: float

    def predict(
        self, observation: NDArray[Any], state: Any, episode_start: Any, deterministic: bool
    ) -> tuple[NDArray[np.int64], Any]:
        del episode_start, deterministic
        return best_actions(self.network, observation, self.beta), state


def best_actions(
    network: EquivariantNetwork, observations: NDArray[Any], beta: float
) -> NDArray[np.int64]:
    """The opponents with the highest scores, the first of equals, shape (n,)."""
    read = state_of_observations(observations, beta)
    with torch.inference_mode():
        scores = network.scores(torch.from_numpy(read.opponents), torch.from_numpy(read.state))
        actions: NDArray[np.int64] = scores.argmax(dim=1).numpy()
    return actions


def parameters_of(network: EquivariantNetwork) -> Floats:
    """The parameters that the search moves, as one row: slopes, biases and trust."""
    parts = (network.factors.weight, network.factors.bias, network.log_trust)
    return np.concatenate([part.detach().numpy().ravel() for part in parts]).astype(np.float64)


def network_with(parameters: Floats, seed: int = 0) -> EquivariantNetwork:
    """A network with these parameters.

    Args:
        parameters: as ``parameters_of`` gives them.
        seed: of the weights of the value. It plays no part in the search; reinforcement
            learning may start from it all the same.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = EquivariantNetwork()
    slopes = network.factors.weight.numel()
    values = torch.from_numpy(parameters.astype(np.float32))
    with torch.no_grad():
        network.factors.weight.copy_(values[:slopes].reshape(network.factors.weight.shape))
        network.factors.bias.copy_(values[slopes:-1])
        network.log_trust.copy_(values[-1])
    network.eval()
    return network


def start_and_scales(config: EquivariantConfig) -> tuple[Floats, Floats]:
    """Where the search starts and how far it looks around, in the order of ``parameters_of``."""
    network = EquivariantNetwork(start=config.start)
    slopes = np.full(network.factors.weight.shape, config.perturbations.slope)
    slopes[:, MISSING_SLOPE] = config.perturbations.missing_variance
    # All cells have the same number of opponents, so nothing determines this slope.
    slopes[:, OPPONENT_COUNT_SLOPE] = 0.0
    others = np.full(network.factors.bias.numel() + 1, config.perturbations.bias)
    return parameters_of(network), np.concatenate((slopes.ravel(), others))


def pair_difference(
    config: EquivariantConfig, seed: int, first_episode: int, centre: Floats, step: Floats
) -> float:
    """How much better centre + step plays than centre - step, on the same games.

    Args:
        config: of the training.
        seed: of the training.
        first_episode: number of the pair's first episode in the training.
        centre: parameters, shape (D,).
        step: the perturbation, shape (D,).

    Returns:
        As ``standardised_gains``, the mean over cells.
    """
    torch.set_num_threads(1)
    cells = [{**config.env_kwargs, **cell} for cell in config.cells]
    first = training_seed(seed) + first_episode
    seeds = [
        [first + cell * config.episodes + i for i in range(config.episodes)]
        for cell in range(len(cells))
    ]
    plus = play_totals(network_with(centre + step), cells, seeds)
    minus = play_totals(network_with(centre - step), cells, seeds)
    return float(standardised_gains(plus - minus).mean())


def standardised_gains(differences: Floats) -> Floats:
    """Mean differences of each cell in units of their standard deviation in that cell.

    The differences of paired totals vary three times as much with player 0 at the edge of the
    field as in the middle. Without the units, the cells at the edge would decide alone.

    Args:
        differences: of paired totals, shape (cells, episodes).

    Returns:
        Shape (cells,); 0 where all differences are equal.
    """
    return in_standard_deviations(differences.mean(axis=1, keepdims=True), differences)[:, 0]


def in_standard_deviations(values: Floats, differences: Floats) -> Floats:
    """Values over the standard deviation of each cell's differences.

    Args:
        values: shape (cells, K).
        differences: shape (cells, episodes).

    Returns:
        Shape (cells, K); 0 where all differences of a cell are equal.
    """
    spread = differences.std(axis=1, keepdims=True)
    return np.divide(values, spread, out=np.zeros_like(values), where=spread > 0.0)


def train(
    config: EquivariantConfig,
    seed: int,
    pool: Mapper,
    report: Callable[[Generation], None] = lambda generation: None,
    after: Generation | None = None,
) -> EquivariantNetwork:
    """Train one network.

    Args:
        config: what to train and for how long.
        seed: of perturbations and games; the result does not depend on the pool.
        pool: plays pairs side by side.
        report: called after each generation.
        after: go on after this generation of a training with the same settings and seed.
    """
    start, scales = start_and_scales(config)
    games = config.episodes * len(config.cells)

    def fitness(generation: int, centre: Floats, steps: Floats) -> Floats:
        before = (generation - 1) * config.pairs
        firsts = [(before + i) * games for i in range(config.pairs)]
        work = partial(pair_difference, config, seed)
        return np.array([*pool.map(work, firsts, repeat(centre), steps)])

    found = start if after is None else after.average
    rng = np.random.default_rng(seed)
    for generation in evolve(start, scales, fitness, config.evolution(), rng, after):
        found = generation.average
        report(generation)
    return network_with(found, seed)


def validate(parameters: Floats, config: EquivariantConfig, cell: dict[str, Any]) -> Floats:
    """Totals on the validation seeds, the same for all seeds of training.

    Args:
        parameters: as ``parameters_of``.
        config: of the training.
        cell: keyword arguments of the environment beside the config's.

    Returns:
        Shape (validation_episodes,).
    """
    torch.set_num_threads(1)
    first = evaluation_seed(0)
    network, where = network_with(parameters), [{**config.env_kwargs, **cell}]
    blocks = [
        play_totals(network, where, [[first + i for i in range(begin, end)]])[0]
        for begin, end in pairwise([*range(0, config.validation_episodes, BLOCK),
                                    config.validation_episodes])
    ]  # fmt: skip
    return np.concatenate(blocks)
