"""A pool that changes: who is online, and who leaves for good. Compiled and pure.

The random numbers are a function of a key for each episode, of the game's number and of what
they are for. The key is made of the numbers that the instance was drawn from. So nothing is
taken from the episode's own generator: players and noise are those of an unchanged pool. And no
choice of a policy moves them: every policy meets the same opponents online at the same games.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from matchenv.counter_numbers import key_of, uniform_number
from matchenv.runtime.compile import compiled
from matchenv.settings import Settings

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Keys = NDArray[np.uint64]
Masks = NDArray[np.bool_]

# What random numbers are for; each has one for every player and game.
ONLINE, LEAVES, NEEDED, MEANS, VARIANCES, SKILLS = range(6)
PURPOSES = 6


@compiled
def uniform_at(key: np.uint64, players: int, game: int, purpose: int, player: int) -> float:
    """A uniform number of an episode, in the open interval (0, 1).

    Args:
        key: of the episode.
        players: M + 1.
        game: games played, 0 at the start.
        purpose: what it is for.
        player: 0 to M.
    """
    return uniform_number(key, (game * PURPOSES + purpose) * players + player)


@compiled
def bring_one_online(online: Masks, key: np.uint64, game: int) -> None:
    """Where nobody is online, one opponent comes online, all equally likely.

    Args:
        online: shape (M,), changed.
        key: of the episode.
        game: games played.
    """
    if not online.any():
        share = uniform_at(key, online.size + 1, game, NEEDED, 0)
        online[min(online.size - 1, int(share * online.size))] = True


@compiled
def begin_pool(
    rows: Integers, uniforms: Floats, availability: float, keys: Keys, online: Masks
) -> None:
    """Who is online at the start: each with the stationary probability ``availability``.

    Args:
        rows: the episodes, shape (K,).
        uniforms: shape (K, M + 1), numbers that their instances were drawn from.
        availability: probability to be online.
        keys: shape (B,), written at the rows.
        online: shape (B, M), written at the rows.
    """
    players = uniforms.shape[1]
    for k in range(rows.size):
        row = rows[k]
        key = key_of(uniforms[k])
        keys[row] = key
        for j in range(online.shape[1]):
            online[row, j] = uniform_at(key, players, 0, ONLINE, j + 1) < availability
        bring_one_online(online[row], key, 0)


@compiled
def change_pool(
    waiting: Masks,
    keys: Keys,
    games_played: Integers,
    goes_offline: float,
    comes_online: float,
    turnover: float,
    online: Masks,
    left: Masks,
) -> int:
    """What changes after a game of each episode that is not waiting.

    Args:
        waiting: shape (B,), episodes to leave alone.
        keys: shape (B,).
        games_played: shape (B,), with the game just played.
        goes_offline: probability that who is online goes offline.
        comes_online: probability that who is offline comes online.
        turnover: probability that an opponent leaves for good.
        online: shape (B, M), changed.
        left: shape (B, M), written: whose place a stranger has taken.

    Returns:
        How many have left.
    """
    players = online.shape[1] + 1
    count = 0
    for b in range(waiting.size):
        left[b] = False
        if waiting[b]:
            continue
        key, game = keys[b], games_played[b]
        for j in range(online.shape[1]):
            x = uniform_at(key, players, game, ONLINE, j + 1)
            online[b, j] = x >= goes_offline if online[b, j] else x < comes_online
            if turnover > 0.0 and uniform_at(key, players, game, LEAVES, j + 1) < turnover:
                left[b, j] = True
                count += 1
        bring_one_online(online[b], key, game)
    return count


@compiled
def uniforms_of(rows: Integers, keys: Keys, games_played: Integers, players: int) -> Floats:
    """Uniform numbers for strangers, shape (3, K, M + 1): means, variances and skills."""
    found = np.empty((3, rows.size, players))
    for purpose in range(3):
        for k in range(rows.size):
            row = rows[k]
            for i in range(players):
                found[purpose, k, i] = uniform_at(
                    keys[row], players, games_played[row], MEANS + purpose, i
                )
    return found


class Pool:
    """Who is online in each of B episodes.

    Args:
        settings: of the episodes.
        count: B.

    Attributes:
        online: shape (B, M), who can be chosen for the next game; kept up to date.
    """

    def __init__(self, settings: Settings, count: int) -> None:
        self.online: Masks = np.ones((count, settings.num_opponents), dtype=np.bool_)
        self._left: Masks = np.zeros_like(self.online)
        self._keys: Keys = np.zeros(count, dtype=np.uint64)
        self._availability = settings.availability
        self._chances = (settings.goes_offline, settings.comes_online, settings.turnover)

    def begin(self, rows: Integers, uniforms: Floats) -> None:
        """New episodes have begun; arguments as ``begin_pool``."""
        begin_pool(rows, uniforms, self._availability, self._keys, self.online)

    def change(self, games_played: Integers, waiting: Masks) -> tuple[Integers, Integers] | None:
        """Move on after a game.

        Args:
            games_played: shape (B,), with the game just played.
            waiting: shape (B,), episodes that played none.

        Returns:
            Episodes and opponents whose place a stranger has taken, shape (K,) each; None where
            nobody has left.
        """
        left = change_pool(
            waiting, self._keys, games_played, *self._chances, self.online, self._left
        )
        if left == 0:
            return None
        rows, opponents = np.nonzero(self._left)
        return rows, opponents

    def numbers_for_strangers(
        self, rows: Integers, games_played: Integers
    ) -> tuple[Floats, Floats]:
        """Random numbers of a whole field for each row, as ``matchenv.instance`` takes them.

        Args:
            rows: shape (K,).
            games_played: shape (B,).

        Returns:
            Standard normal numbers (K, 2 (M + 1)) and uniform ones (K, M + 1).
        """
        players = self.online.shape[1] + 1
        means, variances, skills = uniforms_of(rows, self._keys, games_played, players)
        return ndtri(np.concatenate((means, skills), axis=1)), variances
