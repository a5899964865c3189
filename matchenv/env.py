"""``Matchmaking-v0``: choose an opponent for one player, game after game."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from matchenv.episodes import Episodes
from matchenv.games_played import GamesPlayed
from matchenv.instance import GivenInstance
from matchenv.knowledge import KnowledgeState
from matchenv.rendering import RenderedEpisodes
from matchenv.runtime.checks import as_action
from matchenv.scalar_base import NOBODY_WAITS, OVER, ROW, RUNNING, ScalarEnv
from matchenv.settings import EnvironmentOptions, Settings, shows_options
from matchenv.spaces import action_space, observation_space

# Made once: NumPy takes as long for these two as for a game.
WON_AND_OUTCOME = {outcome: (np.bool_(outcome > 0), np.int8(outcome)) for outcome in (-1, 0, 1)}


class MatchmakingEnv(ScalarEnv):
    """Choose opponents for one player whose skill, like theirs, is known only as a belief.

    ## Description

    A game service holds a belief about the skill of every player: a mean and a standard
    deviation (TrueSkill). Player 0 wants to play `horizon` games, one after another, and the
    service chooses the opponent of each among `num_opponents` others. A good game is an
    even one: the reward is the *draw density* q, the density at zero of the difference of
    the two performances. After each game the belief about both players changes. An
    uneven but informative game now can make all later games more even, so the choice trades
    learning against playing well, as in a bandit problem.

    The problem is that of Ryzhov, Tariq and Powell, "May the best man win: simulation
    optimization for match-making in e-sports" (Winter Simulation Conference 2011), with the
    belief model of Herbrich, Minka and Graepel, "TrueSkill: a Bayesian skill rating system"
    (NIPS 2006).

    ## Action Space

    `Discrete(num_opponents)`: action `a` chooses opponent `a + 1`.

    ## Observation Space

    `Box`, float32, shape `(2 * (num_opponents + 1) + 1,)`. With M = `num_opponents`:

    | Num              | Observation                                  | Min  | Max |
    |------------------|----------------------------------------------|------|-----|
    | 0                | mu_0, mean of the belief about player 0      | -Inf | Inf |
    | 1 to M           | mu_1 to mu_M, the same for the opponents     | -Inf | Inf |
    | M + 1            | sigma_0, standard deviation of that belief   | 0    | Inf |
    | M + 2 to 2 M + 1 | sigma_1 to sigma_M                           | 0    | Inf |
    | 2 M + 2          | games left / horizon                         | 0    | 1   |

    With `belief="full"` the shape is `(3 * num_opponents + 3,)`: between the last sigma and
    games left / horizon stand the M standard deviations of s_0 - s_1 to s_0 - s_M.

    The true skills are in no observation.

    ## Rewards

    For each game, from the belief or the truth before it (`c^2 = sigma_0^2 + sigma_j^2 +
    2 beta^2`):

    - `"draw_density"` (default): q = N(mu_0 - mu_j; 0, c^2), eq. (5) of the 2011 paper;
    - `"match_quality"`: q relative to an even game of known skills, in (0, 1], eq. (6);
    - `"true_draw_density"`: q under the true skills, N(s_0 - s_j; 0, 2 beta^2), eq. (14);
    - a `matchenv.Reward` of your own.

    ## Belief

    `belief="factorised"` (default, the papers' own) keeps every player's skill apart and so
    forgets that a game measures a difference: with many games it grows overconfident.
    `belief="full"` keeps the covariances; its q uses the variance of the difference, `c^2 =
    Var(s_0 - s_j) + 2 beta^2`. The same seed gives the same players and the same noise on
    either, and true q does not depend on the belief. `tau` must be 0 with the full belief.
    `belief="printed"` is the factorised one with the misprints of the 2011 paper, to show what
    they do. `matchenv.belief.register` makes a belief of your own known.

    ## Pool

    With `availability` below 1 opponents go on- and offline between games, each by a two-state
    Markov chain that starts in its stationary law: online stays last `2 * availability *
    mean_stay` games on average, offline ones `2 * (1 - availability) * mean_stay`; both kinds
    alternate, so that a stay lasts `mean_stay` games. Where nobody would be online, one opponent,
    all equally likely, comes online. After each game an opponent leaves for good with probability
    `turnover`; a stranger takes the place, online or not as it was, with a fresh prior and
    a fresh true skill. Neither depends on what is chosen, and players and noise of a seed are those
    of an unchanged pool.

    The pool that changes is seen in the mask: `info["action_mask"]` (int8, for
    `action_space.sample(mask)`; a sample without a mask is of who is online), `action_masks()`
    (bool), and the last `num_opponents` numbers of the observation, 1 for online. To choose an
    opponent who is offline is a `ValueError`.

    ## Starting State

    Prior means are drawn from N(0, 4) and prior variances uniformly from [2, 3]; the true
    skills from the normals that these describe. Player 0 is the one at the place `rank`.
    With `prior="equal"` the belief then forgets the means (mu = 0 for all), which leaves it
    overconfident, as in the paper; `equal_variance="matching"` widens it to the truth.
    `prior=matchenv.NormalPrior(mean=25, deviation=25 / 3)` draws everyone's skill from one
    normal, which is what is believed; any other `matchenv.Prior` does as it says.
    `reset(options={"mu": ..., "sigma": ..., "true_skill": ...})` fixes all or part of an
    instance, each an array of `num_opponents + 1` numbers; true skills that are not given
    are drawn from the belief.

    ## Episode End

    The episode terminates after `horizon` games: the horizon is part of the problem. It is
    truncated only by the `max_episode_steps` of `gym.make` and `gym.make_vec`.

    ## Information

    After a step, about the game just played: `draw_density`, `match_quality`,
    `true_draw_density`, `squared_error` (of mu_0 before the game), `skill_difference` (true,
    player 0 less the opponent), `won` (by player 0) and `outcome` (+1, -1, 0 for a draw).

    ## Rendering

    A picture (`"rgb_array"`, `"human"`; `"rgb_array_list"` through `gym.make`) shows the skill
    axis with every belief as a bell, the surer the higher (the height is not to scale), player 0
    and the last opponent in colour; the true skills as marks; the last result, q of every game
    and its running total. `render_true_skill=False` hides the true skills and what follows from
    them; q is then that of the belief. Pictures need `pip install "matchenv[render]"`.
    `"ansi"` gives the most even opponents as text.

    ## Arguments

    | Parameter        | Default          | Meaning                                          |
    |------------------|------------------|--------------------------------------------------|
    | `num_opponents`  | `49`             | opponents to choose from                         |
    | `horizon`        | `500`            | games in an episode                              |
    | `beta`           | `sqrt(2.5)`      | standard deviation of one performance            |
    | `prior`          | `"informative"`  | or `"equal"`, or a `matchenv.Prior`              |
    | `rank`           | `None`           | place of player 0; see below                     |
    | `reward`         | `"draw_density"` | see Rewards; or a `matchenv.Reward`              |
    | `draw_margin`    | `0.0`            | performances no further apart are a draw         |
    | `tau`            | `0.0`            | drift of a skill before each of the player's games |
    | `rank_by`        | `"prior_mean"`   | or `"true_skill"`: what the place is by          |
    | `equal_variance` | `"paper"`        | or `"matching"`, for `prior="equal"`             |
    | `belief`         | `"factorised"`   | or `"full"`, `"printed"`; see Belief             |
    | `availability`   | `1.0`            | share of opponents who are online; see Pool      |
    | `mean_stay`      | `50.0`           | games that an opponent stays online or offline   |
    | `turnover`       | `0.0`            | probability that an opponent leaves for good     |
    | `noise`          | `"game"`         | or `"opponent"`: noise by whom one plays |
    | `render_mode`    | `None`           | `"rgb_array"`, `"human"` or `"ansi"`; see Rendering |
    | `render_true_skill` | `True`        | whether pictures show true skills and true q     |

    `rank` is None for any place, an integer from 0 (the best) to `num_opponents`, `"top"`,
    `"middle"` or `"bottom"`. With drift, the skills of the two who play move by N(0, tau^2)
    before the game, and the belief widens by tau^2 before it is updated; the reward is that of
    the belief as observed.

    ```python
    import gymnasium as gym
    import matchenv

    env = gym.make("Matchmaking-v0", rank="top")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    ```

    ## Version History

    * v0: initial version
    """

    settings: Settings
    _rendered: RenderedEpisodes

    @shows_options
    def __init__(
        self,
        *,
        render_mode: str | None = None,
        render_true_skill: bool = True,
        **options: Unpack[EnvironmentOptions],
    ) -> None:
        self.settings = Settings(**options)
        self.render_mode = render_mode
        self.observation_space: spaces.Box = observation_space(self.settings)  # type: ignore[assignment]
        self._episodes = Episodes(self.settings, 1)
        self.action_space = action_space(self.settings, self._episodes.pool)
        self._rendered = RenderedEpisodes(render_mode, render_true_skill, self._episodes)
        self._played = GamesPlayed.unwritten(np.zeros(1, dtype=np.int64))
        self._reward = self.settings.reward_type

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play a game against opponent ``action + 1``.

        Args:
            action: an integer in [0, num_opponents).

        Returns:
            Observation, reward, whether the episode is over, False, and the information
            that the class describes.

        Raises:
            ValueError: for an action that is no integer, out of range or an opponent who is
                offline; nothing is changed then.
            gymnasium.error.ResetNeeded: before the first reset or after the end.
        """
        if self._state != RUNNING:
            raise self._reset_needed()
        played, episodes = self._played, self._episodes
        played.opponents[0] = as_action(action, self.settings.num_opponents)
        if episodes.pool is not None:
            episodes.check_online(played.opponents)
        episodes.draw_more_noise((self.np_random,))
        episodes.play_into(played, NOBODY_WAITS)
        reward = self._reward.checked(played, NOBODY_WAITS).item(0)
        terminated = played.terminated.item(0)
        if terminated:
            self._state = OVER
        if self.render_mode is not None:
            self._rendered.add(played.opponents, played, NOBODY_WAITS)
            self._rendered.show()
        info = _info(played)
        if episodes.pool is not None:
            info.update(self._mask_info())
        return episodes.observation[0].copy(), reward, terminated, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Who can be chosen now, shape (M,): True for opponents who are online.

        sb3-contrib's MaskablePPO asks for it by this name.
        """
        return self._episodes.action_masks()[0]

    @property
    def knowledge_state(self) -> KnowledgeState:
        """A copy of the present beliefs, float64, shape (M + 1,)."""
        return self._episodes.knowledge_state()[0]

    @property
    def true_skill(self) -> NDArray[np.float64]:
        """A copy of the true skills, shape (M + 1,); for judging and for the oracle only."""
        return self._episodes.true_skill[0].copy()

    @property
    def games_left(self) -> int:
        """Games left in the episode."""
        return self.settings.horizon - int(self._episodes.games_played[0])

    def _given(self, options: dict[str, Any] | None) -> GivenInstance | None:
        return GivenInstance.from_options(options, self.settings)

    def _begin(self, given: GivenInstance | None) -> None:
        self._episodes.begin(ROW, (self.np_random,), given)

    def _first_seen(self) -> tuple[NDArray[np.float32], dict[str, Any]]:
        return self._episodes.observation[0].copy(), self._mask_info()

    def _mask_info(self) -> dict[str, Any]:
        pool = self._episodes.pool
        return {} if pool is None else {"action_mask": pool.online[0].astype(np.int8)}


def _info(played: GamesPlayed) -> dict[str, Any]:
    """The game as the class describes it.

    NumPy's scalars, so that libraries learn the types of the vector environment's arrays. One
    name after the other: a loop over ``REPORT_ROWS`` takes twice as long.
    """
    draw_density, match_quality, true_draw_density, squared_error, difference = played.report.flat
    won, outcome = WON_AND_OUTCOME[played.outcomes.item(0)]
    return {
        "draw_density": draw_density,
        "match_quality": match_quality,
        "true_draw_density": true_draw_density,
        "squared_error": squared_error,
        "skill_difference": difference,
        "won": won,
        "outcome": outcome,
    }
