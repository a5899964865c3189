"""Ratings of named players, kept from game to game and in a plain file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from matchenv.runtime.checks import as_integer, as_number, as_positive_number
from matchenv.runtime.files import json_bytes, read_json, write_bytes
from matchenv.trueskill.rating import Rating
from matchenv.trueskill.teams import Weights, sides_of
from matchenv.trueskill.trueskill import TrueSkill

FORMAT = "matchenv leaderboard 1"


class RankedPlayer(NamedTuple):
    """One line of a leaderboard.

    Attributes:
        name: the player.
        mu: mean of the belief about the player's skill.
        sigma: its standard deviation.
        exposed: the conservative skill mu - k sigma, by which players are sorted: k is 3 on a
            ``Leaderboard``, and mu / sigma of a newcomer in a ``matchenv.service.Pool``.
        games_played: number of games.
    """

    name: str
    mu: float
    sigma: float
    exposed: float
    games_played: int


class Leaderboard:
    """TrueSkill ratings of named players: update from games, look up, sort, save, load.

    Args:
        mu: mean of the belief about a player before the first game.
        sigma: its standard deviation, > 0.
        beta: standard deviation of one performance around skill, > 0.
        tau: standard deviation of the skill's drift before each game of a player, >= 0.
        draw_probability: of two even sides, in [0, 1); 0 refuses draws.

    Raises:
        ValueError: for bad settings.

    The defaults are those of Herbrich, Minka, Graepel (2006), section 4.2, with one draw
    in ten games between equals.
    """

    def __init__(
        self,
        *,
        mu: float = 25.0,
        sigma: float = 25.0 / 3.0,
        beta: float = 25.0 / 6.0,
        tau: float = 25.0 / 300.0,
        draw_probability: float = 0.1,
    ) -> None:
        self._system = TrueSkill(mu, sigma, beta, tau, draw_probability, k=3.0)
        self.newcomer = self._system.create_rating()
        self.beta, self.tau = float(beta), float(tau)
        self.draw_probability = float(draw_probability)
        self._ratings: dict[str, Rating] = {}
        self._games: dict[str, int] = {}

    def update(
        self,
        teams: Sequence[Sequence[str]],
        ranks: Sequence[float],
        weights: Weights | None = None,
    ) -> None:
        """Rate one game; new players start at the prior.

        Args:
            teams: the sides, each a list of its members' names.
            ranks: one number for each side; lower is better, equal is a draw.
            weights: as in ``rate``: for each side what each member's performance counts.

        Raises:
            ValueError: for bad input, such as a player twice; nothing is changed then.
        """
        teams = sides_of("teams", teams)
        if any(isinstance(side, str) or not isinstance(side, Iterable) for side in teams):
            raise ValueError(f"teams must be lists of names, got {teams!r}")
        names = [name for side in teams for name in side]
        for name in names:
            if not isinstance(name, str):
                raise ValueError(f"teams must hold names (str), got {name!r}")
        if len(set(names)) != len(names):
            raise ValueError(f"teams must not hold anybody twice, got {teams!r}")
        sides = [{name: self[name] for name in side} for side in teams]
        for side in self._system.rate(sides, ranks, weights):
            self._ratings.update(side)  # type: ignore[arg-type]  # a dict, as it was given
        for name in names:
            self._games[name] = self._games.get(name, 0) + 1

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value:.6g}" for name, value in self._settings().items())
        return f"<Leaderboard of {len(self)} players, {settings}>"

    def __getitem__(self, name: str) -> Rating:
        """Return the rating of a player; a name without games has the prior."""
        return self._ratings.get(name, self.newcomer)

    def __contains__(self, name: object) -> bool:
        return name in self._ratings

    def __len__(self) -> int:
        return len(self._ratings)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ratings)

    def games_played(self, name: str) -> int:
        """Return the number of games of a player."""
        return self._games.get(name, 0)

    def standings(self) -> list[RankedPlayer]:
        """Return all players, the highest mu - 3 sigma first; equal ones by name."""
        lines = [
            RankedPlayer(name, mu, sigma, self._system.expose((mu, sigma)), self._games[name])
            for name, (mu, sigma) in self._ratings.items()
        ]
        return sorted(lines, key=lambda line: (-line.exposed, line.name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, replacing it only once the new one is complete.

        Numbers are written so that ``load`` gives back the same floats, bit for bit.
        """
        lines = [
            {"name": name, "mu": mu, "sigma": sigma, "games_played": self._games[name]}
            for name, (mu, sigma) in self._ratings.items()
        ]
        content = {"format": FORMAT, "settings": self._settings(), "players": lines}
        write_bytes(Path(path), json_bytes(content, checked=True))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Leaderboard:
        """Read what ``save`` wrote; after a change by hand, without its line ``checksum``.

        Raises:
            ValueError: if the file is no such leaderboard, is damaged, or holds a bad number.
        """
        try:
            content = read_json(Path(path))
            if content["format"] != FORMAT:
                raise ValueError(f"its format is {content['format']!r}, not {FORMAT!r}")
            board = cls(**content["settings"])
            for line in content["players"]:
                name = line["name"]
                if not isinstance(name, str) or name in board:
                    raise ValueError(f"name must be a str that no other line has, got {name!r}")
                board._ratings[name] = Rating(
                    as_number("mu", line["mu"]), as_positive_number("sigma", line["sigma"])
                )
                board._games[name] = as_integer("games_played", line["games_played"], 0)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"path must be a leaderboard's file, got {path}: {error}") from error
        return board

    def _settings(self) -> dict[str, float]:
        names = ("mu", "sigma", "beta", "tau", "draw_probability")
        return {name: float(getattr(self._system, name)) for name in names}
