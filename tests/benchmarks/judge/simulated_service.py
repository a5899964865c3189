"""A simulated service: the log of games in the queue, and their true skills."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from matchenv.baselines.queue import WideningWindow
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.queue.params import OUTCOME
from matchenv.envs.queue.population import RatedPopulation
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.envs.queue.view import QueueView
from matchenv.evaluation.rollout import Decisions
from matchenv.logs.match_log import MatchLog
from matchenv.runtime.random import uniforms
from matchenv.trueskill import draw_margin_from_probability, true_draw_density

BETA = 25.0 / 6.0
DRAWS = 0.1
TICK = 30  # seconds
TRUTH = {"beta": BETA, "draw_probability": DRAWS}
MODEL = {**TRUTH, "tau": 0.0, "time_drift": 0.0, "advantage": 0.0, "team_exponent": 0.0}
OPTIONS: dict[str, Any] = {
    "newcomers": 1.0,  # each player has one long session
    "stay": 0.9,
    "patience": 20.0,
    "horizon": 10**6,
    "population": RatedPopulation(np.array([25.0]), np.array([25.0 / 3.0])),
    "beta": BETA,
    "draw_margin": draw_margin_from_probability(DRAWS, BETA),
}


class SimulatedService(NamedTuple):
    """The log, true skills of its players, true qualities of its games, mean wait in minutes."""

    log: MatchLog
    skill: NDArray[np.float64]
    quality: NDArray[np.float64]
    wait: float


class HiddenWindow:
    """A widening window on true skills, which the log does not show."""

    needs_truth = True

    def act(self, view: QueueView, rng: np.random.Generator) -> NDArray[np.int64]:
        del rng
        gaps = np.abs(view.true_skill - view.true_skill[:, :1])
        gaps[:, 0] = np.inf
        gaps[~view.action_mask] = np.inf
        is_near = gaps.min(axis=1) <= 2.0 + 0.2 * view.waited
        return np.where(is_near, gaps.argmin(axis=1), 0)


def simulated_service(policy: Any, games: int, seed: int = 0, **options: Any) -> SimulatedService:
    rng = np.random.default_rng(seed)
    simulator = QueueSimulator(QueueSettings.checked(**OPTIONS | options))
    episodes = Episodes.of_seeds(simulator, [seed])
    # The queue's random numbers, so that its outcomes are those of the log.
    noise = -norm.ppf(uniforms(episodes.state.clock["key"], OUTCOME, 0, games)[0])
    decisions = Decisions(policy, rng)
    games_played = []
    while len(games_played) < games:
        waiting = simulator.waiting_parties(episodes.state, 0, truth=True)
        actions = decisions.of(episodes)
        episodes.step(actions, strict=True)
        if actions[0] > 0:
            pair = [waiting.focal, waiting.candidates[actions[0] - 1]]
            games_played.append((waiting.tick, waiting.party[pair], waiting.true_skill[pair]))
    names = []
    scores = []
    ends = []
    qualities = []
    skill_of_player = {}
    for z, (tick, players, skills) in zip(noise, games_played, strict=True):
        gap = skills[0] - skills[1] + np.sqrt(2.0) * BETA * z
        won = [float(gap > OPTIONS["draw_margin"]), float(-gap > OPTIONS["draw_margin"])]
        order = rng.permutation(2)  # the order of the sides is random
        names.append([[f"p{players[side]}"] for side in order])
        scores.append([won[side] for side in order])
        ends.append((tick + simulator.settings.game_length) * TICK)
        qualities.append(true_draw_density(*skills, BETA) / true_draw_density(0.0, 0.0, BETA))
        for player, skill in zip(players, skills, strict=True):
            skill_of_player[f"p{player}"] = skill
    log = MatchLog.from_games(names, scores, np.array(ends))
    skills_of_log = np.array([skill_of_player[player] for player in log.players])
    wait = float(simulator.infos(episodes.state)["mean_wait"][0]) * TICK / 60.0
    return SimulatedService(log, skills_of_log, np.array(qualities), wait)


WINDOW = WideningWindow(3.0, 0.15)
