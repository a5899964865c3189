"""``Matchmaking-v0``: choose an opponent for one player, game after game."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.scalar import ScalarEnv
from matchenv.envs.core.settings import documents_options
from matchenv.envs.core.vector import NativeVectorEnv
from matchenv.envs.one_player.settings import Settings, as_texts
from matchenv.envs.one_player.simulator import OnePlayer, State


class OnePlayerProperties:
    """What the scalar and the vector environment of one player have in common."""

    env_id: ClassVar[str] = "Matchmaking-v0"
    settings: Settings
    simulator: OnePlayer
    _state: State
    _rows: ClassVar[Any]  # of the state: the one episode, or all
    _spec: Any = None

    @property
    def spec(self) -> Any:
        """The specification that ``gymnasium.make`` gave; None for an environment made without.

        Its priors and rewards are texts, so that its JSON can be read back.
        """
        return self._spec

    @spec.setter
    def spec(self, spec: Any) -> None:
        with suppress(ValueError):  # an object of no text stays as it is
            spec = replace(spec, kwargs=as_texts(spec.kwargs)) if spec is not None else None
        self._spec = spec

    @property
    def knowledge_state(self) -> KnowledgeState:
        """A copy of the current beliefs, float64, shape (M + 1,) or (num_envs, M + 1)."""
        return deepcopy(self.simulator.knowledge_state(self._state))[self._rows]

    @property
    def true_skill(self) -> NDArray[np.float64]:
        """A copy of the true skills, of that shape; for judging and for the oracle only."""
        return self.simulator.true_skill(self._state)[self._rows].copy()

    @property
    def games_left(self) -> Any:
        """Games left in the episode, or in each, shape (num_envs,)."""
        left = (self.settings.horizon - self._state.games)[self._rows]
        return left if left.ndim else int(left)


@documents_options(Settings)
class MatchmakingEnv(OnePlayerProperties, ScalarEnv):
    """Choose opponents for one player whose skill, like theirs, is known only as a belief.

    ## Description

    A game service holds a belief about the skill of every player: a mean and a standard deviation
    (TrueSkill). Player 0 wants to play `horizon` games, one after another, and the service chooses
    the opponent of each among `num_opponents` others. A good game is an even one: the reward is the
    *draw density* q, the density at zero of the difference of the two performances. After each game
    the belief about both players changes. An uneven but informative game now can make all later
    games more even, so the choice trades learning against playing well, as in a bandit problem.

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

    `belief="factorised"` (default, the papers' own) keeps every player's skill apart and so forgets
    that a game measures a difference: with many games it grows overconfident. `belief="full"` keeps
    the covariances; its q uses the variance of the difference, `c^2 = Var(s_0 - s_j) + 2 beta^2`.
    The same seed gives the same players and noise on either, and true q does not depend on the
    belief. `tau` must be 0 with the full belief. `matchenv.belief.register` makes your own known.

    ## Pool

    With `availability` below 1 opponents go on- and offline between games, each by a two-state
    Markov chain that starts in its stationary law: online stays last `2 * availability *
    mean_stay` games on average, offline ones `2 * (1 - availability) * mean_stay`; both kinds
    alternate, so that a stay lasts `mean_stay` games on average. After each game an opponent
    leaves for good with probability `turnover`; a newcomer takes the place, online or not as the
    predecessor was, with a fresh prior and a fresh true skill. With `max_games_per_opponent` an
    opponent who was met in so many games cannot be chosen any more. Where nobody could be chosen,
    one opponent below that limit, all equally likely, comes online. Comings and goings do not
    depend on what is chosen, and players and outcomes of a seed are those of an unchanged pool.

    Who can be chosen is seen in the mask: `info["action_mask"]` (int8, for
    `action_space.sample(mask)`), `action_masks()` (bool), and the last `num_opponents` numbers of
    the observation, 1 for allowed. In place of another opponent plays the allowed one whose mean
    is nearest to that opponent's, the first among equals, and `info["invalid_action"]` is True.
    With `invalid_action="error"` it is a `ValueError`, and nothing changes.

    ## Starting State

    Prior means are drawn from N(0, 4) and prior variances uniformly from [2, 3]; the true skills
    from the normals that these describe. Player 0 is the one at the place `rank`. With
    `prior="equal"` the belief then forgets the means (mu = 0 for all), which leaves it
    overconfident, as in the paper; `equal_variance="matching"` widens it to the truth.
    `prior=matchenv.NormalPrior(mean=25, deviation=25 / 3)` draws everyone's skill from one normal,
    which is what is believed; any other `matchenv.Prior` does as it says.
    `reset(options={"mu": ..., "sigma": ..., "true_skill": ...})` fixes all or part of an instance,
    each an array of `num_opponents + 1` numbers; true skills that are not given are drawn from the
    belief.

    ## Episode End

    The episode terminates after `horizon` games: the horizon is part of the problem. It is
    truncated only by the `max_episode_steps` of `gym.make` and `gym.make_vec`.

    ## Information

    After a step, about the game just played (0 after a reset): `draw_density`, `match_quality`,
    `true_draw_density`, `squared_error` (of mu_0 before the game), `skill_difference` (true,
    player 0 minus the opponent), `won` (by player 0) and `outcome` (+1, -1, 0 for a draw).

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
    {options}
    | `render_mode`    | `None`           | `"rgb_array"`, `"human"` or `"ansi"`; see Rendering |
    | `render_true_skill` | `True`        | whether pictures show true skills and true q     |

    With drift, the skills of the two who play move by N(0, tau^2) before the game, and the belief
    widens by tau^2 before it is updated; the reward is that of the belief as observed.

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

    _rows: ClassVar[Any] = 0


@documents_options(Settings)
class MatchmakingVectorEnv(OnePlayerProperties, NativeVectorEnv, VectorEnv):
    """``num_envs`` copies of ``MatchmakingEnv``, stepped together.

    The description, spaces, rewards and options are those of ``MatchmakingEnv``, all other
    arguments those of ``matchenv.envs.core.vector.NativeVectorEnv``. Copy i of a vector
    environment that is reset with seed s plays the same games as a scalar environment reset with
    seed s + i.
    """

    _rows: ClassVar[Any] = slice(None)
