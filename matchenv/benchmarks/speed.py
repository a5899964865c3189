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
from matchenv.envs.one_player.simulator import MatchmakingView
from matchenv.logs.match_log import MatchLog
from matchenv.logs.replay import replay_trueskill
from matchenv.logs.smoothing import smooth
from matchenv.runtime.checks import as_integer
from matchenv.trueskill import rate

NUM_OPPONENTS, MANY_OPPONENTS = 49, 100_000
BATCH = 1024  # knowledge states in a batch of decisions
GAMES_BEFORE = 50  # random games before the decisions
QUEUES = 256
CAPACITY = 32
STEPS = 400  # of each queue in a turn
PLAYERS = 200  # in a log
DRAWS = 0.1  # probability of a draw
GAME: dict[str, Any] = {"beta": 25.0 / 6.0, "tau": 25.0 / 300.0}
CALLS = 200  # of a function that rates one game
SWEEPS = 5  # of smoothing


class Side(NamedTuple):
    """One side of a comparison."""

    label: str
    work: Callable[[], object]  # one turn
    units: float  # steps, decisions or games of one turn


class Pair(NamedTuple):
    """A comparison of ours with a rival."""

    name: str
    unit: str  # of the rates
    ours: Side
    rival: Side


class Library(NamedTuple):
    """A library that rates games one by one."""

    name: str
    new_rating: Callable[[], Any]
    rate: Callable[..., Any]  # given teams and ``ranks``


def measured(pair: Pair, turns: int) -> str:
    """Measure a pair: return median and range of the ratio, and the rates of both sides.

    The sides alternate; the first turn is not counted.
    """
    rates = np.empty((turns + 1, 2))
    for turn in range(turns + 1):
        for k, side in enumerate((pair.ours, pair.rival)):
            rates[turn, k] = side.units / timeit(side.work, timer=process_time, number=1)
    rates = rates[1:]
    ratios = rates[:, 0] / rates[:, 1]
    ours, rival = np.median(rates, axis=0)
    return (
        f"{pair.name}: {np.median(ratios):.3g} ({ratios.min():.3g} to {ratios.max():.3g}) times "
        f"as fast; {pair.unit}: {pair.ours.label} {ours:,.0f}, {pair.rival.label} {rival:,.0f}"
    )


def environments() -> Iterator[Pair]:
    """Compare the vector and the scalar environment with Gymnasium's CartPole."""
    for num_envs, steps in ((64, 5010), (1024, 501)):
        yield Pair(
            f"vector environment, {num_envs:,} copies, against vector CartPole",
            "steps/s",
            vector_side("Matchmaking-v0", NUM_OPPONENTS, num_envs, steps),
            vector_side("CartPole-v1", 2, num_envs, steps),
        )
    yield Pair(
        "one environment of gym.make against CartPole-v1",
        "steps/s",
        scalar_side("Matchmaking-v0", NUM_OPPONENTS),
        scalar_side("CartPole-v1", 2),
    )


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
        policy = KnowledgeGradient(belief=belief)
        state = states_of_play(belief=belief)
        plain = Side("scores of all", partial(best_of_all_scores, policy, state), BATCH)
        ours = decision_side(policy, state)
        yield Pair(f"KG, {belief} belief, against its plain rule", unit, ours, plain)
    kg = decision_side(KnowledgeGradient(), states_of_play())
    for name in ("pe", "drawchance", "gittins"):
        baseline = POLICIES[name]()
        ours = decision_side(baseline, states_of_play(belief=baseline.belief))
        yield Pair(f"{name} against KG", unit, ours, kg)
    states = {"": states_of_play(MANY_OPPONENTS, 1), " of a newcomer": newcomers_state()}
    for whose, state in states.items():
        name = f"KG, {MANY_OPPONENTS:,} opponents{whose}, against {NUM_OPPONENTS}"
        yield Pair(name, unit, decision_side(KnowledgeGradient(), state), kg)


def best_of_all_scores(policy: KnowledgeGradient, state: matchenv.KnowledgeState) -> Any:
    """Choose by the scores of all opponents."""
    return np.argmax(policy.scores(state, 500), axis=-1)


def newcomers_state() -> matchenv.KnowledgeState:
    """Return the knowledge state of a newcomer; the opponents' deviations differ widely."""
    rng = np.random.default_rng(0)
    shape = (1, MANY_OPPONENTS + 1)
    mu = rng.normal(25.0, 6.0, shape)
    sigma = 10.0 ** rng.uniform(-2.0, 1.0, shape)
    mu[:, 0] = 25.0
    sigma[:, 0] = 25.0 / 3.0
    return matchenv.KnowledgeState(mu, sigma)


def decision_side(policy: Any, state: matchenv.KnowledgeState) -> Side:
    """Return a policy's decisions for a batch of knowledge states."""
    view = MatchmakingView(state, games_left=500)
    return Side(type(policy).name, partial(policy.act, view), len(state))


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

    yield Pair(
        f"{QUEUES} queues of capacity {CAPACITY} against Matchmaking-v0",
        "decisions/s",
        Side("MatchmakingQueue-v0", work, STEPS * QUEUES),
        vector_side("Matchmaking-v0", CAPACITY - 1, QUEUES, STEPS),
    )


def ratings() -> Iterator[Pair]:
    """Compare logs, single games and smoothing with other rating libraries."""
    true_skill = trueskill.TrueSkill(**GAME, draw_probability=DRAWS)
    open_skill = PlackettLuce(**GAME)
    libraries = [
        Library("trueskill", true_skill.create_rating, true_skill.rate),
        Library("openskill", open_skill.rating, open_skill.rate),
    ]
    game = {**GAME, "draw_probability": DRAWS}
    ours = Library("rate", lambda: (25.0, 25.0 / 3.0), partial(rate, **game))
    for sides, games, games_of_rivals in ((2, 200_000, 400), (8, 20_000, 100)):
        replay = partial(replay_trueskill, random_log(sides, games), **game)
        log = random_log(sides, games_of_rivals)
        for library in libraries:
            yield Pair(
                f"replay, games of {sides} players, against {library.name}",
                "games/s",
                Side("replay", replay, games),
                Side(library.name, partial(rate_log, library, log), games_of_rivals),
            )
            yield Pair(
                f"one call of rate, {sides} players, against {library.name}",
                "calls/s",
                Side("rate", partial(rate_often, ours, sides), CALLS),
                Side(library.name, partial(rate_often, library, sides), CALLS),
            )
    # No sweep reaches this tolerance, so that both sides make the same number of sweeps.
    sweeps: dict[str, Any] = {"tolerance": 1e-150, "max_iterations": SWEEPS}
    smoothing = partial(smooth, random_log(2, 50_000), **game, **sweeps)
    by_rival = partial(smooth_by_rival, random_log(2, 200))
    yield Pair(
        "smoothing, games of 2 players, against TrueSkillThroughTime",
        "games of a sweep/s",
        Side("smooth", smoothing, SWEEPS * 50_000),
        Side("its package", by_rival, SWEEPS * 200),
    )


def random_log(sides: int, games: int) -> MatchLog:
    """Return a log of games of ``sides`` players each, some of them draws."""
    rng = np.random.default_rng(sides)
    scores = rng.integers(0, 5 * sides, (games, sides)).tolist()
    players = np.argsort(rng.random((games, PLAYERS)), axis=1)[:, :sides].tolist()
    teams = [[[str(player)] for player in row] for row in players]
    return MatchLog.from_games(teams, scores)


def rate_log(library: Library, log: MatchLog) -> None:
    """Rate a log game by game with another library."""
    ratings = [library.new_rating() for _ in range(log.num_players)]
    for players, ranks in zip(*players_and_ranks(log), strict=True):
        teams = [[ratings[player]] for player in players]
        rated = library.rate(teams, ranks=ranks)
        for player, team in zip(players, rated, strict=True):
            ratings[player] = team[0]


def rate_often(library: Library, sides: int) -> None:
    """Rate the same game of equal players ``CALLS`` times."""
    teams = [[library.new_rating()] for _ in range(sides)]
    ranks = list(range(sides))
    for _ in range(CALLS):
        library.rate(teams, ranks=ranks)


def smooth_by_rival(log: MatchLog) -> None:
    """Smooth a log with the package of the authors of TrueSkill Through Time."""
    players, ranks = players_and_ranks(log)
    teams = [[[str(player)] for player in row] for row in players]
    results = [[-rank for rank in row] for row in ranks]
    history = trueskillthroughtime.History(
        teams,
        results,
        mu=25.0,
        sigma=25.0 / 3.0,
        beta=GAME["beta"],
        gamma=GAME["tau"],
        p_draw=DRAWS,
    )
    history.convergence(epsilon=0.0, iterations=SWEEPS, verbose=False)


def players_and_ranks(log: MatchLog) -> tuple[list[list[int]], list[list[int]]]:
    """Return players and ranks of each game of a log whose games have one size."""
    players = log.player.reshape(log.num_games, -1).tolist()
    ranks = log.rank.reshape(log.num_games, -1).tolist()
    return players, ranks


SECTIONS: dict[str, Callable[[], Iterator[Pair]]] = {
    "environments": environments,
    "policies": policies,
    "queue": queue,
    "ratings": ratings,
}


def main(words: Sequence[str] | None = None) -> None:
    """Print the ratios; ``words`` are those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections")
    parser.add_argument("--turns", type=int, default=7, help="counted turns of each side")
    arguments = parser.parse_args(words)
    as_integer("turns", arguments.turns, 1)
    for name in arguments.only:
        for pair in SECTIONS[name]():
            print(measured(pair, arguments.turns), flush=True)


if __name__ == "__main__":
    main()
