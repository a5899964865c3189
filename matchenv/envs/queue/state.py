"""The state of B queues: records in arrays with a row for each queue.

Each player who is logged on has a slot, a column of ``State.players``, and each party a slot, a
column of ``State.parties``. Slots of waiting parties are in the line, slots of playing ones on the
sides of their games, and all others are free.
"""

from __future__ import annotations

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
        # The open lobby.
        ("focal", np.int64),  # slot of the founder, or NONE
        ("lobby_parties", np.int64),  # parties in it
        ("seats_taken", np.int64),  # players in it
        ("lobby_mu", np.float64),  # sum of the parties' ``mu``
        ("lobby_variance", np.float64),  # sum of the squares of the parties' ``sigma``
        ("num_allowed", np.int64),  # allowed actions: the candidates, and 0
        # Positions in the arrays of the state.
        ("length", np.int64),  # positions of the line that are in use
        ("cursor", np.int64),  # position in the line of the next founder
        ("num_free_players", np.int64),  # slots in ``free_players``
        ("num_free_parties", np.int64),  # slots in ``free_parties``
        ("oldest", np.int64),  # column of ``games`` with the oldest current game
        ("num_visits", np.int64),  # records in ``visits``
        # Results of the last choice.
        ("reward", np.float64),  # since that choice
        ("began", np.int64),  # 1 if it began a game, else 0
        ("match_quality", np.float64),  # of that game, else 0
        ("true_match_quality", np.float64),  # the same under the true skills
        # Standard deviations within the sides of the last game, if visits are recorded.
        ("spread", np.float64),  # of the means
        ("true_spread", np.float64),  # of the true skills
    ],
    align=True,
)

# A player.
PLAYER = np.dtype(
    [
        ("number", np.int64),  # in the order of logging on, from 0
        ("newcomer", np.int64),  # 1 for a newcomer, 0 for a regular
        ("mu", np.float64),  # mean of the belief, in skill points
        ("sigma", np.float64),  # standard deviation of the belief
        ("true_skill", np.float64),  # in skill points
    ],
    align=True,
)

# A party, which waits, plays, stays, gives up and leaves together.
PARTY = np.dtype(
    [
        ("number", np.int64),  # in the order of logging on, from 0
        ("size", np.int64),  # number of members
        ("played", np.int64),  # games since the log-on
        ("joined", np.int64),  # tick of joining the queue
        ("leaves", np.int64),  # last tick of patience
        ("position", np.int64),  # in the line
        ("seated", np.int64),  # 1 in the open lobby, else 0
        ("mu", np.float64),  # mean of the party's performance as forecasts count it
        ("sigma", np.float64),  # root of the members' summed variances
        ("mean", np.float64),  # ``mu`` per member
    ],
    align=True,
)

# A current game.
GAME = np.dtype(
    [
        ("number", np.int64),  # in the order of beginning, from 0
        ("end", np.int64),  # tick at whose start the game ends
    ],
    align=True,
)

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
    """B queues with C actions and room for P players, P parties, G games and V visits.

    A game has k sides of n players, S = k n seats, and G is P // S.

    Attributes:
        clock: CLOCK records, shape (B,).
        players: PLAYER records, one for each slot, shape (B, P).
        parties: PARTY records, one for each slot, shape (B, P).
        members: players' slots of each party, shape (B, P, n); NONE beyond its size.
        line: parties' slots in the order of joining, shape (B, P); NONE for a party that left in
            this tick.
        free_players: slots without a player, a stack, shape (B, P).
        free_parties: slots without a party, a stack, shape (B, P).
        lobby: parties' slots of the open lobby in the order of joining it, shape (B, S); those
            beyond ``clock["lobby_parties"]`` are not read.
        games: GAME records of the current games in the order of beginning, shape (B, G); a ring
            from ``clock["oldest"]`` on.
        sides: parties' slots of these games, shape (B, G, k, n); NONE where a side has fewer.
        win_probability: of each side of the game that the last choice began, else 0, shape (B, k).
        true_win_probability: the same under the true skills, shape (B, k).
        game_parties: numbers of the parties on each side of that game, ``NOBODY`` where a side has
            fewer, shape (B, k, n).
        game_sizes: sizes of these parties, 0 where a side has fewer, shape (B, k, n).
        shown: parties' slots in the observation: the founder, then the candidates; NONE if missing,
            shape (B, C).
        quality: match quality of the open lobby, then that with each candidate, shape (B, C); see
            ``MatchmakingQueueEnv``. With two seats, shape (B, 0).
        mask: allowed actions, shape (B, C).
        observation: shape (B, ``QueueSettings.observation_size``), float32.
        luck: uniform numbers that decide the first N games, shape (B, N); NaN if not fixed.
        visits: VISIT records, shape (B, V); V is 0 if visits are not recorded.
    """

    clock: Records
    players: Records
    parties: Records
    members: Integers
    line: Integers
    free_players: Integers
    free_parties: Integers
    lobby: Integers
    games: Records
    sides: Integers
    win_probability: Floats
    true_win_probability: Floats
    game_parties: Integers
    game_sizes: Integers
    shown: Integers
    quality: Floats
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
    num_seats = settings.num_seats
    of_sides = (count, settings.num_sides)
    of_parties = (*of_sides, settings.side_size)
    most_games = room // num_seats
    num_qualities = 0
    if settings.has_lobbies:
        num_qualities = actions
    return State(
        clock=np.zeros(count, CLOCK),
        players=np.zeros((count, room), PLAYER),
        parties=np.zeros((count, room), PARTY),
        members=np.full((count, room, settings.side_size), NONE),
        line=np.full((count, room), NONE),
        free_players=np.full((count, room), NONE),
        free_parties=np.full((count, room), NONE),
        lobby=np.full((count, num_seats), NONE),
        games=np.zeros((count, most_games), GAME),
        sides=np.full((count, most_games, *of_parties[1:]), NONE),
        win_probability=np.zeros(of_sides),
        true_win_probability=np.zeros(of_sides),
        game_parties=np.full(of_parties, NOBODY),
        game_sizes=np.zeros(of_parties, dtype=np.int64),
        shown=np.full((count, actions), NONE),
        quality=np.zeros((count, num_qualities)),
        mask=np.zeros((count, actions), dtype=np.bool_),
        observation=np.zeros((count, settings.observation_size), dtype=np.float32),
        luck=np.full((count, 0), np.nan),
        visits=np.zeros((count, 0), VISIT),
    )


def grown(state: State) -> State:
    """Return the same queues with twice the room for players, parties, games and visits."""
    clock = state.clock.copy()
    room = 2 * state.room
    free_players = _with_new_slots(state.free_players, clock["num_free_players"])
    free_parties = _with_new_slots(state.free_parties, clock["num_free_parties"])
    clock["num_free_players"] += state.room
    clock["num_free_parties"] += state.room
    # The new ring begins with the oldest game.
    rows = np.arange(len(clock))[:, np.newaxis]
    most_games = state.games.shape[1]
    in_order = (clock["oldest"][:, np.newaxis] + np.arange(most_games)) % most_games
    clock["oldest"] = 0
    num_seats = state.lobby.shape[1]
    return state._replace(
        clock=clock,
        players=extended(state.players, room),
        parties=extended(state.parties, room),
        members=extended(state.members, room),
        line=extended(state.line, room),
        free_players=free_players,
        free_parties=free_parties,
        games=extended(state.games[rows, in_order], room // num_seats),
        sides=extended(state.sides[rows, in_order], room // num_seats),
        visits=extended(state.visits, 2 * state.visits.shape[1]),
    )


def _with_new_slots(free_slots: Integers, num_free: Integers) -> Integers:
    """Return stacks of free slots, shape (B, 2 P), with the new slots P to 2 P - 1 on top.

    Args:
        free_slots: shape (B, P).
        num_free: slots in each stack, shape (B,).
    """
    count, room = free_slots.shape
    stacks = extended(free_slots, 2 * room)
    columns = num_free[:, np.newaxis] + np.arange(room)
    stacks[np.arange(count)[:, np.newaxis], columns] = np.arange(room, 2 * room)
    return stacks


def extended(array: NDArray[Any], columns: int) -> NDArray[Any]:
    """Return an array of shape (B, n, ...) with zeros added up to shape (B, columns, ...)."""
    count, before, *others = array.shape
    added = np.zeros((count, columns - before, *others), array.dtype)
    return np.concatenate((array, added), axis=1)
