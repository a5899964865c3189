"""``MatchmakingQueue-v0``: match waiting players, one choice at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from gymnasium.vector import VectorEnv

from matchenv.envs.core.scalar import ScalarArguments, ScalarEnv
from matchenv.envs.core.vector import NativeVectorEnv, VectorArguments
from matchenv.envs.queue.settings import QueueOptions, QueueSettings
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.envs.queue.view import WaitingParties
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_integer


class QueueArguments(ScalarArguments, QueueOptions):
    """The arguments of ``MatchmakingQueueEnv``, for type checkers and editors."""


class QueueVectorArguments(VectorArguments, QueueOptions):
    """The arguments of ``MatchmakingQueueVectorEnv``, for type checkers and editors."""


class MatchmakingQueueEnv(ScalarEnv, settings=QueueSettings, simulator=QueueSimulator):
    """Match the waiting players of a game service.

    ## Description

    Time is divided into ticks. Players log on (a Poisson process), wait in a queue, and are matched
    in pairs; many games run at once. A game's outcome updates the beliefs about both players
    (TrueSkill), and each of them queues again with probability `stay`. A player who waits too long
    gives up. Good games are even, and waiting costs: the faster players are matched, the less even
    their games are.

    Both papers that this package follows start from such a service: Herbrich, Minka and Graepel,
    "TrueSkill: a Bayesian skill rating system" (NIPS 2006), and Ryzhov, Tariq and Powell, "May the
    best man win" (Winter Simulation Conference 2011), which leaves "simultaneously optimizing
    across all players" open.

    In each tick, games that are over end, and their players queue again or log off. Other players
    log on. Then each waiting player, the longest waiting first, is the *focal* player of a step,
    who plays a candidate or waits. Players who still wait at the end of the tick have waited this
    tick, and give up if their patience is over. A player who waits alone gets no step, since there
    is no opponent. Ticks without a choice pass within a step.

    ## Action Space

    `Discrete(capacity)`: with 0 the focal player waits this tick; `k >= 1` begins a game with the
    k-th candidate. Candidates are the other waiting players, sorted by the gap of means and then by
    waiting time; those beyond `capacity - 1` are left out. The action mask is in `action_masks()`
    (bool), in `info["action_mask"]` (int8, for `action_space.sample(mask)`) and in numbers 3 C to
    4 C - 1 of the observation. With a forbidden action the focal player waits, and
    `info["invalid_action"]` is True. With `invalid_action="error"` it raises a `ValueError` and
    nothing changes.

    ## Observation Space

    `Box`, float32, shape `(4 * capacity + 3,)`. With C = `capacity`:

    | Num            | Observation                                             | Min  | Max |
    |----------------|---------------------------------------------------------|------|-----|
    | 0              | mean of the belief about the focal player               | -Inf | Inf |
    | 1 to C - 1     | the same for the candidates                             | -Inf | Inf |
    | C to 2 C - 1   | standard deviations of these beliefs                    | 0    | Inf |
    | 2 C to 3 C - 1 | waiting times w in ticks, as w / (w + `game_length`)    | 0    | 1   |
    | 3 C to 4 C - 1 | 1 for a player, 0 for no player (so are other numbers)  | 0    | 1   |
    | 4 C            | n / (n + C) for the number n of waiting players         | 0    | 1   |
    | 4 C + 1        | the same for players without a step yet in this tick    | 0    | 1   |
    | 4 C + 2        | the same for players in games                           | 0    | 1   |

    The first 2 C numbers are a knowledge state of `Matchmaking-v0` with C - 1 opponents.
    Observations never include true skills. `waiting_parties()` returns these numbers, and those of
    all other waiting players, in float64.

    ## Rewards

    With `reward="match_quality"`, a game earns 2 q: the match quality q of eq. (6) of the 2011
    paper, in (0, 1], for each of its two players. Each tick within the step costs `waiting_cost`
    for each player who waits through it and `abandonment_cost` for each player who gives up. The
    first reward includes the costs of ticks before the first choice. q is computed from the beliefs
    before the game, or with `reward="true_match_quality"` from the true skills. With drift, both
    true skills move by N(0, `tau`^2) as the game begins, and true q is that of the moved skills; q
    ignores the drift.

    `reward="relative"` (default) is for learning. It subtracts u = `usual_quality` from q, and n u
    for each player who gives up, with n = min(1 / (1 - `stay`), max(1, `horizon` / `game_length`))
    for the games that the player would still have played. Players log on independently of actions,
    so in the long run this costs all policies the same. It matters since algorithms discount by
    choices while players arrive by ticks: with the other two rewards they maximise the reward of
    each choice and never let a player wait.

    u should be the match quality of a usual game. Its default is that of the default settings;
    `matchenv.envs.queue.usual_quality(settings)` computes it for others, for example 0.51 at
    `arrival_rate=0.2` and 0.76 at `arrival_rate=4`. It is the total `"match_quality"` reward over
    `matched_players` + n `abandoned` in the first 500 choices of each of 16 runs from an empty
    service. Their rule is a widening window: play the nearest candidate if the means differ by at
    most 1 + 0.08 w standard deviations of the population, after w ticks of waiting.

    ## Population

    With `population="normal"`, true skills are from N(0, 6.5), like those of all players in the
    2011 paper together. A regular's belief is calibrated, and narrower than the population by a
    factor of three: a mean m from N(0, 6.5 - 6.5 / 9) and a true skill from N(m, 6.5 / 9). A
    newcomer's belief has the population's mean and deviation, with a true skill drawn like a
    regular's. So no initial belief is biased. `matchenv.envs.queue.NormalPopulation` has other
    parameters.

    `population="ratings.csv"` reads real ratings: a CSV file with columns `mu` and `sigma`, for
    example from `matchenv replay --out`. A pair of arrays `(mu, sigma)` is also possible. Each
    player who logs on has one of these ratings, chosen uniformly, and a true skill from
    N(mu, sigma^2); the belief about a regular is this rating.

    ## Starting State

    The service is empty at tick 0. `reset(options={"mu": ..., "sigma": ..., "true_skill": ...})`
    makes these players wait at tick 0, the longest waiting first. True skills left out are drawn
    from the belief. A run may have no choice: then it is at the horizon after `reset`, and one
    step, whose action is ignored, returns `truncated`. `"noise"` fixes standard normals z of the
    first games in the order of their beginning: the focal player wins if the difference of true
    skills plus sqrt(2) `beta` z exceeds `draw_margin`.

    The seed determines everything that actions do not: log-ons, skills, each player's patience and
    return after a game, and the noise of the n-th game of the run. So with equal seeds, policies
    are compared on common random numbers.

    ## Episode End

    The episode is truncated after `horizon` ticks and never terminates: it is a continuing task.
    The last observation is the state at the end of the last tick, with the longest waiting player
    as the focal player, or none in a run without a choice.

    ## Information

    After a reset and each step, `info` has totals since the reset: `tick`, `queued` (times that a
    player joined the queue), `matched_players`, `abandoned` and `mean_wait` (in ticks, of all
    players who left the queue). `waiting` and `playing` are current numbers of players.
    `match_quality` and `true_match_quality` describe the game that the step began, else 0.
    `action_mask` and `invalid_action` are described above. `queued = matched_players + abandoned +
    waiting` always holds.

    ## Rendering

    A picture (`"rgb_array"`, `"human"`; `"rgb_array_list"` through `gym.make`) shows the beliefs
    about waiting players along the skill axis, with the focal player and the nearest candidate in
    colour. It also shows current games as arcs between their players, the waiting time of each
    player and the length of the queue at each choice. `"ansi"` returns the focal player and the
    nearest candidates as text. Pictures require `pip install "matchenv[render]"`.

    ## Arguments

    {options}

    `patience` is the mean of a geometric number, drawn for each visit to the queue; with `math.inf`
    no player gives up. The defaults are a medium load: if every player is matched at once, five
    players join the queue in a tick, one of them by logging on, and fifty are playing.

    ```python
    import gymnasium as gym
    import matchenv

    env = gym.make("MatchmakingQueue-v0")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(1)  # play the nearest
    ```

    ## Version History

    * v0: initial version
    """

    simulator: QueueSimulator
    settings: QueueSettings

    if TYPE_CHECKING:

        def __init__(self, **arguments: Unpack[QueueArguments]) -> None: ...

    def waiting_parties(self) -> WaitingParties:
        """Return copies of all waiting players, with true skills, for evaluation."""
        return self.simulator.waiting_parties(self._state, 0, truth=True)


class MatchmakingQueueVectorEnv(
    NativeVectorEnv, VectorEnv, settings=QueueSettings, simulator=QueueSimulator
):
    """``num_envs`` copies of ``MatchmakingQueueEnv``, stepped together.

    See ``MatchmakingQueueEnv`` for the description, spaces, rewards and options, and
    ``matchenv.envs.core.vector.NativeVectorEnv`` for all other arguments; ``max_episode_steps``
    counts choices. Copy i of a vector environment reset with seed s is the run of a scalar
    environment reset with seed s + i.
    """

    simulator: QueueSimulator
    settings: QueueSettings

    if TYPE_CHECKING:

        def __init__(
            self, num_envs: int = 1, **arguments: Unpack[QueueVectorArguments]
        ) -> None: ...

    def waiting_parties(self, index: int) -> WaitingParties:
        """Return copies of all waiting players of environment ``index``, with true skills.

        Raises:
            ValueError: for an index out of range.
        """
        row = as_integer("index", index, 0, self.num_envs - 1)
        return self.simulator.waiting_parties(self._state, row, truth=True)

    def keep_visits(self) -> None:
        """Record every visit to a queue that ends from now on; see ``taken_visits``."""
        self.episodes.state = self.simulator.keeping_visits(self._state)

    def taken_visits(self) -> dict[str, Floats]:
        """Return the visits that ended since the last call; see ``QueueSimulator``."""
        return self.simulator.taken_visits(self._state)
