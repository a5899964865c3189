"""The base class of policies that plan the lobbies of all waiting parties once per tick."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from matchenv.baselines.queue.candidates import WAIT, QueuePolicy
from matchenv.envs.queue.lobby import LobbyTable, packing_table, packs
from matchenv.envs.queue.state import NOBODY
from matchenv.envs.queue.view import QueueView, WaitingParties
from matchenv.runtime.arrays import Integers
from matchenv.runtime.checks import refusal, shown

# Lobbies: indices of their parties, or their sides with indices of parties.
PlannedLobbies = Iterable[Sequence[Any] | Integers]


@dataclass
class Plan:
    """The lobbies of one queue in one tick.

    Attributes:
        run: identifier of the queue's episode.
        tick: of the plan.
        others: numbers of the other parties in the lobby of each party who had no choice yet, by
            the number of the party.
        founder: number of the founder of the open lobby.
        seats_taken: players in the open lobby after the last choice.
        joining: numbers of the parties who still join it.
    """

    run: int
    tick: int
    others: dict[int, list[int]]
    founder: int = NOBODY
    seats_taken: int = 0
    joining: list[int] = field(default_factory=list)

    def is_for(self, run: int, tick: int) -> bool:
        """Return whether this is the plan of a run and a tick."""
        return self.run == run and self.tick == tick

    def has_open(self, founder: int, seats_taken: int) -> bool:
        """Return whether an open lobby is the one that this plan is filling."""
        is_same = self.founder == founder and self.seats_taken == seats_taken
        return is_same and bool(self.joining)

    def open(self, founder: int, seats_taken: int, joined: Collection[int] = ()) -> None:
        """Begin to fill the lobby of a founder.

        Args:
            founder: number of the party, who had no choice yet.
            seats_taken: players in the open lobby.
            joined: numbers of the parties in the lobby besides the founder. If one of them is not
                in the lobby of the plan, no party joins.
        """
        others = self.others.pop(founder)
        self.founder = founder
        self.seats_taken = seats_taken
        self.joining = []
        if set(joined) <= set(others):
            self.joining = [number for number in others if number not in joined]


class PlannedPolicy(QueuePolicy):
    """A rule that plans the lobbies of all waiting parties once per tick, at its first choice.

    A subclass implements ``plan``. A plan is valid in its run and tick, for parties who had no
    choice since it was made; otherwise there is a new one. A lobby dissolves if one of its parties
    cannot join, and parties without a lobby wait.
    """

    @cached_property
    def _plans(self) -> dict[int, Plan]:
        """The last plan of each row."""
        return {}

    @abstractmethod
    def plan(self, waiting: WaitingParties) -> PlannedLobbies:
        """Return disjoint lobbies that fill a game each, as lists of indices of parties.

        A lobby can also be a list of its sides, each a list of parties. The environment chooses the
        sides itself, by match quality.
        """

    def act(self, view: QueueView, rng: np.random.Generator | None = None) -> Integers:
        """Choose the next party of the planned lobby; see ``QueuePolicy.act``.

        Raises:
            ValueError: for planned lobbies that overlap, split a party or have a wrong size.
        """
        runs = view.run.tolist()
        ticks = view.tick.tolist()
        founders = view.party[:, 0].tolist()
        seats_taken = view.size[:, 0].tolist()
        joining = np.full((len(view), view.settings.num_seats - 1), NOBODY)
        rows = np.flatnonzero(view.has_candidates & (view.tick < view.settings.horizon)).tolist()
        for row in rows:
            plan = self._plans.get(row)
            if plan is None or not plan.is_for(runs[row], ticks[row]):
                plan = self._new_plan(view, row)
            elif not plan.has_open(founders[row], seats_taken[row]):
                if founders[row] in plan.others:
                    plan.open(founders[row], seats_taken[row])
                else:
                    plan = self._new_plan(view, row)
            joining[row, : len(plan.joining)] = plan.joining
        is_joining = (view.party[:, :, np.newaxis] == joining[:, np.newaxis, :]).any(axis=2)
        is_joining &= view.action_mask
        is_joining[:, 0] = False
        actions = np.where(is_joining.any(axis=1), is_joining.argmax(axis=1), WAIT)
        for row in rows:
            self._advance_plan(view, row, int(actions[row]))
        return actions

    def _new_plan(self, view: QueueView, row: int) -> Plan:
        """Plan the lobbies of a queue, and open that of the founder."""
        waiting = view[row]
        others: dict[int, list[int]] = {number: [] for number in waiting.party.tolist()}
        for lobby in checked_lobbies(self.plan(waiting), waiting):
            numbers = waiting.party[lobby].tolist()
            for number in numbers:
                others[number] = [other for other in numbers if other != number]
        plan = Plan(int(view.run[row]), int(view.tick[row]), others)
        joined = waiting.party[waiting.lobby[1:]].tolist()
        plan.open(int(view.party[row, 0]), int(view.size[row, 0]), joined)
        self._plans[row] = plan
        return plan

    def _advance_plan(self, view: QueueView, row: int, action: int) -> None:
        """Note which party joins the open lobby, or that it dissolves."""
        plan = self._plans[row]
        if action == WAIT:
            plan.joining = []
            return
        plan.joining.remove(int(view.party[row, action]))
        plan.seats_taken += int(view.size[row, action])


def checked_lobbies(lobbies: PlannedLobbies, waiting: WaitingParties) -> list[list[int]]:
    """Return the parties of each planned lobby.

    Args:
        lobbies: see ``PlannedPolicy.plan``.
        waiting: parties of the queue.

    Raises:
        ValueError: for lobbies that overlap, split a party or have a wrong size.
    """
    settings = waiting.settings
    checked = []
    lobby_of: dict[int, Any] = {}
    for lobby in lobbies:
        sides = [np.atleast_1d(side).tolist() for side in lobby]
        parties = [party for side in sides for party in side]
        for party in parties:
            if type(party) is not int or not 0 <= party < waiting.size.size:
                rule = f"a lobby must hold indices of parties below {waiting.size.size}"
                raise refusal(rule, lobby)
            if party in lobby_of:
                raise ValueError(
                    "lobbies must be disjoint, "
                    f"got party {party} in {shown(lobby_of[party])} and in {shown(lobby)}"
                )
        for party in parties:
            if parties.count(party) > 1:
                raise refusal(f"a lobby must hold party {party} once", lobby)
            lobby_of[party] = lobby
        sizes = waiting.size[parties]
        if sizes.sum() != settings.num_seats:
            rule = f"a lobby must have {settings.num_seats} players"
            raise ValueError(f"{rule}, got {sizes.sum()} in {shown(lobby)}")
        counts = np.bincount(sizes, minlength=settings.side_size + 1)[1:]
        if not packs(table_of(settings.side_size, settings.num_sides), counts):
            raise ValueError(
                f"a lobby must fill {settings.num_sides} sides of {settings.side_size} without "
                f"splitting a party, got parties of {sizes.tolist()} players in {shown(lobby)}"
            )
        checked.append(parties)
    return checked


@lru_cache(maxsize=16)
def table_of(side_size: int, num_sides: int) -> LobbyTable:
    """Return the table of a game's shape, whose working arrays must not be used."""
    return packing_table(side_size, num_sides)
