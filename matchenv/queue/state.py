"""The state of a batch of queues as arrays, and the numbers that stay the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.queue.settings import QUEUE_REWARDS, QueueSettings

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Of a player, beside the mean, deviation and true skill that ``matchenv.play`` names: the number
# of the log-on, the tick of joining the queue, the tick at whose end patience is over, the place
# in the order of all who ever joined, games played, 1 for a newcomer, and the neighbours in the
# order of joining.
PLAYER, JOINED, LEAVES, ORDER, GAMES, NEWCOMER, NEXT, PREVIOUS = range(8)

# Of a game under way: its two players' places, the tick of its end, and its number.
FIRST_PLAYER, SECOND_PLAYER, END, NUMBER = range(4)

# Of a queue: totals and present numbers, then where its lists begin and end.
(TICK, QUEUED, MATCHED, ABANDONED, WAITING, PLAYING, WAITED, LOGGED_ON, MATCHES, FREE, HEAD, TAIL,
 CURSOR, TO_ASK, FOCAL, PHASE, FIRST_GAME) = range(17)  # fmt: skip

# Of a queue, real numbers: when the next player logs on, the reward since the last choice, and
# the qualities of the match just made.
NEXT_LOG_ON, REWARD, QUALITY, TRUE_QUALITY = range(4)

# What is to be done next: begin the tick, ask about a player, more room is needed for players or
# for the table of visits, the horizon is reached.
BEGIN, ASK, NO_ROOM, OVER = range(4)

# A place in a list that nobody has.
NONE = -1

# Later than any tick.
NEVER = 2**62

# What is kept of each visit to the queue that has ended, where that is asked for.
VISIT_COLUMNS = (
    "environment", "tick", "player", "newcomer", "games_played", "waited", "served", "mu", "sigma",
    "true_skill", "match_quality", "true_match_quality",
)  # fmt: skip

# Room for players at first: it doubles where that is not enough.
FIRST_ROOM = 64


class Rules(NamedTuple):
    """The numbers of ``QueueSettings`` that the compiled functions need; names as there.

    Attributes:
        mean: of a newcomer's belief.
        deviation: of a newcomer's belief.
        by_truth: whether the reward is the true match quality.
    """

    arrival_rate: float
    newcomers: float
    patience: float
    game_length: int
    stay: float
    waiting_cost: float
    abandonment_cost: float
    horizon: int
    beta: float
    draw_margin: float
    tau: float
    mean: float
    deviation: float
    by_truth: bool

    @classmethod
    def of(cls, settings: QueueSettings) -> Rules:
        """Those of an environment's settings."""
        taken = {name: getattr(settings, name) for name in cls._fields[:11]}
        population = settings.population
        by_truth = settings.reward == QUEUE_REWARDS[1]
        return cls(**taken, mean=population.mean, deviation=population.deviation, by_truth=by_truth)


class Batch(NamedTuple):
    """B queues with room for P players each; a place is a column of these arrays.

    Attributes:
        belief: shape (B, P, 3): MU, SIGMA and TRUE_SKILL, as ``matchenv.play`` names them.
        players: shape (B, P, 8), the numbers of each player.
        by_mean: shape (B, P): places of those who wait, by mean and then by order of joining.
        free: shape (B, P): places that nobody has.
        games: shape (B, P, 4): games under way, a ring in the order of their beginning.
        numbers: shape (B, 17), of each queue.
        sums: shape (B, 4), of each queue.
        key: shape (B,), of the random numbers.
        noise: shape (B, N): noise of the first N games, where the user fixed it.
        population: shape (K, 3), as ``Population.rows``.
        candidates: shape (B, C - 1): places of those who can be chosen, NONE where there is none.
        mask: shape (B, C), which actions are allowed.
        observation: shape (B, 4 C + 3), float32.
        visits: shape (R, 12), rows as ``VISIT_COLUMNS``, R = 0 where they are not kept.
        num_visits: shape (1,), rows that are filled.
    """

    belief: Floats
    players: Integers
    by_mean: Integers
    free: Integers
    games: Integers
    numbers: Integers
    sums: Floats
    key: NDArray[np.uint64]
    noise: Floats
    population: Floats
    candidates: Integers
    mask: NDArray[np.bool_]
    observation: NDArray[np.float32]
    visits: Floats
    num_visits: Integers

    @classmethod
    def empty(cls, settings: QueueSettings, count: int) -> Batch:
        """Queues that have not begun."""
        room, capacity = FIRST_ROOM, settings.capacity
        return cls(
            belief=np.zeros((count, room, 3)),
            players=np.zeros((count, room, 8), dtype=np.int64),
            by_mean=np.zeros((count, room), dtype=np.int64),
            free=np.zeros((count, room), dtype=np.int64),
            games=np.zeros((count, room, 4), dtype=np.int64),
            numbers=np.zeros((count, 17), dtype=np.int64),
            sums=np.zeros((count, 4)),
            key=np.zeros(count, dtype=np.uint64),
            noise=np.zeros((count, 0)),
            population=np.ascontiguousarray(settings.population.rows),
            candidates=np.full((count, settings.num_candidates), NONE, dtype=np.int64),
            mask=np.zeros((count, capacity), dtype=np.bool_),
            observation=np.zeros((count, settings.observation_size), dtype=np.float32),
            visits=np.zeros((0, len(VISIT_COLUMNS))),
            num_visits=np.zeros(1, dtype=np.int64),
        )

    @property
    def room(self) -> int:
        """Players that have room in each queue."""
        return self.by_mean.shape[1]

    def with_room(self, room: int) -> Batch:
        """The same queues with room for more players."""
        old = self.room
        wider = {
            name: np.concatenate(
                (array, np.zeros((array.shape[0], room - old, *array.shape[2:]), array.dtype)),
                axis=1,
            )
            for name in ("belief", "players", "by_mean", "free")
            for array in [getattr(self, name)]
        }
        numbers = self.numbers.copy()
        # The ring of games is opened, so that its first game comes first.
        turned = (numbers[:, FIRST_GAME, np.newaxis] + np.arange(old)) % old
        games = np.zeros((len(numbers), room, 4), dtype=np.int64)
        games[:, :old] = np.take_along_axis(self.games, turned[:, :, np.newaxis], axis=1)
        numbers[:, FIRST_GAME] = 0
        for row, free in enumerate(numbers[:, FREE].tolist()):
            wider["free"][row, free : free + room - old] = np.arange(old, room)
        numbers[:, FREE] += room - old
        return self._replace(**wider, games=games, numbers=numbers)

    def with_visits(self, rows: int) -> Batch:
        """The same queues with room for more visits to be kept."""
        visits = np.zeros((rows, len(VISIT_COLUMNS)))
        kept = int(self.num_visits[0])
        visits[:kept] = self.visits[:kept]
        return self._replace(visits=visits)
