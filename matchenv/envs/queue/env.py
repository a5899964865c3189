"""``MatchmakingQueue-v0``: matching players who wait, one choice at a time."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from matchenv.envs.core.scalar import ScalarEnv
from matchenv.envs.core.settings import documents_options
from matchenv.envs.core.vector import NativeVectorEnv
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.envs.queue.view import WaitingPlayers
from matchenv.runtime.checks import as_integer


@documents_options(QueueSettings)
class MatchmakingQueueEnv(ScalarEnv):
    """Match the players who wait for a game, as players log on, play, come back and give up.

    ## Description

    A whole game service. Time is divided into ticks. Players log on (a Poisson process), wait in a
    queue, and are matched in pairs; many games run at once. A game's outcome changes the beliefs
    about both players (TrueSkill), and each of them queues again with probability `stay`. A player
    who waits too long gives up. A good game is an even one, and waiting costs: the sooner all are
    matched, the less even their games are.

    Both papers that this package follows start from such a service: Herbrich, Minka and Graepel,
    "TrueSkill: a Bayesian skill rating system" (NIPS 2006), and Ryzhov, Tariq and Powell, "May the
    best man win" (Winter Simulation Conference 2011), which leaves "simultaneously optimizing
    across all players" open.

    In each tick, first the games that are over end, and their players come back or log off. Then
    others log on. Then every waiting player is asked about once, the longest waiting first: this
    player is the *focal* player of a step, who plays another one or waits. A player who still waits
    at the end of the tick has waited this tick, and gives up if the patience is over. A player who
    waits alone is not asked about, since there is no opponent, and ticks without a choice pass
    within a step.

    ## Action Space

    `Discrete(capacity)`: 0 lets the focal player wait this tick, `k` from 1 on begins a game with
    the k-th candidate. Candidates are all others who wait, the nearest mean first and among equal
    gaps the longest waiting; those beyond `capacity - 1` are left out. `action_masks()` (bool),
    `info["action_mask"]` (int8, for `action_space.sample(mask)`) and 3 C to 4 C - 1 of the
    observation hold the allowed actions. With any other action the focal player waits, and
    `info["invalid_action"]` is True; with `invalid_action="error"` it is a `ValueError`, and
    nothing changes.

    ## Observation Space

    `Box`, float32, shape `(4 * capacity + 3,)`. With C = `capacity`:

    | Num            | Observation                                             | Min  | Max |
    |----------------|---------------------------------------------------------|------|-----|
    | 0              | mean of the belief about the focal player               | -Inf | Inf |
    | 1 to C - 1     | the same for the candidates                             | -Inf | Inf |
    | C to 2 C - 1   | standard deviations of these beliefs                    | 0    | Inf |
    | 2 C to 3 C - 1 | waiting times w in ticks, as w / (w + `game_length`)    | 0    | 1   |
    | 3 C to 4 C - 1 | 1 where there is a player; else 0, as the other numbers | 0    | 1   |
    | 4 C            | n / (n + C) for the number n of waiting players         | 0    | 1   |
    | 4 C + 1        | the same for players still to be asked about            | 0    | 1   |
    | 4 C + 2        | the same for players in games under way                 | 0    | 1   |

    The first 2 C numbers are a knowledge state of `Matchmaking-v0` with C - 1 opponents. The true
    skills are in no observation. `waiting_players()` returns all of it, and every waiting player,
    in float64.

    ## Rewards

    With `reward="match_quality"`: for a game the match quality q of eq. (6) of the 2011 paper, in
    (0, 1], once for each of its two players: 2 q. For each tick that passes within the step, minus
    `waiting_cost` for each player who waits through it, and minus `abandonment_cost` for each
    player who gives up. The costs of ticks before the first choice are in the first reward. q is
    computed from the beliefs before the game, or with `reward="true_match_quality"` from the true
    skills.

    `reward="relative"` (default) is for learning. It subtracts the quality u of a usual game from
    q, and u for each game that a player who gives up would still have played: a player logs on
    whatever is chosen and plays 1 / (1 - `stay`) games on average, so in the long run all policies
    lose the same. But an algorithm discounts by choices, while players come by ticks: with the
    other two rewards it learns what pays for each choice, and never lets anybody wait. u is the
    reward for each game of a rule with a widening window, a constant of the settings.

    ## Population

    `population="normal"`: true skills from N(0, 6.5), as those of all players of the 2011 paper
    together. A regular's belief is narrower than the population by a factor of three, and
    calibrated: a mean m from N(0, 6.5 - 6.5 / 9), and a true skill from N(m, 6.5 / 9). A newcomer's
    belief has the population's mean and deviation, and the true skill is drawn as a regular's. So
    no belief is biased at the start. `matchenv.envs.queue.NormalPopulation` takes other numbers.

    `population="ratings.csv"` reads real ratings: a CSV file with columns `mu` and `sigma`, such as
    `matchenv replay --out` writes; a pair of arrays `(mu, sigma)` is allowed too. Each player who
    logs on is one of these, chosen uniformly, with a true skill from N(mu, sigma^2); the belief
    about a regular is this rating.

    ## Starting State

    The service is empty at tick 0. `reset(options={"mu": ..., "sigma": ..., "true_skill": ...})`
    lets these players wait at tick 0, the first as the longest waiting. True skills that are not
    given are drawn from the belief. `"noise"` fixes standard normals z of the first games in the
    order of their beginning, as seen by the focal player, who wins if the difference of true skills
    plus sqrt(2) `beta` z exceeds `draw_margin`.

    The seed determines everything that no choice determines: when players log on and their skills,
    how long each would wait, whether each comes back after a game, and the noise of the n-th game
    of the run. With equal seeds, policies are compared on equal random numbers.

    ## Episode End

    The episode is truncated after `horizon` ticks, and never terminates: it is a continuing task.
    The last observation is the state at the end of the last tick, as if the longest waiting player
    were asked about.

    ## Information

    After a reset and each step, totals since the reset: `tick`, `queued` (times that a player
    joined the queue), `matched_players`, `abandoned` and `mean_wait` (ticks, of all who left the
    queue, with a game or without); `waiting` and `playing` are current numbers of players. Of the
    game that the step began: `match_quality` and `true_match_quality`, 0 if it began none.
    `action_mask` and `invalid_action` are described above. `queued = matched_players + abandoned +
    waiting` always holds.

    ## Rendering

    A picture (`"rgb_array"`, `"human"`; `"rgb_array_list"` through `gym.make`) shows the beliefs
    about waiting players along the skill axis, the focal player and the nearest candidate in
    colour, games under way as arcs between their players, the waiting time of each player, and the
    length of the queue over time. `"ansi"` returns the focal player and the nearest candidates as
    text. Pictures need `pip install "matchenv[render]"`.

    ## Arguments

    | Parameter | Default | Meaning |
    |-----------|---------|---------|
    {options}
    | `render_mode` | `None` | `"rgb_array"`, `"human"` or `"ansi"` |

    `patience` is the mean of a geometric number, drawn for each visit to the queue; with `math.inf`
    no player gives up. The defaults are a middle load: with every player matched at once, five
    players join the queue in a tick, one of them from outside, and fifty are playing.

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
    env_id: ClassVar[str] = "MatchmakingQueue-v0"
    settings: QueueSettings

    def waiting_players(self) -> WaitingPlayers:
        """Return all who wait, and the focal player and the candidates among them; copies."""
        return self.simulator.waiting_players(self._state, 0)


@documents_options(QueueSettings)
class MatchmakingQueueVectorEnv(NativeVectorEnv, VectorEnv):
    """``num_envs`` copies of ``MatchmakingQueueEnv``, stepped together.

    The description, spaces, rewards and options are those of ``MatchmakingQueueEnv``, all other
    arguments those of ``matchenv.envs.core.vector.NativeVectorEnv``; ``max_episode_steps`` counts
    choices. Copy i of a vector environment that is reset with seed s is the run of a scalar
    environment reset with seed s + i.
    """

    simulator: QueueSimulator
    env_id: ClassVar[str] = "MatchmakingQueue-v0"
    settings: QueueSettings

    def waiting_players(self, index: int) -> WaitingPlayers:
        """Return all who wait in one environment; copies.

        Args:
            index: of the environment.

        Raises:
            ValueError: for an index that is out of range.
        """
        row = as_integer("index", index, 0, self.num_envs - 1)
        return self.simulator.waiting_players(self._state, row)

    def keep_visits(self) -> None:
        """Write down every visit to a queue that ends from now on; see ``taken_visits``."""
        self._state = self.simulator.keeping_visits(self._state)

    def taken_visits(self) -> dict[str, NDArray[np.float64]]:
        """Return the visits that ended since the last call; see ``QueueSimulator``."""
        return self.simulator.taken_visits(self._state)
