"""Common random numbers for each opponent: noise by whom one plays and how often one has.

The k-th game of an episode against an opponent then has the same performance noise whenever it is
played, so that two policies who meet the same opponents as often have the same luck with them.
Their totals differ less by chance than with noise by the number of the game. In law both are the
same: a policy cannot see noise of games that it has not played.

Source: common random numbers, synchronised; Law, "Simulation modeling and analysis", chapter 11.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.counter_numbers import key_of, mixed, normal_number
from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Counts = NDArray[np.int32]
Keys = NDArray[np.uint64]

# Makes the stream of the noise another one than that of a pool that changes.
NOISE = np.uint64(0x6E6F697365)

# For each game with an opponent: the performance noise, the opponent's drift.
NUMBERS = 2


@compiled
def begin_noise(rows: Integers, uniforms: Floats, keys: Keys, games_against: Counts) -> None:
    """New episodes have begun.

    Args:
        rows: the episodes, shape (K,).
        uniforms: shape (K, M + 1), numbers that their instances were drawn from.
        keys: shape (B,), written at the rows.
        games_against: shape (B, M), becomes 0 at the rows.
    """
    for k in range(rows.size):
        keys[rows[k]] = mixed(key_of(uniforms[k]) ^ NOISE)
        games_against[rows[k]] = 0


@compiled
def place_noise(
    keys: Keys,
    games_against: Counts,
    games_played: Integers,
    opponents: Integers,
    waiting: NDArray[np.bool_],
    noise: Floats,
) -> None:
    """Put the noise of the games about to be played where ``matchenv.play`` looks for it.

    Player 0's own drift stays by the number of the game, which is the same for all policies.

    Args:
        keys: shape (B,).
        games_against: shape (B, M), games played with each opponent; counts these too.
        games_played: shape (B,).
        opponents: shape (B,), in [0, M).
        waiting: shape (B,), episodes to leave alone.
        noise: as ``play_games``, written.
    """
    block, channels = noise.shape[1], noise.shape[2]
    opponents_of_each = games_against.shape[1]
    for b in range(waiting.size):
        if waiting[b]:
            continue
        j = opponents[b]
        place = NUMBERS * (np.int64(games_against[b, j]) * opponents_of_each + j)
        entry = games_played[b] % block
        noise[b, entry, 0] = normal_number(keys[b], place)
        if channels > 1:
            noise[b, entry, 2] = normal_number(keys[b], place + 1)
        games_against[b, j] += 1


@compiled
def noise_ahead(key: np.uint64, num_opponents: int, games: int) -> Floats:
    """The performance noise of the first games with each opponent, as ``place_noise`` places it.

    Args:
        key: of the episode.
        num_opponents: M.
        games: how many with each.

    Returns:
        Shape (M, games).
    """
    noise = np.empty((num_opponents, games))
    for j in range(num_opponents):
        for n in range(games):
            noise[j, n] = normal_number(key, NUMBERS * (n * num_opponents + j))
    return noise


class OpponentNoise:
    """Noise by opponent in each of B episodes.

    Args:
        count: B.
        num_opponents: M.
    """

    def __init__(self, count: int, num_opponents: int) -> None:
        self._keys: Keys = np.zeros(count, dtype=np.uint64)
        self._games_against: Counts = np.zeros((count, num_opponents), dtype=np.int32)

    def begin(self, rows: Integers, uniforms: Floats) -> None:
        """New episodes have begun; arguments as ``begin_noise``."""
        begin_noise(rows, uniforms, self._keys, self._games_against)

    def ahead(self, row: int, games: int) -> Floats:
        """The performance noise of the first games with each opponent, of an episode that began.

        Args:
            row: the episode.
            games: how many with each.

        Returns:
            Shape (M, games).
        """
        return noise_ahead(self._keys[row], self._games_against.shape[1], games)

    def place(
        self,
        games_played: Integers,
        opponents: Integers,
        waiting: NDArray[np.bool_],
        noise: Floats,
    ) -> None:
        """The noise of the games about to be played; arguments as ``place_noise``."""
        place_noise(self._keys, self._games_against, games_played, opponents, waiting, noise)
