"""Files in the shapes that services and sports export, of games simulated from known skills.

A player's performance is the skill plus a normal number of deviation ``BETA``; the side with the
higher sum wins. Skills are normal with deviation 1. Rows of a game begin with the winner where the
exporters list it first, so that a reader that trusts the order of rows fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BETA = 0.7
START = datetime(2023, 1, 20, 9, 0, tzinfo=UTC)


class Game(NamedTuple):
    """Sides of players in order of performance, the best first, and their performances."""

    number: int
    time: datetime
    sides: list[list[int]]
    performances: list[float]


class File(NamedTuple):
    """A file and the true skill of each player in it."""

    name: str
    content: str
    skills: dict[str, float]


class Season:
    """Players and games from a seed."""

    def __init__(self, players: int, games: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.skill: NDArray[np.float64] = self.rng.normal(size=players)
        self.count = games

    def games(self, sides: tuple[int, ...], advantage: float = 0.0) -> Iterator[Game]:
        """Yield games of sides of these sizes; the advantage is that of the first side drawn."""
        for number in range(self.count):
            chosen = self.rng.permutation(len(self.skill))[: sum(sides)]
            members = [side.tolist() for side in np.split(chosen, np.cumsum(sides)[:-1])]
            noise = [BETA * self.rng.normal(size=len(side)) for side in members]
            sums = [
                float((self.skill[side] + eps).sum())
                for side, eps in zip(members, noise, strict=True)
            ]
            sums[0] += advantage
            yield Game(number, START + timedelta(hours=7 * number), members, sums)

    def skills(self, name: Callable[[int], str]) -> dict[str, float]:
        """Return the true skills by the players' names."""
        return {name(k): float(value) for k, value in enumerate(self.skill)}


def best_first(game: Game) -> list[int]:
    """Return indices of the sides, the best first."""
    return np.argsort(game.performances)[::-1].tolist()


def faf(seed: int) -> File:
    """Return games of Forged Alliance Forever, where ``place`` is the start position."""
    season = Season(60, 900, seed)
    lines = ["gameId,login,team,faction,place,result,scoreTime,time_played"]
    for game in season.games((2, 2)):
        spots = season.rng.permutation(4).tolist()
        for side in best_first(game):
            word = "VICTORY" if side == best_first(game)[0] else "DEFEAT"
            for player in game.sides[side]:
                stamp = f"{game.time:%Y-%m-%dT%H:%M:%SZ}"
                row = (game.number, f"pilot{player}", side + 2, 1, spots.pop(), word, stamp)
                lines.append(",".join(map(str, (*row, season.rng.integers(1, 1500)))))
    return File("faf.csv", "\n".join(lines), season.skills("pilot{}".format))


def bar(seed: int) -> File:
    """Return games of Beyond All Reason: replays with sides that hold their players."""
    season = Season(60, 700, seed)
    replays = []
    for game in season.games((3, 3)):
        sides = []
        for side in best_first(game):
            players = [{"name": f"com{k}", "skill": "[16.7]"} for k in game.sides[side]]
            won = side == best_first(game)[0]
            sides.append({"allyTeamId": side, "winningTeam": won, "Players": players})
        stamp = f"{game.time:%Y-%m-%dT%H:%M:%S.000Z}"
        replays.append({"id": f"r{game.number}", "startTime": stamp, "AllyTeams": sides})
    return File("bar.json", json.dumps({"data": replays}), season.skills("com{}".format))


def open_dota(seed: int) -> File:
    """Return matches as OpenDota's API has them, as JSON lines."""
    season = Season(40, 900, seed)
    lines = []
    for game in season.games((5, 5)):
        radiant_wins = game.performances[0] > game.performances[1]
        players: list[dict[str, Any]] = []
        for side, slot in ((0, 0), (1, 128)):
            for k, player in enumerate(game.sides[side]):
                players.append({"account_id": 1000 + player, "player_slot": slot + k, "kills": 3})
        match = {"match_id": 7_000_000_000 + game.number, "radiant_win": radiant_wins}
        match |= {"start_time": int(game.time.timestamp()), "duration": 2000, "players": players}
        lines.append(json.dumps(match))
    return File("dota.json", "\n".join(lines), season.skills(lambda k: str(1000 + k)))


def lichess(seed: int) -> File:
    """Return games of lichess as in a well-known table: white is ahead, times in milliseconds."""
    season = Season(60, 1500, seed)
    lines = ["id,rated,created_at,turns,victory_status,winner,white_id,white_rating,black_id"]
    for game in season.games((1, 1), advantage=0.2):
        gap = game.performances[0] - game.performances[1]
        word = "draw" if abs(gap) < 0.1 else "white" if gap > 0.0 else "black"
        (white,), (black,) = game.sides
        stamp = f"{game.time.timestamp() * 1000:.6E}"
        lines.append(f"g{game.number},TRUE,{stamp},40,mate,{word},w{white},1500,w{black}")
    return File("lichess.csv", "\n".join(lines), season.skills("w{}".format))


def football(seed: int) -> File:
    """Return a league as football-data has it: dd/mm/yy, goals, and cp1252 names."""
    season = Season(30, 1200, seed)
    lines = ["Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG,FTR,Referee"]
    for game in season.games((1, 1), advantage=0.3):
        (home,), (away,) = game.sides
        goals = [max(0, round(1.5 + 0.8 * performance)) for performance in game.performances]
        word = "D" if goals[0] == goals[1] else "H" if goals[0] > goals[1] else "A"
        day = f"{game.time:%d/%m/%y,%H:%M}"
        lines.append(f"E0,{day},Zürich {home},Zürich {away},{goals[0]},{goals[1]},{word},M Dean")
    return File("football.csv", "\n".join(lines), season.skills("Zürich {}".format))


def tennis(seed: int) -> File:
    """Return matches of a tour: the winner comes first; dates of the tournament in eight digits."""
    season = Season(50, 1500, seed)
    lines = ["tourney_id,tourney_date,match_num,winner_name,winner_age,loser_name,loser_age,score"]
    for game in season.games((1, 1)):
        winner, loser = (game.sides[side][0] for side in best_first(game))
        score = "6-4 3-6 7-5"
        if game.number % 50 == 0:
            score = "W/O"
        elif game.number % 30 == 0:
            score = "6-4 2-1 RET"
        day = f"{game.time:%Y%m%d}"
        row = (game.number // 31, day, game.number % 31, f"Ace {winner}", 22, f"Ace {loser}", 23)
        lines.append(",".join(map(str, (*row, score))))
    return File("tennis.csv", "\n".join(lines), season.skills("Ace {}".format))


def races(seed: int) -> File:
    """Return races of ten in order of place, a fifth of whom do not finish, with their teams."""
    season = Season(24, 150, seed)
    lines = ["raceId,date,driver,team,grid,position,points"]
    for game in season.games((1,) * 10):
        order = best_first(game)
        out = [side for side in order if season.rng.random() < 0.2]
        finishers = [side for side in order if side not in out]
        for place, side in enumerate(finishers + out, start=1):
            (driver,) = game.sides[side]
            position = place if side in finishers else "DNF"
            points = max(0, 11 - place) if side in finishers else 0
            grid = int(season.rng.integers(1, 11))
            day = f"{game.time:%Y-%m-%d}"
            row = (game.number, day, f"driver {driver}", f"team {driver // 2}", grid, position)
            lines.append(",".join(map(str, (*row, points))))
    return File("races.csv", "\n".join(lines), season.skills("driver {}".format))


def arena(seed: int) -> File:
    """Return votes of an arena, with ties of both kinds."""
    season = Season(25, 2000, seed)
    lines = ["question_id,model_a,model_b,winner,judge,turn,language,tstamp"]
    for game in season.games((1, 1)):
        gap = game.performances[0] - game.performances[1]
        word = "model_a" if gap > 0.0 else "model_b"
        if abs(gap) < 0.2:
            word = "tie" if game.number % 2 else "tie (bothbad)"
        (one,), (other,) = game.sides
        stamp = game.time.timestamp()
        row = (f"q{game.number}", f"llm-{one}", f"llm-{other}", word, "arena_user", 1, "English")
        lines.append(",".join(map(str, (*row, stamp))))
    return File("arena.csv", "\n".join(lines), season.skills("llm-{}".format))


FILES = (faf, bar, open_dota, lichess, football, tennis, races, arena)
