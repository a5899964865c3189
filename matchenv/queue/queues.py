"""A batch of queues: what the scalar and the vector environment share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from matchenv.play import MU, SIGMA, TRUE_SKILL
from matchenv.queue.choices import advance_all, begin_all, close_all, step_all
from matchenv.queue.given import GivenQueue
from matchenv.queue.settings import QueueSettings
from matchenv.queue.state import (
    ABANDONED,
    FIRST_GAME,
    FOCAL,
    FREE,
    HEAD,
    JOINED,
    MATCHED,
    NEXT,
    OVER,
    PHASE,
    PLAYER,
    PLAYING,
    QUALITY,
    QUEUED,
    REWARD,
    SECOND_PLAYER,
    TICK,
    TRUE_QUALITY,
    VISIT_COLUMNS,
    WAITED,
    WAITING,
    Batch,
    Rules,
)
from matchenv.queue.ticks import has_room_for_visits
from matchenv.queue.waiting import NOBODY, WaitingPlayers
from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Whole numbers of every ``info``: totals since the reset, and how many wait and play now.
COUNTS = {
    "tick": TICK,
    "queued": QUEUED,
    "matched_players": MATCHED,
    "abandoned": ABANDONED,
    "waiting": WAITING,
    "playing": PLAYING,
}
INFO_NAMES = (*COUNTS, "mean_wait", "match_quality", "true_match_quality", "action_mask")

# Visits for which there is room at first, where they are kept.
FIRST_VISITS = 1024


class Queues:
    """State of ``count`` queues and the one way to change it.

    Every queue has a key of its own, from which all its random numbers follow; what is chosen
    changes none of them.
    """

    def __init__(self, settings: QueueSettings, count: int) -> None:
        self.settings = settings
        self.rules = Rules.of(settings)
        self.batch = Batch.empty(settings, count)
        self.count = count
        self._reward = np.zeros(count)

    def begin(
        self,
        rows: Integers,
        generators: Sequence[np.random.Generator],
        given: GivenQueue | None = None,
    ) -> None:
        """Start new runs, up to the first choice.

        Args:
            rows: which queues, shape (K,).
            generators: one for every queue of the batch, used at ``rows``.
            given: what the user fixed; the random numbers do not depend on it.
        """
        given = given or GivenQueue()
        key = self.batch.key
        drift = np.zeros((self.count, given.num_players))
        for row in rows.tolist():
            generator = generators[row]
            key[row] = generator.integers(0, 2**64, dtype=np.uint64)
            if given.mu is not None and given.true_skill is None:
                drift[row] = generator.standard_normal(given.num_players)
        self._give_noise(rows, given.noise)
        shape = drift.shape
        mu = np.broadcast_to(0.0 if given.mu is None else given.mu, shape)
        sigma = np.broadcast_to(0.0 if given.sigma is None else given.sigma, shape)
        skill = mu + sigma * drift if given.true_skill is None else given.true_skill
        if shape[1] > self.batch.room:
            self.batch = self.batch.with_room(shape[1])
        players = (np.ascontiguousarray(np.broadcast_to(x, shape)) for x in (mu, sigma, skill))
        begin_all(self.batch, self.rules, rows, *players)
        self._go_on(rows, advance_all(self.batch, self.rules, rows))
        close_all(self.batch, self.rules, rows)

    def step(self, actions: Integers, idle: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
        """Carry out one choice in every queue that is not idle, and go on to the next.

        Args:
            actions: shape (B,), int64, allowed by the masks.
            idle: shape (B,), queues to leave alone.

        Returns:
            The rewards, 0 where idle, and whether the horizon is reached, both of shape (B,).
        """
        rows = np.arange(self.count)
        self._go_on(rows, step_all(self.batch, self.rules, actions, idle))
        rewards = np.where(idle, 0.0, self.batch.sums[:, REWARD])
        self.batch.sums[~idle, REWARD] = 0.0
        return rewards, (self.batch.numbers[:, PHASE] == OVER) & ~idle

    def infos(self) -> dict[str, NDArray[np.generic]]:
        """The information that ``MatchmakingQueueEnv`` describes, arrays of B rows; copies."""
        numbers, sums = self.batch.numbers, self.batch.sums
        infos: dict[str, NDArray[np.generic]] = {
            name: numbers[:, column].copy() for name, column in COUNTS.items()
        }
        left = numbers[:, MATCHED] + numbers[:, ABANDONED]
        infos["mean_wait"] = numbers[:, WAITED] / np.maximum(left, 1)
        infos["match_quality"] = sums[:, QUALITY].copy()
        infos["true_match_quality"] = sums[:, TRUE_QUALITY].copy()
        infos["action_mask"] = self.batch.mask.astype(np.int8)
        return infos

    @property
    def online(self) -> NDArray[np.bool_]:
        """Which actions are allowed, shape (B, capacity); a view."""
        return self.batch.mask

    def check_actions(self, actions: Integers, idle: NDArray[np.bool_]) -> None:
        """Nothing, if every action is allowed.

        Args:
            actions: shape (B,), in [0, capacity).
            idle: shape (B,), queues whose action does not count.

        Raises:
            ValueError: for a candidate that is not there; it names the first.
        """
        allowed = self.batch.mask[np.arange(self.count), actions] | idle
        if not allowed.all():
            row = int(np.flatnonzero(~allowed)[0])
            there = int(self.batch.mask[row].sum()) - 1
            where = f" at index {row}" if self.count > 1 else ""
            raise ValueError(
                f"action must be allowed by action_masks(), which is 0 to wait or one of {there} "
                f"candidates, got {int(actions[row])}{where}"
            )

    def waiting_players(self, row: int) -> WaitingPlayers:
        """What a policy is asked about in one queue."""
        batch, numbers = self.batch, self.batch.numbers[row]
        slots = slots_in_line(batch, row)
        index = np.full(batch.room + 1, NOBODY, dtype=np.int64)
        index[slots] = np.arange(slots.size)
        belief, players = batch.belief[row, slots], batch.players[row, slots]
        return WaitingPlayers(
            mu=belief[:, MU].copy(),
            sigma=belief[:, SIGMA].copy(),
            waited=numbers[TICK] - players[:, JOINED],
            player=players[:, PLAYER].copy(),
            focal=int(index[numbers[FOCAL]]),
            candidates=index[batch.candidates[row]],
            tick=int(numbers[TICK]),
            playing=int(numbers[PLAYING]),
            settings=self.settings,
            true_skill=belief[:, TRUE_SKILL].copy(),
        )

    def games(self, row: int) -> Floats:
        """Means of the two players of each game under way, shape (G, 2), in order of beginning."""
        numbers, ring = self.batch.numbers[row], self.batch.games[row]
        places = (numbers[FIRST_GAME] + np.arange(numbers[PLAYING] // 2)) % len(ring)
        return self.batch.belief[row, ring[places, : SECOND_PLAYER + 1], MU]

    def keep_visits(self) -> None:
        """From now on write down every visit to a queue that ends; see ``taken_visits``."""
        if self.batch.visits.shape[0] == 0:
            self.batch = self.batch.with_visits(FIRST_VISITS)

    def taken_visits(self) -> dict[str, Floats]:
        """The visits that ended since the last call, in order, and forget them.

        Returns:
            A column for each of ``VISIT_COLUMNS``, float64. ``waited`` counts ticks, ``served`` is
            1 for a game and 0 for one who gave up; the belief is that at the end of the visit,
            and so after ``games_played`` games; the qualities are 0 without a game.
        """
        kept = self.batch.visits[: self.batch.num_visits[0]].copy()
        self.batch.num_visits[0] = 0
        return {name: kept[:, column] for column, name in enumerate(VISIT_COLUMNS)}

    def _go_on(self, rows: Integers, stuck: bool) -> None:
        """Make room and go on, until no queue of ``rows`` is stuck."""
        while stuck:
            if not has_room_for_visits(self.batch):
                self.batch = self.batch.with_visits(2 * len(self.batch.visits))
            if (self.batch.numbers[rows, FREE] == 0).any():
                self.batch = self.batch.with_room(2 * self.batch.room)
            stuck = advance_all(self.batch, self.rules, rows)

    def _give_noise(self, rows: Integers, noise: Floats | None) -> None:
        """Keep the noise that the user fixed for ``rows``, NaN where there is none."""
        old = self.batch.noise
        if noise is None:
            old[rows] = np.nan
            return
        wide = np.full((self.count, max(old.shape[1], noise.shape[-1])), np.nan)
        wide[:, : old.shape[1]] = old
        wide[rows] = np.nan
        wide[rows, : noise.shape[-1]] = np.broadcast_to(noise, (self.count, noise.shape[-1]))[rows]
        self.batch = self.batch._replace(noise=wide)


@compiled
def slots_in_line(batch: Batch, row: int) -> Integers:
    """Places of those who wait, the longest waiting first."""
    slots = np.empty(batch.numbers[row, WAITING], dtype=np.int64)
    slot = batch.numbers[row, HEAD]
    for k in range(slots.size):
        slots[k] = slot
        slot = batch.players[row, slot, NEXT]
    return slots
