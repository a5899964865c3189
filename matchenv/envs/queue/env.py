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
    in pairs or teams; many games run at once. A game's outcome updates the beliefs about its
    players (TrueSkill), and they queue again with probability `stay`. A player who waits too long
    gives up. Good games are even, and waiting costs: the faster players are matched, the less even
    their games are.

    Both papers that this package follows start from such a service: Herbrich, Minka and Graepel,
    "TrueSkill: a Bayesian skill rating system" (NIPS 2006), whose "game outcomes often refer to
    teams", and Ryzhov, Tariq and Powell, "May the best man win" (Winter Simulation Conference
    2011), which leaves "simultaneously optimizing across all players" open.

    A game has k = `num_sides` sides of n = `side_size` players. Players log on as *parties*, which
    wait, play, stay, give up and leave together, always on one side. By default, two players meet
    and every party is one player.

    In each tick, games that are over end, and their parties queue again or log off. Other parties
    log on. Then each waiting party, the longest waiting first, founds a *lobby*, which other
    parties join, one party a step. When the last seat is taken, the lobby is split into sides and
    its game begins; then the next party founds one. Or the lobby dissolves: its founder waits this
    tick, and parties who had joined keep their place in the line. With two sides of one player, a
    step is the choice of the founder, who plays a candidate or waits.

    Parties who still wait at the end of the tick have waited this tick, and give up if their
    patience is over. No lobby is founded while fewer players wait than a game has, and one without
    a candidate dissolves without a step. Ticks without a choice pass within a step.

    ## Action Space

    `Discrete(capacity)`: 0 dissolves the open lobby, so its founder waits this tick; `k >= 1` adds
    the k-th candidate. Candidates are the other waiting parties that fit the free seats, if the
    lobby with them still packs into the sides without splitting a party. They are sorted by the gap
    between their mean per player and the lobby's, and then by waiting time; those beyond
    `capacity - 1` are left out. The action mask is in `action_masks()` (bool), in
    `info["action_mask"]` (int8, for `action_space.sample(mask)`) and in numbers 3 C to 4 C - 1 of
    the observation. With a forbidden action the lobby dissolves, and `info["invalid_action"]` is
    True. With `invalid_action="error"` it raises a `ValueError` and nothing changes.

    ## Observation Space

    `Box`, float32, with an entry for each action: the open lobby, whose founder is first in the
    line, and the candidates. With C = `capacity` and two players in a game, the lobby is the player
    to match and the shape is `(4 * capacity + 3,)`:

    | Num            | Observation                                             | Min  | Max |
    |----------------|---------------------------------------------------------|------|-----|
    | 0              | mean of the lobby's performance, a sum over its members | -Inf | Inf |
    | 1 to C - 1     | the same for the candidates                             | -Inf | Inf |
    | C to 2 C - 1   | standard deviations of the sums of their skills         | 0    | Inf |
    | 2 C to 3 C - 1 | waiting times w in ticks, as w / (w + `game_length`);   | 0    | 1   |
    |                | the lobby's is its founder's                            |      |     |
    | 3 C to 4 C - 1 | 1 for an entry, 0 for none (so are its other numbers)   | 0    | 1   |
    | 4 C            | n / (n + C) for the number n of waiting players         | 0    | 1   |
    | 4 C + 1        | the same for those without a choice yet in this tick    | 0    | 1   |
    | 4 C + 2        | the same for players in games                           | 0    | 1   |

    With more players in a game the shape is `(6 * capacity + 4,)`, and from number 4 C on it is:

    | Num            | Observation                                             | Min  | Max |
    |----------------|---------------------------------------------------------|------|-----|
    | 4 C            | players in the lobby, divided by `side_size`            | 0    | k   |
    | 4 C + 1 to     | the same for the candidates                             | 0    | 1   |
    | 5 C - 1        |                                                         |      |     |
    | 5 C            | match quality of the lobby                              | 0    | 1   |
    | 5 C + 1 to     | match quality of the lobby with the candidate           | 0    | 1   |
    | 6 C - 1        |                                                         |      |     |
    | 6 C to 6 C + 2 | the numbers of the queue, as above                      | 0    | 1   |
    | 6 C + 3        | share of the lobby's seats that are taken               | 0    | 1   |

    The quality of a lobby that is not full counts each free seat as a player with the mean and
    variance of the lobby's average player. Lobbies of at most 10 parties (with more than two sides:
    6), these players included, are split in the best way. For larger ones, parties join the weakest
    side one by one, the largest and strongest first; this can be below the quality of the game.

    With two players in a game, the first 2 C numbers are a knowledge state of `Matchmaking-v0` with
    C - 1 opponents. Observations never include true skills. `waiting_parties()` returns these
    numbers, and those of all other waiting parties and their members, in float64.

    ## Games of Teams

    The performance of a side is the sum of its members'. The split of a full lobby is the one of
    highest match quality that splits no party, exact for up to 12 parties and for two sides of up
    to 16; larger lobbies use a heuristic that is within 1 % of it, see
    `matchenv.envs.queue.lobby.best_split`. Match quality is `matchenv.trueskill`'s
    `team_match_quality`. With more than two sides the outcome is an order, with a draw of
    neighbours whose performances differ by at most `draw_margin`. Beliefs are updated by TrueSkill
    for teams: in closed form for two sides, by expectation propagation for more.

    ## Parties

    `party_sizes=(0.6, 0.3, 0.1)` means that 60 % of the parties who log on are single players, 30 %
    have two members and 10 % have three. A party is at most as large as a side. Members are drawn
    independently. With `party_bonus`, each member of a party of s players truly is better by
    `party_bonus` (s - 1) / (`side_size` - 1) skill points, for example because they talk to each
    other. With `belief_knows_party`, forecasts and updates count this bonus; otherwise it is
    learned as if it were skill.

    ## Rewards

    With `reward="match_quality"`, a game earns q for each of its players: the match quality, in (0,
    1], for two players that of eq. (6) of the 2011 paper. Each tick within the step costs
    `waiting_cost` for each player who waits through it and `abandonment_cost` for each player who
    gives up. The first reward includes the costs of ticks before the first choice. q is computed
    from the beliefs before the game, or with `reward="true_match_quality"` from the true skills.
    With drift, the true skills of its players move by N(0, `tau`^2) as the game begins, and true q
    is that of the moved skills; q ignores the drift.

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
    service. Their rule is a widening window: add the nearest candidate if the means per player
    differ by at most 1 + 0.08 w standard deviations of the population, after w ticks of waiting.

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
    from the belief. `"party_size"` has the sizes of their parties, for example `[2, 1]` for three
    players of whom the first two are a party; by default each is alone. A run may have no choice:
    then it is at the horizon after `reset`, and one step, whose action is ignored, returns
    `truncated`. `"noise"` fixes standard normals z of the first games of two sides in the order of
    their beginning: the founder's side wins if the difference of the sides' true skills plus sqrt(2
    n) `beta` z exceeds `draw_margin`.

    The seed determines everything that actions do not: log-ons, skills, each party's patience and
    return after a game, and the noise of the n-th game of the run. So with equal seeds, policies
    are compared on common random numbers.

    ## Episode End

    The episode is truncated after `horizon` ticks and never terminates: it is a continuing task.
    The last observation is the state at the end of the last tick, with the longest waiting party
    as the founder of a lobby, or none in a run without a choice.

    ## Information

    After a reset and each step, `info` has totals since the reset: `tick`, `queued` (times that a
    player joined the queue), `matched_players`, `abandoned` and `mean_wait` (in ticks, of all
    players who left the queue). `waiting` and `playing` are current numbers of players.
    `match_quality` and `true_match_quality` describe the game that the step began, else 0.
    `action_mask` and `invalid_action` are described above. `queued = matched_players + abandoned +
    waiting` always holds. The mask is an array: `json.dumps(info, default=np.ndarray.tolist)` also
    writes it.

    With more than two players in a game, `win_probability` and `true_win_probability`, shape (k,),
    are each side's probabilities to beat all others in the game that the step began, under the
    beliefs and the true skills. `parties` and `party_sizes`, shape (k, n), are the numbers of the
    parties on each side, -1 beyond the last one, and their sizes.

    ## Rendering

    A picture (`"rgb_array"`, `"human"`; `"rgb_array_list"` through `gym.make`) shows the beliefs
    about waiting players along the skill axis, with the founder and the nearest candidate in
    colour. It also shows current games as arcs between their players, the waiting time of each
    player and the length of the queue at each choice. `"ansi"` returns the focal player and the
    nearest candidates as text. Pictures require `pip install "matchenv[render]"`.

    ## Arguments

    {options}

    `arrival_rate` counts parties. A sequence has the rate of each tick of a day, which repeats:
    `arrival_rate=[0.5] * 300 + [2.0] * 100` is a day of 400 ticks with a busy evening.

    `patience` is the mean of a geometric number, drawn for each visit to the queue; with `math.inf`
    no party gives up. The defaults are a medium load: if every player is matched at once, five
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
