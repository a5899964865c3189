"""``MatchmakingQueue-v0``: everyone who waits, one choice at a time."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from matchenv.queue.given import GivenQueue
from matchenv.queue.queues import Queues
from matchenv.queue.rendered import RenderedQueues
from matchenv.queue.settings import (
    QueueEnvironmentOptions,
    QueueSettings,
    shows_queue_options,
)
from matchenv.queue.waiting import WaitingPlayers
from matchenv.runtime.checks import as_action
from matchenv.scalar_base import NOBODY_WAITS, OVER, ROW, RUNNING, ScalarEnv
from matchenv.spaces import OnlineOpponents


def queue_observation_space(settings: QueueSettings) -> spaces.Box:
    """The box of one observation: means unbounded, deviations >= 0, all others in [0, 1]."""
    low = np.zeros(settings.observation_size, dtype=np.float32)
    low[: settings.capacity] = -np.inf
    high = np.ones(settings.observation_size, dtype=np.float32)
    high[: 2 * settings.capacity] = np.inf
    return spaces.Box(low, high, dtype=np.float32)


class MatchmakingQueueEnv(ScalarEnv):
    """Match those who wait for a game, as players log on, play, come back and give up.

    ## Description

    A game service as a whole. Time goes in ticks. Players log on (a Poisson process), wait in a
    queue, and are matched in pairs; many games run at once. A game's outcome changes the beliefs
    about both players (TrueSkill), and each of them queues again with probability `stay`. Who waits
    too long gives up. A good game is an even one, and waiting costs: the sooner all are matched,
    the less even their games are.

    Both papers that this package follows start from such a service: Herbrich, Minka and Graepel,
    "TrueSkill: a Bayesian skill rating system" (NIPS 2006), and Ryzhov, Tariq and Powell, "May the
    best man win: simulation optimization for match-making in e-sports" (Winter Simulation
    Conference 2011), which leaves "simultaneously optimizing across all players" open.

    A tick goes as follows. Games that are over end, and their players come back or log off. Others
    log on. Then everyone who waits is asked about once, the longest waiting first: this is the
    *focal* player of a step, who plays somebody or waits. Who is still there has then waited this
    tick, and gives up if that was the last of the patience. A player who waits alone is not asked
    about, since there is nobody to play, and ticks in which nobody is asked about pass within a
    step.

    ## Action Space

    `Discrete(capacity)`: 0 lets the focal player wait this tick, `k` from 1 on is a game with the
    k-th candidate. Candidates are all others who wait, the nearest mean first and among equal gaps
    the longest waiting; beyond `capacity - 1` they are left away. `action_masks()` says which there
    are, and so does `info["action_mask"]`; another action is a `ValueError`, and nothing changes.
    `action_space.sample()` draws from those that are allowed.

    ## Observation Space

    `Box`, float32, shape `(4 * capacity + 3,)`. With C = `capacity`:

    | Num            | Observation                                             | Min  | Max |
    |----------------|---------------------------------------------------------|------|-----|
    | 0              | mean of the belief about the focal player               | -Inf | Inf |
    | 1 to C - 1     | the same for the candidates                             | -Inf | Inf |
    | C to 2 C - 1   | standard deviations of these beliefs                    | 0    | Inf |
    | 2 C to 3 C - 1 | waiting times w in ticks, as w / (w + `game_length`)    | 0    | 1   |
    | 3 C to 4 C - 1 | 1 where there is a player, else 0, as are the others then | 0  | 1   |
    | 4 C            | n / (n + C) for the number n of those who wait          | 0    | 1   |
    | 4 C + 1        | the same for those to be asked about in this tick       | 0    | 1   |
    | 4 C + 2        | the same for players in games under way                 | 0    | 1   |

    The first 2 C numbers are a knowledge state of `Matchmaking-v0` with C - 1 opponents. The true
    skills are in no observation. `waiting_players()` has all of it, and everyone who waits, in
    float64.

    ## Rewards

    For a game the match quality of eq. (6) of the 2011 paper, in (0, 1], once for each of its two
    players: 2 q. For each tick that passes within the step, less `waiting_cost` times the players
    who wait through it, and less `abandonment_cost` for each who gives up. What ticks before the
    first choice cost is in the first reward. q is that of the beliefs before the game;
    `reward="true_match_quality"` takes that of the true skills.

    ## Who logs on

    `population="normal"`: true skills from N(0, 6.5), as the 2011 paper's players have all in all.
    A regular's belief is narrower than the population by a factor of three, and calibrated: a mean
    m from N(0, 6.5 - 6.5 / 9), and a true skill from N(m, 6.5 / 9). A newcomer's belief is the
    population's mean and standard deviation, and the true skill is drawn like everybody's. So no
    belief is biased at the start. `matchenv.queue.NormalPopulation` has other numbers.

    `population="ratings.csv"` reads real ratings: a CSV file with columns `mu` and `sigma`, such as
    `matchenv replay --out` writes, or the JSON file of `Leaderboard.save`; a `Leaderboard` and a
    pair of arrays `(mu, sigma)` do as well. Whoever logs on is then one of these players, each as
    likely as another, with a true skill from N(mu, sigma^2); a regular is believed to be just that.

    ## Starting State

    Nobody is there at tick 0. `reset(options={"mu": ..., "sigma": ..., "true_skill": ...})` lets
    these players wait at tick 0, the first as the longest waiting, and `"noise"` fixes the standard
    normals of the first games, in the order of their beginning and as seen by the focal player.
    True skills that are not given are drawn from the belief.

    The seed decides everything that no choice decides: when players log on and who they are, how
    long each would wait, whether each comes back after a game, and the noise of the n-th game of
    the run. Policies are compared on the same of these by giving the same seed.

    ## Episode End

    The episode is truncated after `horizon` ticks, and never terminates: it is a continuing task.
    The last observation is the state at the end of the last tick, as asked about who waits longest.

    ## Information

    After a reset and each step, totals since the reset: `tick`, `queued` (times that someone joined
    the queue), `matched_players`, `abandoned` and `mean_wait` (ticks, of all who left the queue,
    served or not); `waiting` and `playing` are players now. Of the game that the step began:
    `match_quality` and `true_match_quality`, 0 if it began none. `action_mask` is int8 of shape
    (capacity,). `queued = matched_players + abandoned + waiting` always holds.

    ## Rendering

    A picture (`"rgb_array"`, `"human"`; `"rgb_array_list"` through `gym.make`) shows those who wait
    as bells along the skill axis, the focal player and the nearest candidate in colour; games under
    way as arcs between their players, the waiting time of everyone, and how long the queue was.
    `"ansi"` gives the focal player and the nearest candidates as text. Pictures need
    `pip install "matchenv[render]"`.

    ## Arguments

    | Parameter          | Default           | Meaning                                            |
    |--------------------|-------------------|----------------------------------------------------|
    | `arrival_rate`     | `1.0`             | players who log on in a tick, on average           |
    | `newcomers`        | `0.2`             | share of them who are new to the service           |
    | `patience`         | `20.0`            | ticks until a waiting player gives up, on average  |
    | `game_length`      | `10`              | ticks that a game lasts                            |
    | `stay`             | `0.8`             | probability to queue again after a game            |
    | `capacity`         | `16`              | actions: to wait, and the nearest candidates       |
    | `waiting_cost`     | `0.02`            | for each tick of each waiting player               |
    | `abandonment_cost` | `1.0`             | for each player who gives up                       |
    | `horizon`          | `500`             | ticks until the episode is truncated               |
    | `population`       | `"normal"`        | see Who logs on                                    |
    | `beta`             | `sqrt(2.5)`       | standard deviation of one performance              |
    | `draw_margin`      | `0.0`             | performances no further apart are a draw           |
    | `tau`              | `0.0`             | drift of a skill before each of the player's games |
    | `reward`           | `"match_quality"` | or `"true_match_quality"`                          |
    | `render_mode`      | `None`            | `"rgb_array"`, `"human"` or `"ansi"`               |

    `patience` is the mean of a geometric number, drawn for each visit to the queue; `math.inf` lets
    nobody give up. The defaults are a middle load: if all play at once, five players join the queue
    in a tick, one of them from outside, and half a hundred are playing.

    ```python
    import gymnasium as gym
    import matchenv

    env = gym.make("MatchmakingQueue-v0")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(1)  # play the nearest
    ```

    ## Version History

    * v0: initial version
    """  # fmt: skip

    settings: QueueSettings
    _rendered: RenderedQueues

    @shows_queue_options
    def __init__(
        self, *, render_mode: str | None = None, **options: Unpack[QueueEnvironmentOptions]
    ) -> None:
        self.settings = QueueSettings(**options)
        self.render_mode = render_mode
        self.observation_space: spaces.Box = queue_observation_space(self.settings)  # type: ignore[assignment]
        self._queues = Queues(self.settings, 1)
        self.action_space = OnlineOpponents(self._queues)
        self._rendered = RenderedQueues(render_mode, self._queues)
        self._action = np.zeros(1, dtype=np.int64)

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Let the focal player wait or play, and go to the next choice.

        Args:
            action: 0 to wait this tick, k for a game with the k-th candidate.

        Returns:
            Observation, reward, False, whether the horizon is reached, and the information that
            the class describes.

        Raises:
            ValueError: for an action that is no integer, out of range or not allowed by
                ``action_masks``; nothing is changed then.
            gymnasium.error.ResetNeeded: before the first reset or after the end.
        """
        if self._state != RUNNING:
            raise self._reset_needed()
        self._action[0] = as_action(action, self.settings.capacity)
        self._queues.check_actions(self._action, NOBODY_WAITS)
        rewards, truncated = self._queues.step(self._action, NOBODY_WAITS)
        over = truncated.item(0)
        if over:
            self._state = OVER
        self._rendered.add(NOBODY_WAITS)
        self._rendered.show()
        observation = self._queues.batch.observation[0].copy()
        return observation, rewards.item(0), False, over, self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are allowed now, shape (capacity,).

        sb3-contrib's MaskablePPO asks for it by this name.
        """
        return self._queues.batch.mask[0].copy()

    def waiting_players(self) -> WaitingPlayers:
        """What a policy is asked about: everyone who waits, and the focal player; copies."""
        return self._queues.waiting_players(0)

    def _given(self, options: dict[str, Any] | None) -> GivenQueue:
        return GivenQueue.from_options(options)

    def _begin(self, given: GivenQueue) -> None:
        self._queues.begin(ROW, (self.np_random,), given)

    def _first_seen(self) -> tuple[NDArray[np.float32], dict[str, Any]]:
        return self._queues.batch.observation[0].copy(), self._info()

    def _info(self) -> dict[str, Any]:
        # NumPy's scalars, so that libraries learn the types of the vector environment's arrays.
        return {name: value[0] for name, value in self._queues.infos().items()}
