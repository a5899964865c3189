"""Speed as ratios to rival libraries: ``make bench``, or ``python -m matchenv.benchmarks.speed``.

Both sides of a ratio alternate in one process, after one warm-up turn each, so that a slow machine
slows both. Times are processor times of one thread, which other programs hardly affect. Each line
is a median with its range over the turns.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import process_time
from timeit import timeit
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import trueskill
import trueskillthroughtime
from openskill.models import PlackettLuce

import matchenv
from matchenv.baselines import POLICIES, KnowledgeGradient
from matchenv.belief import FactorisedBelief, FullBelief
from matchenv.logs.match_log import MatchLog
from matchenv.logs.replay import replay_trueskill
from matchenv.logs.smoothing import smooth
from matchenv.runtime.checks import as_integer
from matchenv.trueskill import rate

NUM_OPPONENTS, MANY_OPPONENTS = 49, 100_000
BATCH, GAMES_BEFORE = 1024, 50
QUEUES, CAPACITY, STEPS = 256, 32, 400
PLAYERS, DRAWS = 200, 0.1
GAME: dict[str, Any] = {"beta": 25.0 / 6.0, "tau": 25.0 / 300.0}
CALLS, SWEEPS = 200, 5


class Side(NamedTuple):
    """One side of a comparison."""

    label: str
    work: Callable[[], object]  # one turn
    units: float  # steps, decisions or games of one turn


# Name, unit of the rates, our side and the rival's.
Pair = tuple[str, str, Side, Side]


def measured(name: str, unit: str, ours: Side, rival: Side, turns: int) -> str:
    """Measure a pair: return median and range of the ratio, and the rates of both sides.

    The sides alternate; the first turn is not counted.
    """
    sides = (ours, rival)
    rates = np.array([
        [side.units / timeit(side.work, timer=process_time, number=1) for side in sides]
        for _ in range(turns + 1)
    ])[1:]  # fmt: skip
    ratios = rates[:, 0] / rates[:, 1]
    medians = zip(sides, np.median(rates, axis=0), strict=True)
    return (
        f"{name}: {np.median(ratios):.3g} ({ratios.min():.3g} to {ratios.max():.3g}) times as "
        f"fast; {unit}: {', '.join(f'{side.label} {rate:,.0f}' for side, rate in medians)}"
    )


def environments() -> Iterator[Pair]:
    """Compare the vector and the scalar environment with Gymnasium's CartPole."""
    for num_envs, steps in ((64, 5010), (1024, 501)):
        ours = vector_side("Matchmaking-v0", NUM_OPPONENTS, num_envs, steps)
        name = f"vector environment, {num_envs:,} copies, against vector CartPole"
        yield name, "steps/s", ours, vector_side("CartPole-v1", 2, num_envs, steps)
    ours = scalar_side("Matchmaking-v0", NUM_OPPONENTS)
    name = "one environment of gym.make against CartPole-v1"
    yield name, "steps/s", ours, scalar_side("CartPole-v1", 2)


def vector_side(name: str, num_actions: int, num_envs: int, steps: int) -> Side:
    """Return a native vector environment under random actions, resets included."""
    env = gym.make_vec(name, num_envs=num_envs, vectorization_mode="vector_entry_point")
    actions = np.random.default_rng(0).integers(0, num_actions, (steps, num_envs))
    env.reset(seed=0)

    def work() -> None:
        for row in actions:
            env.step(row)

    return Side(name, work, actions.size)


def scalar_side(name: str, num_actions: int, steps: int = 5010) -> Side:
    """Return the environment of ``gym.make``, with its wrappers, under random actions."""
    env = gym.make(name)
    actions = np.random.default_rng(0).integers(0, num_actions, steps).tolist()
    env.reset(seed=0)

    def work() -> None:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return Side(name, work, steps)


def policies() -> Iterator[Pair]:
    """Compare KG's search with its plain rule, and the baselines with KG."""
    unit = "decisions/s"
    for belief in (FactorisedBelief.name, FullBelief.name):
        policy, state = KnowledgeGradient(belief=belief), states_of_play(belief=belief)

        def choose(policy: Any = policy, state: Any = state) -> Any:
            return np.argmax(policy.scores(state, 500), axis=-1)

        plain, name = Side("scores of all", choose, BATCH), f"KG, {belief} belief"
        yield f"{name}, against its plain rule", unit, decision_side(policy, state), plain
    kg = decision_side(KnowledgeGradient(), states_of_play())
    for name in ("pe", "drawchance", "gittins"):
        rival = POLICIES[name]()
        ours = decision_side(rival, states_of_play(belief=rival.belief))
        yield f"{name} against KG", unit, ours, kg
    rng, players = np.random.default_rng(0), (1, MANY_OPPONENTS + 1)
    mu, sigma = rng.normal(25.0, 6.0, players), 10.0 ** rng.uniform(-2.0, 1.0, players)
    mu[:, 0], sigma[:, 0] = 25.0, 25.0 / 3.0
    newcomer = matchenv.KnowledgeState(mu, sigma)  # the deviations differ widely
    for name, state in (("", states_of_play(MANY_OPPONENTS, 1)), (" of a newcomer", newcomer)):
        many = decision_side(KnowledgeGradient(), state)
        yield f"KG, {MANY_OPPONENTS:,} opponents{name}, against {NUM_OPPONENTS}", unit, many, kg


def decision_side(policy: Any, state: matchenv.KnowledgeState) -> Side:
    """Return a policy's decisions for a batch of knowledge states."""
    return Side(type(policy).name, partial(policy.act, state, 500), len(state))


def states_of_play(
    num_opponents: int = NUM_OPPONENTS, count: int = BATCH, belief: str = FactorisedBelief.name
) -> matchenv.KnowledgeState:
    """Return the knowledge states of ``count`` episodes after random games."""
    env = matchenv.MatchmakingVectorEnv(count, num_opponents=num_opponents, belief=belief)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(GAMES_BEFORE):
        env.step(rng.integers(0, num_opponents, count))
    return env.knowledge_state


def queue() -> Iterator[Pair]:
    """Compare decisions in the queue with games of Matchmaking-v0."""
    env = matchenv.MatchmakingQueueVectorEnv(QUEUES, capacity=CAPACITY)
    env.reset(seed=0)
    shares = np.random.default_rng(0).random((STEPS, QUEUES))

    def work() -> None:
        for row in shares:
            # Allowed actions come first.
            env.step((row * env.action_masks().sum(axis=1)).astype(np.int64))

    ours = Side("MatchmakingQueue-v0", work, STEPS * QUEUES)
    rival = vector_side("Matchmaking-v0", CAPACITY - 1, QUEUES, STEPS)
    name = f"{QUEUES} queues of capacity {CAPACITY} against Matchmaking-v0"
    yield name, "decisions/s", ours, rival


def ratings() -> Iterator[Pair]:
    """Compare logs, single games and smoothing with other rating libraries."""
    true_skill = trueskill.TrueSkill(**GAME, draw_probability=DRAWS)
    open_skill = PlackettLuce(**GAME)
    rivals = (("trueskill", true_skill.create_rating, true_skill.rate),
              ("openskill", open_skill.rating, open_skill.rate))  # fmt: skip
    game = {**GAME, "draw_probability": DRAWS}
    for sides, games, of_rivals in ((2, 200_000, 400), (8, 20_000, 100)):
        log = random_log(sides, games)
        log_side = Side("replay", partial(replay_trueskill, log, **game), games)
        call = partial(rate_often, partial(rate, **game), lambda: (25.0, 25.0 / 3.0), sides)
        for name, new, rate_by in rivals:
            by_rival = partial(rate_log, rate_by, new, random_log(sides, of_rivals))
            once = Side(name, by_rival, of_rivals)
            yield f"replay, games of {sides} players, against {name}", "games/s", log_side, once
            often = Side(name, partial(rate_often, rate_by, new, sides), CALLS)
            name = f"one call of rate, {sides} players, against {name}"
            yield name, "calls/s", Side("rate", call, CALLS), often
    # No sweep reaches this tolerance, so that both sides make the same number of sweeps.
    sweeps: dict[str, Any] = {"tolerance": 1e-150, "max_iterations": SWEEPS}
    work = partial(smooth, random_log(2, 50_000), **game, **sweeps)
    rival = partial(smooth_by_rival, random_log(2, 200))
    name, unit = "smoothing, games of 2 players, against TrueSkillThroughTime", "games of a sweep/s"
    ours = Side("smooth", work, SWEEPS * 50_000)
    yield name, unit, ours, Side("its package", rival, SWEEPS * 200)


def random_log(sides: int, games: int) -> MatchLog:
    """Return a log of games of ``sides`` players each, some of them draws."""
    rng = np.random.default_rng(sides)
    scores = rng.integers(0, 5 * sides, (games, sides)).tolist()
    players = np.argsort(rng.random((games, PLAYERS)), axis=1)[:, :sides].tolist()
    return MatchLog.from_games(([[str(k)] for k in row] for row in players), scores)


def rate_log(rate_by: Any, new: Callable[[], Any], log: MatchLog) -> None:
    """Rate a log game by game with another library."""
    board = [new() for _ in range(log.num_players)]
    for players, ranks in rows_of(log):
        rated = rate_by([[board[k]] for k in players], ranks=ranks)
        for k, side in zip(players, rated, strict=True):
            board[k] = side[0]


def rate_often(rate_by: Any, new: Callable[[], Any], sides: int) -> None:
    """Rate the same game of equal players ``CALLS`` times."""
    teams, ranks = [[new()] for _ in range(sides)], list(range(sides))
    for _ in range(CALLS):
        rate_by(teams, ranks=ranks)


def smooth_by_rival(log: MatchLog) -> None:
    """Smooth a log with the package of the authors of TrueSkill Through Time."""
    players, ranks = zip(*rows_of(log), strict=True)
    history = trueskillthroughtime.History(
        [[[str(k)] for k in row] for row in players], [[-k for k in row] for row in ranks],
        mu=25.0, sigma=25.0 / 3.0, beta=GAME["beta"], gamma=GAME["tau"], p_draw=DRAWS,
    )  # fmt: skip
    history.convergence(epsilon=0.0, iterations=SWEEPS, verbose=False)


def rows_of(log: MatchLog) -> list[tuple[list[int], list[int]]]:
    """Return players and ranks of each game of a log whose games have one size."""
    players, ranks = (each.reshape(log.num_games, -1).tolist() for each in (log.player, log.rank))
    return list(zip(players, ranks, strict=True))


SECTIONS = {each.__name__: each for each in (environments, policies, queue, ratings)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the ratios; ``arguments`` are those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections")
    parser.add_argument("--turns", type=int, default=7, help="counted turns of each side")
    given = parser.parse_args(arguments)
    as_integer("turns", given.turns, 1)
    for name in given.only:
        for pair in SECTIONS[name]():
            print(measured(*pair, given.turns), flush=True)


if __name__ == "__main__":
    main()
