"""``matchenv serve``: a pool of players behind HTTP."""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from matchenv.cli.options import Command
from matchenv.cli.output import show

if TYPE_CHECKING:
    from matchenv.service import NewPlayer


@dataclass(frozen=True, kw_only=True)
class Serve(Command):
    """Keep ratings, propose opponents, match and split players over HTTP.

    A game is confirmed only after it has been written to the file. Paths and
    bodies are described at /docs and /openapi.json; GET /backup is a copy of
    the file.

    There is no authentication, so it listens at this machine alone; for others,
    put it behind a gateway that has one. Limits: bodies of 1 MB; splits of 100
    players, matches of 10,000, 25 proposals and 10,000 standings a request;
    500 connections; 10 seconds for a request to arrive and 60 for its answer.
    See docs/service.md.

    Example:
        matchenv serve --pool pool.db --port 8000

    Attributes:
        pool: the pool's file; it is made if it does not exist.
        host: address to listen at; any other than the default lets others in.
        port: to listen at.
        policy: who is proposed (default: drawchance): a one-player policy, as in compare.
        ratings: ratings.csv of matchenv replay, whose players are added to a new file.
        mu: mean of the belief about a newcomer; this and the rest are for a new file, an old one
            has its own (default: 25).
        sigma: its standard deviation (default: 25/3).
        beta: standard deviation of one performance (default: 25/6).
        tau: drift of a skill before each game (default: 25/300).
        draw_probability: of two even sides (default: 0.1).
        drift_per_day: drift of a skill in a day without a game (default: 0).
        recent: how many of a player's last opponents are not proposed again (default: 0).
    """

    pool: Path
    host: str = "127.0.0.1"
    port: int = 8000
    policy: str | None = None
    ratings: Path | None = None
    mu: float | None = None
    sigma: float | None = None
    beta: float | None = None
    tau: float | None = None
    draw_probability: float | None = None
    drift_per_day: float | None = None
    recent: int | None = None

    @property
    def extras(self) -> tuple[str, ...]:
        """What listens."""
        return ("serve",)

    @property
    def note(self) -> str:
        """What to say when it is stopped."""
        return f"{self.pool} has all that was answered"

    def run(self) -> None:
        """Serve until a signal."""
        from matchenv.runtime.checks import as_integer
        from matchenv.service import Pool, PoolSettings
        from matchenv.service.http import listen, serve

        port = as_integer("port", self.port, 0, 65535)
        names = {each.name for each in fields(PoolSettings)} & {each.name for each in fields(self)}
        given = {name: getattr(self, name) for name in sorted(names)}
        settings = {name: value for name, value in given.items() if value is not None}
        # Listen first: a port that is taken leaves no new file.
        players = [] if self.ratings is None else _players_of(self.ratings)
        Pool(rule=self.policy, **settings).add_many(players)  # bad ones leave no new file
        with (
            listen(self.host, port) as listener,
            Pool.open(self.pool, rule=self.policy, **settings) as pool,
        ):
            if players and len(pool) > 0:
                raise ValueError(f"ratings must be for a new file, {self.pool} has players")
            if players:
                pool.add_many(players)
            if not self.quiet:
                address = f"http://{self.host}:{listener.getsockname()[1]}/docs"
                show(f"{len(pool)} players at {address}", flush=True)
            serve(pool, listener)


def _players_of(file: Path) -> list[NewPlayer]:
    """Return the players of a table of ratings."""
    from matchenv.service import NewPlayer

    if not file.is_file():  # a device may have no end
        raise ValueError(f"ratings must be a file that exists, got {str(file)!r}")
    with file.open(newline="", encoding="utf-8-sig") as lines:
        rows = csv.DictReader(lines)
        try:
            return [NewPlayer(row["player"], float(row["mu"]), float(row["sigma"])) for row in rows]
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            raise ValueError(
                f"ratings must have columns player, mu and sigma, {file} has not in line "
                f"{rows.line_num}: {error}"
            ) from None
