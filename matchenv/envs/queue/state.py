"""The state of B queues: records in arrays with a row for each queue.

Each player who is logged on has a slot, a column of ``State.players``. The slot of a party is that
of its first member. The members of a party, the parties of the open lobby, those of each game, and
the free slots are chains: a record has the slot of the first, each slot that of the next, and the
last one NONE. Few arrays, whatever the sides, keep the compiled functions quick to compile, and a
single player is one record in memory.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.settings import QueueSettings
from matchenv.runtime.arrays import Floats, Integers, Masks

# Structured arrays of the records below.
Records = NDArray[Any]

# No slot.
NONE = -1

# Index or number of a missing player or party.
NOBODY = -1

# Phases of a queue.
BEFORE_TICK = 0
BEFORE_CHOICE = 1
OVER = 2

# Initial number of slots, which doubles when needed.
FIRST_ROOM = 64

# Time and totals of a queue.
CLOCK = np.dtype(
    [
        ("key", np.uint64),  # of all random numbers of the run
        ("tick", np.int64),  # the current tick, from 0
        ("phase", np.int64),  # BEFORE_TICK, BEFORE_CHOICE or OVER
        ("next_log_on", np.float64),  # time of the next log-on, in ticks
        # Totals since the reset. Numbers of players unless they are of parties.
        ("log_ons", np.int64),  # parties who logged on
        ("logged_on", np.int64),  # players who logged on
        ("queued", np.int64),  # times that a player joined the queue
        ("matched_players", np.int64),  # times that a player left the queue for a game
        ("abandoned", np.int64),  # times that a player gave up
        ("waited", np.int64),  # ticks that all players who left the queue had waited
        ("games_begun", np.int64),  # games that began
        ("had_choice", np.int64),  # 1 if there was a choice, else 0
        # Current numbers of players.
        ("waiting", np.int64),  # who wait
        ("to_ask", np.int64),  # who wait and whose party founded no lobby yet in this tick
        ("playing", np.int64),  # in games
        ("num_games", np.int64),  # games
        # The open lobby.
        ("focal", np.int64),  # slot of the founder, the first party, or NONE
        ("last", np.int64),  # slot of the last party
        ("lobby_parties", np.int64),  # parties in it
        ("seats_taken", np.int64),  # players in it
        ("lobby_mu", np.float64),  # sum of the parties' ``party_mu``
        ("lobby_variance", np.float64),  # sum of the squares of their ``party_sigma``
        ("num_allowed", np.int64),  # allowed actions: the candidates, and 0
        # Positions in the arrays of the state.
        ("length", np.int64),  # positions of the line that are in use
        ("cursor", np.int64),  # position in the line of the next founder
        ("free_slot", np.int64),  # first slot without a player
        ("num_free", np.int64),  # slots without a player
        ("oldest", np.int64),  # column of ``games`` with the oldest current game
        ("num_visits", np.int64),  # records in ``visits``
        # Results of the last choice.
        ("reward", np.float64),  # since that choice
        ("match_quality", np.float64),  # of the game that it began, else 0
        ("true_match_quality", np.float64),  # the same under the true skills
        # Standard deviations within the sides of the last game, if visits are recorded.
        ("spread", np.float64),  # of the means
        ("true_spread", np.float64),  # of the true skills
    ],
    align=True,
)

# A player. What begins with ``party`` and below is kept in the slot of the party's first member.
PLAYER = np.dtype(
    [
        ("number", np.int64),  # in the order of logging on, from 0
        ("mu", np.float64),  # mean of the belief, in skill points
        ("sigma", np.float64),  # standard deviation of the belief
        ("true_skill", np.float64),  # in skill points
        ("next_member", np.int32),  # slot of the next member of the party, or the next free slot
        ("newcomer", np.int8),  # 1 for a newcomer, 0 for a regular
        # The party, which waits, plays, stays, gives up and leaves together.
        ("size", np.int8),  # number of members
        ("side", np.int8),  # in the game
        ("seated", np.int8),  # 1 in the open lobby, else 0
        ("party", np.int64),  # number of the party in the order of logging on, from 0
        ("party_mean", np.float64),  # ``party_mu`` per member
        ("party_mu", np.float64),  # mean of the party's performance as forecasts count it
        ("party_sigma", np.float64),  # root of the members' summed variances
        ("leaves", np.int64),  # last tick of patience
        ("next_party", np.int32),  # slot of the next party in the lobby or game
        ("played", np.int32),  # games since the log-on
        ("joined", np.int32),  # tick of joining the queue
        ("position", np.int32),  # in the line
    ],
    align=True,
)

# A current game.
GAME = np.dtype(
    [
        ("number", np.int64),  # in the order of beginning, from 0
        ("end", np.int64),  # tick at whose start the game ends
        ("party", np.int64),  # slot of the first party; parties of the first side come first
    ],
    align=True,
)

# An entry of the observation: the open lobby or a candidate.
ENTRY = np.dtype(
    [
        ("slot", np.int64),  # of the founder or the candidate, or NONE
        ("quality", np.float64),  # of the lobby, with the candidate; 0 with two seats
    ],
    align=True,
)

# Columns of ``State.last_game``, then the parties' numbers and sizes.
WIN_PROBABILITY = 0
TRUE_WIN_PROBABILITY = 1
FORECASTS = 2

# A visit of a player to the queue that has ended. Fields of the game are 0 without one.
VISIT = np.dtype(
    [
        ("tick", np.int64),  # of its end
        ("player", np.int64),  # number of the player
        ("party", np.int64),  # number of the player's party
        ("party_size", np.int64),  # members of this party
        ("newcomer", np.int64),  # 1 for a newcomer, 0 for a regular
        ("games_played", np.int64),  # by the player before the end of the visit
        ("waited", np.int64),  # ticks
        ("served", np.int64),  # 1 if a game ended it, 0 if the party gave up
        ("mu", np.float64),  # mean of the belief at its end
        ("sigma", np.float64),  # standard deviation of the belief at its end
        ("true_skill", np.float64),  # at its end
        ("match_quality", np.float64),  # of the game
        ("true_match_quality", np.float64),  # of the game
        ("win_probability", np.float64),  # of the player's side
        ("true_win_probability", np.float64),  # the same under the true skills
        ("favourite", np.float64),  # largest win probability of a side
        ("true_favourite", np.float64),  # of this side under the true skills
        ("spread", np.float64),  # standard deviation of the means within the sides of the game
        ("true_spread", np.float64),  # the same of the true skills
    ],
    align=True,
)


class State(NamedTuple):
    """B queues with C actions and room for P players, G games and V visits.

    A game has k sides of n players.

    Attributes:
        clock: CLOCK records, shape (B,).
        players: PLAYER records, one for each slot, shape (B, P).
        line: parties' slots in the order of joining, shape (B, P); NONE for a party that left in
            this tick.
        games: GAME records of the current games in the order of beginning, shape (B, G); a ring
            from ``clock["oldest"]`` on.
        last_game: of each side of the game that the last choice began, WIN_PROBABILITY,
            TRUE_WIN_PROBABILITY, the numbers of its parties and their sizes, shape (B, k, 2 + 2 n).
            Where a side has fewer parties, or without a game, these are ``NOBODY`` and 0. With two
            seats, only the forecasts are written, and only if visits are recorded.
        entries: ENTRY records: the open lobby, then the candidates, shape (B, C).
        mask: allowed actions, shape (B, C).
        observation: shape (B, ``QueueSettings.observation_size``), float32.
        luck: uniform numbers that decide the first N games, shape (B, N); NaN if not fixed.
        visits: VISIT records, shape (B, V); V is 0 if visits are not recorded.
    """

    clock: Records
    players: Records
    line: Integers
    games: Records
    last_game: Floats
    entries: Records
    mask: Masks
    observation: NDArray[np.float32]
    luck: Floats
    visits: Records

    @property
    def room(self) -> int:
        """P, the number of slots in each queue."""
        return self.players.shape[1]


def empty_state(settings: QueueSettings, count: int) -> State:
    """Return ``count`` queues that have not begun."""
    room = FIRST_ROOM
    actions = settings.capacity
    numbers_of_side = FORECASTS + 2 * settings.side_size
    return State(
        clock=np.zeros(count, CLOCK),
        players=np.zeros((count, room), PLAYER),
        line=np.full((count, room), NONE),
        games=np.zeros((count, math.ceil(room / settings.num_seats)), GAME),
        last_game=np.zeros((count, settings.num_sides, numbers_of_side)),
        entries=np.full((count, actions), np.array((NONE, 0.0), ENTRY)),
        mask=np.zeros((count, actions), dtype=np.bool_),
        observation=np.zeros((count, settings.observation_size), dtype=np.float32),
        luck=np.full((count, 0), np.nan),
        visits=np.zeros((count, 0), VISIT),
    )


def free_all_slots(state: State, rows: Integers) -> None:
    """Chain all slots as free; the records of the clock are new."""
    following = np.arange(1, state.room + 1)
    following[-1] = NONE
    state.players["next_member"][rows] = following
    state.clock["free_slot"][rows] = 0
    state.clock["num_free"][rows] = state.room


def grown(state: State) -> State:
    """Return the same queues with twice the room for players, games and visits."""
    clock = state.clock.copy()
    room = 2 * state.room
    players = extended(state.players, room)
    # The new slots come before the slots that were free.
    players["next_member"][:, state.room :] = np.arange(state.room + 1, room + 1)
    players["next_member"][:, -1] = clock["free_slot"]
    clock["free_slot"] = state.room
    clock["num_free"] += state.room
    # The new ring begins with the oldest game.
    rows = np.arange(len(clock))[:, np.newaxis]
    most_games = state.games.shape[1]
    in_order = (clock["oldest"][:, np.newaxis] + np.arange(most_games)) % most_games
    clock["oldest"] = 0
    return state._replace(
        clock=clock,
        players=players,
        line=extended(state.line, room),
        games=extended(state.games[rows, in_order], 2 * most_games),
        visits=extended(state.visits, 2 * state.visits.shape[1]),
    )


def extended(array: NDArray[Any], columns: int) -> NDArray[Any]:
    """Return an array of shape (B, n) with zeros added up to shape (B, columns)."""
    count, before = array.shape
    added = np.zeros((count, columns - before), array.dtype)
    return np.concatenate((array, added), axis=1)


def chained(rows: int | Integers, slots: Integers, following: Integers, count: int) -> Integers:
    """Return the first ``count`` slots of chains, shape (..., count); NONE beyond the end.

    Args:
        rows: of the queues; broadcasts with ``slots``.
        slots: first slot of each chain, or NONE, shape (...).
        following: the slot after each slot, shape (B, P).
        count: at least 1.
    """
    columns = [slots]
    for _ in range(1, count):
        before = columns[-1]
        columns.append(np.where(before == NONE, NONE, following[rows, before]))
    return np.stack(columns, axis=-1)
