"""A service whose truth is known: players who come back, a matcher, and the log that it leaves."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.view import NOBODY, WaitingPlayers
from matchenv.logs.fitting import MU, SIGMA
from matchenv.logs.match_log import MatchLog
from matchenv.runtime.checks import (
    as_choice,
    as_integer,
    as_positive_number,
    as_probability,
    as_share,
)
from matchenv.trueskill import draw_margin_from_probability, true_draw_density, update

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Sight = Literal["beliefs", "skills"]

# Seconds of a tick; ten ticks are a game.
TICK = 30


@dataclass(frozen=True)
class SimulatedService:
    """What a service did, and what is true.

    Attributes:
        log: its games in the order in which they ended, with the times of their ends in seconds.
        skill: (players,) true skills of the log's players.
        quality: (games,) true match quality of each game.
        wait: mean minutes of waiting, of all who were served or gave up.
        left: share of the visits to the queue that ended without a game.
    """

    log: MatchLog
    skill: Floats
    quality: Floats
    wait: float
    left: float


def simulated_service(
    matcher: Any,
    *,
    sees: Sight = "beliefs",
    games: int = 3000,
    players: int = 400,
    arrival_rate: float = 1.0,
    stay: float = 0.8,
    patience_minutes: float = 10.0,
    beta: float = 25.0 / 6.0,
    sigma: float = SIGMA,
    draw_probability: float = 0.1,
    seed: int = 0,
) -> SimulatedService:
    """Let players log on, wait, play and come back for days, as a service with one matcher.

    The rules of time are those of ``MatchmakingQueue-v0``; but players are the same persons for
    ever, who log on again and again, so that the service learns them and a log shows it.

    Args:
        matcher: a policy of the queue with ``choose(waiting, rng)``.
        sees: what it is told as beliefs: TrueSkill's, from the games so far and with the true
            parameters; or the true skills, which no log holds.
        games: games of the log.
        players: who may log on, each as likely as another.
        arrival_rate: players who log on in a minute.
        stay: probability to queue again after a game.
        patience_minutes: until a waiting player gives up, on average.
        beta: standard deviation of one performance.
        sigma: standard deviation of the skills, around 25.
        draw_probability: of two equal skills.
        seed: of everything that is drawn.

    Raises:
        ValueError: for a bad argument.
    """
    as_choice("sees", sees, get_args(Sight))
    as_integer("games", games, 1)
    as_integer("players", players, 2)
    rng = np.random.default_rng(as_integer("seed", seed, 0))
    service = _Service(
        matcher=matcher,
        sees=sees,
        rng=rng,
        skill=rng.normal(MU, as_positive_number("sigma", sigma), players),
        rate=as_positive_number("arrival_rate", arrival_rate) * TICK / 60.0,
        stay=as_share("stay", stay),
        give_up=min(1.0, TICK / 60.0 / as_positive_number("patience_minutes", patience_minutes)),
        beta=as_positive_number("beta", beta),
        sigma=sigma,
        margin=draw_margin_from_probability(
            as_probability("draw_probability", draw_probability), beta
        ),
    )
    while len(service.ended) < games:
        service.tick()
    return service.result(games)


class _Service:
    """The state of a service; arguments as ``simulated_service``, in ticks."""

    def __init__(
        self,
        *,
        matcher: Any,
        sees: Sight,
        rng: np.random.Generator,
        skill: Floats,
        rate: float,
        stay: float,
        give_up: float,
        beta: float,
        sigma: float,
        margin: float,
    ) -> None:
        self._matcher, self._sees, self._rng = matcher, sees, rng
        self._skill, self._rate, self._stay, self._give_up = skill, rate, stay, give_up
        self._settings = replace(
            QueueSettings.checked(), beta=beta, draw_margin=margin, patience=1.0 / give_up
        )
        self._mu, self._sigma = np.full(skill.size, MU), np.full(skill.size, float(sigma))
        self._offline = list(range(skill.size))
        self._waiting: list[tuple[int, int]] = []  # player and tick of joining, longest first
        self._playing: deque[tuple[int, int, int]] = deque()  # tick of the end, and two players
        self._now = self._visits = self._waited = self._gave_up = 0
        self.ended: list[tuple[int, int, int, int]] = []  # tick, two players and the outcome

    def tick(self) -> None:
        """One tick, in the order of ``MatchmakingQueue-v0``."""
        while self._playing and self._playing[0][0] == self._now:
            self._end(*self._playing.popleft())
        for _ in range(min(self._rng.poisson(self._rate), len(self._offline))):
            place = int(self._rng.integers(len(self._offline)))
            self._offline[place], self._offline[-1] = self._offline[-1], self._offline[place]
            self._waiting.append((self._offline.pop(), self._now))
        self._match()
        gone = self._rng.random(len(self._waiting)) < self._give_up
        for (player, joined), leaves in zip(list(self._waiting), gone.tolist(), strict=True):
            if leaves:
                self._leave(player, joined, 1)
                self._offline.append(player)
                self._gave_up += 1
        self._now += 1

    def result(self, games: int) -> SimulatedService:
        """What was seen of the first games that ended."""
        ended = self.ended[:games]
        named = [[[f"p{i}"], [f"p{j}"]] for _, i, j, _ in ended]
        scores = [[float(outcome > 0), float(outcome < 0)] for *_, outcome in ended]
        log = MatchLog.from_games(named, scores, np.array([tick for tick, *_ in ended]) * TICK)
        numbers = [int(name[1:]) for name in log.players]
        beta = self._settings.beta
        first, second = (np.array([game[side] for game in ended]) for side in (1, 2))
        return SimulatedService(
            log=log,
            skill=self._skill[numbers],
            quality=true_draw_density(self._skill[first], self._skill[second], beta)
            / true_draw_density(0.0, 0.0, beta),
            wait=self._waited / self._visits * TICK / 60.0,
            left=self._gave_up / self._visits,
        )

    def _end(self, tick: int, i: int, j: int) -> None:
        gap = self._skill[i] - self._skill[j]
        gap += self._settings.beta * np.sqrt(2.0) * self._rng.standard_normal()
        outcome = 0 if abs(gap) <= self._settings.draw_margin else int(np.sign(gap))
        self._mu[i], self._sigma[i], self._mu[j], self._sigma[j] = update(
            self._mu[i], self._sigma[i], self._mu[j], self._sigma[j], outcome,
            self._settings.beta, self._settings.draw_margin,
        )  # fmt: skip
        self.ended.append((tick, i, j, outcome))
        for player in (i, j):
            if self._rng.random() < self._stay:
                self._waiting.append((player, self._now))
            else:
                self._offline.append(player)

    def _match(self) -> None:
        """Ask about everyone who waits, the longest first, as long as two wait."""
        for player, joined in list(self._waiting):
            line = [each for each, _ in self._waiting]
            if len(line) < 2:
                return
            if player not in line:
                continue
            waiting = self._shown(line, line.index(player))
            action = int(self._matcher.choose(waiting, self._rng))
            if action > 0:
                other = line[int(waiting.candidates[action - 1])]
                since = dict(self._waiting)[other]
                self._leave(player, joined)
                self._leave(other, since)
                # Who is the first side says nothing about the two.
                pair = (player, other) if self._rng.random() < 0.5 else (other, player)
                self._playing.append((self._now + self._settings.game_length, *pair))

    def _leave(self, player: int, joined: int, more: int = 0) -> None:
        self._waiting.remove((player, joined))
        self._visits += 1
        self._waited += self._now - joined + more

    def _shown(self, line: list[int], focal: int) -> WaitingPlayers:
        truth = self._skill[line]
        mu = truth if self._sees == "skills" else self._mu[line]
        gaps = np.abs(mu - mu[focal])
        gaps[focal] = np.inf
        nearest = np.argsort(gaps, kind="stable")[: len(line) - 1]
        candidates = np.full(self._settings.num_candidates, NOBODY)
        shown = nearest[: candidates.size]
        candidates[: shown.size] = shown
        return WaitingPlayers(
            mu=mu,
            sigma=np.zeros(mu.size) if self._sees == "skills" else self._sigma[line],
            waited=self._now - np.array([joined for _, joined in self._waiting]),
            player=np.array(line),
            focal=focal,
            candidates=candidates,
            tick=self._now,
            playing=2 * len(self._playing),
            settings=self._settings,
            true_skill=truth,
        )
