"""``Matchmaking-v0``: choose an opponent for each game of one player."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from gymnasium.vector import VectorEnv

from matchenv.belief import TRUE_SKILL
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.scalar import ScalarArguments, ScalarEnv
from matchenv.envs.core.vector import NativeVectorEnv, VectorArguments
from matchenv.envs.one_player.settings import MatchmakingOptions, Settings, as_texts
from matchenv.envs.one_player.simulator import OnePlayer, State
from matchenv.runtime.arrays import Floats


class MatchmakingArguments(ScalarArguments, MatchmakingOptions):
    """The arguments of ``MatchmakingEnv``, for type checkers and editors."""


class MatchmakingVectorArguments(VectorArguments, MatchmakingOptions):
    """The arguments of ``MatchmakingVectorEnv``, for type checkers and editors."""


class OnePlayerProperties:
    """Properties of the scalar and the vector environment of one player."""

    settings: Settings
    simulator: OnePlayer
    _state: State
    _rows: ClassVar[Any]  # index of the episodes: 0, or all
    _spec: Any = None

    @property
    def spec(self) -> Any:
        """The specification from ``gymnasium.make``, else None.

        Priors and rewards become strings, and the specification has a JSON form, if
        ``matchenv.runtime.object_spec.spec_of`` can write them: they must be dataclasses.
        """
        return self._spec

    @spec.setter
    def spec(self, spec: Any) -> None:
        if spec is not None:
            with suppress(ValueError):  # objects stay if one has no string form
                spec = replace(spec, kwargs=as_texts(spec.kwargs))
        self._spec = spec

    @property
    def knowledge_state(self) -> KnowledgeState:
        """A copy of the current beliefs, float64, shape (M + 1,) or (num_envs, M + 1)."""
        return deepcopy(self.simulator.knowledge_state(self._state))[self._rows]

    @property
    def true_skill(self) -> Floats:
        """A copy of the true skills, of the same shape, for evaluation and oracles."""
        return self._state.players[self._rows, :, TRUE_SKILL].copy()

    @property
    def games_left(self) -> Any:
        """Games left in the episode; in a vector environment, an array of shape (num_envs,)."""
        games_left = (self.settings.horizon - self._state.games)[self._rows]
        return games_left if games_left.ndim > 0 else int(games_left)


class MatchmakingEnv(OnePlayerProperties, ScalarEnv, settings=Settings, simulator=OnePlayer):
    """Choose opponents for one player when skills are uncertain.

    ## Description

    A game service has a belief about the skill of every player: a mean and a standard deviation
    (TrueSkill). Player 0 plays `horizon` games, and the service chooses the opponent of each game
    among `num_opponents` others. Good games are even: the reward is the *draw density* q, the
    density at zero of the difference of the two performances. Each game updates the beliefs about
    both players. An uneven but informative game now can make all later games more even, so the
    choice is a trade-off between exploration and exploitation, as in a bandit problem.

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

    With `belief="full"` the shape is `(3 * num_opponents + 3,)`: the M standard deviations of
    s_0 - s_1 to s_0 - s_M come between sigma_M and games left / horizon.

    Observations never include true skills.

    ## Rewards

    The reward of a game depends on the beliefs before it, or on the true skills in it. With
    `c^2 = sigma_0^2 + sigma_j^2 + 2 beta^2` it is one of:

    - `"draw_density"` (default): q = N(mu_0 - mu_j; 0, c^2), eq. (5) of the 2011 paper
    - `"match_quality"`: q relative to an even game of known skills, in (0, 1], eq. (6)
    - `"true_draw_density"`: q under the true skills, N(s_0 - s_j; 0, 2 beta^2), eq. (14)
    - a custom `matchenv.Reward`

    ## Belief

    `belief="factorised"` (default, as in the papers) treats skills as independent. It ignores that
    a game measures only a difference, so it grows overconfident with many games. `belief="full"`
    keeps the covariances. Its q uses the variance of the difference,
    `c^2 = Var(s_0 - s_j) + 2 beta^2`, and it requires `tau=0`. With the same seed, players and
    random numbers are the same for both, and true q does not depend on the belief.
    `matchenv.belief.register` adds a custom belief.

    ## Pool

    With `availability` below 1, opponents go on- and offline between games, each by a two-state
    Markov chain that starts in its stationary distribution. Online stays last
    `2 * availability * mean_stay` games on average and offline stays
    `2 * (1 - availability) * mean_stay`; over both kinds the mean is `mean_stay`. After each game
    an opponent leaves for good with probability `turnover`. A newcomer with a new prior and true
    skill takes the place, online if the predecessor was. If nobody is online, a random opponent
    comes online. With `max_games_per_opponent`, opponents cannot be chosen after that many games;
    if that leaves nobody, a random one below the limit can be chosen for one game. Comings and
    goings do not depend on actions, and a seed gives the same players and outcomes as in a constant
    pool.

    The action mask is in `info["action_mask"]` (int8, for `action_space.sample(mask)`), in
    `env.unwrapped.action_masks()` (bool) and in the last `num_opponents` numbers of the
    observation, 1 for allowed. A forbidden opponent is replaced by the allowed one with the nearest
    mean, the first of equals, and `info["invalid_action"]` is True. With `invalid_action="error"`
    it raises a `ValueError` and nothing changes.

    ## Starting State

    Prior means are drawn from N(0, 4), prior variances uniformly from [2, 3], and true skills from
    the resulting normals. Player 0 is the player at place `rank`. With `prior="equal"` the initial
    belief has mu = 0 for all players, which makes it overconfident, as in the paper.
    `equal_variance="matching"` widens it to be calibrated.
    `prior=matchenv.NormalPrior(mean=25, deviation=25 / 3)` draws all skills from one normal, which
    is also the initial belief (a rank then needs `rank_by="true_skill"`); any other
    `matchenv.Prior` is possible.
    `reset(options={"mu": ..., "sigma": ..., "true_skill": ...})` fixes all or part of the instance,
    each as `num_opponents + 1` numbers, player 0 first, whatever the `rank`. True skills left out
    are drawn from the belief.

    ## Episode End

    The episode terminates after `horizon` games, since the horizon is part of the problem. Only the
    `max_episode_steps` of `gym.make` and `gym.make_vec` truncates it.

    ## Information

    After a step, `info` describes the game (all 0 after a reset): `draw_density`, `match_quality`,
    `true_draw_density`, `squared_error` (of mu_0 before the game), `skill_difference` (true skill
    of player 0 minus the opponent's), `won` (by player 0) and `outcome` (+1, -1, or 0 for a draw).
    They are Python's numbers. An action mask is an array: `json.dumps(info,
    default=np.ndarray.tolist)` also writes it.

    ## Rendering

    A picture (`"rgb_array"`, `"human"`; `"rgb_array_list"` through `gym.make`) shows each belief
    as a bell curve on the skill axis, higher for smaller deviations (not to scale), with player 0
    and the last opponent in colour. It also shows the true skills as marks, the last result, q of
    every game and its running total. `render_true_skill=False` hides the true skills and shows q
    under the belief. Pictures require `pip install "matchenv[render]"`. `"ansi"` returns the most
    even opponents as text.

    ## Arguments

    {options}

    With drift, the skills of both players move by N(0, tau^2) before the game, and all
    measures with true skills use the moved ones. The variances of their beliefs grow by tau^2
    before the update, and q uses the beliefs as observed.

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

    if TYPE_CHECKING:

        def __init__(self, **arguments: Unpack[MatchmakingArguments]) -> None: ...


class MatchmakingVectorEnv(
    OnePlayerProperties, NativeVectorEnv, VectorEnv, settings=Settings, simulator=OnePlayer
):
    """``num_envs`` copies of ``MatchmakingEnv``, stepped together.

    See ``MatchmakingEnv`` for the description, spaces, rewards and options, and
    ``matchenv.envs.core.vector.NativeVectorEnv`` for all other arguments. Copy i of a vector
    environment reset with seed s plays the same games as a scalar environment reset with seed
    s + i.
    """

    _rows: ClassVar[Any] = slice(None)

    if TYPE_CHECKING:

        def __init__(
            self, num_envs: int = 1, **arguments: Unpack[MatchmakingVectorArguments]
        ) -> None: ...
