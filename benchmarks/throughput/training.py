"""Games a second of a training: stable-baselines3's PPO with the networks that the package has.

Whole rounds are timed, rollouts and updates, without evaluations and checkpoints, which a training
makes between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from matchenv.benchmarks.throughput.timing import Measurement, seconds
from matchenv.runtime.parallel import checked_workers

SECTION = "training"
ALGORITHM = "ppo"
MOST_THREADS = 2

# Configuration, what it trains, rounds of one turn, and the microseconds of a game in which 40,000
# and 25,000 of them take a second.
TRAININGS = (
    ("ppo_flat", "plain network", 4, 25.0),
    (None, "network shared over opponents", 1, 40.0),
)


def measure(turns: int) -> Iterator[Measurement]:
    """What a game of a training costs, on two threads where there are two cores.

    Args:
        turns: timed turns of each, after one that is not counted.
    """
    if find_spec("stable_baselines3") is None:
        return
    import torch

    threads = min(MOST_THREADS, checked_workers(None))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for config, label, rounds, target in TRAININGS:
            yield Measurement(
                SECTION,
                f"a training of PPO, {label}, {threads} threads",
                "microseconds a game",
                game_times(config, rounds, turns),
                target,
            )
    finally:
        torch.set_num_threads(before)


def game_times(config: str | None, rounds: int, turns: int) -> list[float]:
    """Microseconds a game in each turn.

    Args:
        config: name of a configuration of the package; None for PPO's own.
        rounds: rollouts and updates of one turn.
        turns: as ``measure``.
    """
    from matchenv.agents.run_config import configured
    from matchenv.agents.training import games_of_a_round, new_model

    file = None if config is None else Path(config)
    model = new_model(configured(ALGORITHM, config_file=file), "cpu", None)
    logger = import_module("stable_baselines3.common.logger")
    model.set_logger(logger.configure(None, []))
    games = rounds * games_of_a_round(model)

    def turn() -> None:
        model.learn(games, reset_num_timesteps=False)

    turn()
    return [1e6 * seconds(turn) / games for _ in range(turns)]
