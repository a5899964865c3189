"""``Ranking-v0``: choose which two items play next, so that their order becomes known."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from gymnasium.vector import VectorEnv

from matchenv.envs.core.scalar import ScalarEnv
from matchenv.envs.core.settings import documents_options
from matchenv.envs.core.vector import NativeVectorEnv
from matchenv.envs.ranking.settings import RankingSettings
from matchenv.envs.ranking.simulator import RankingSimulator, RankingView, State


class RankingProperties:
    """What the scalar and the vector environment of a ranking have in common."""

    env_id: ClassVar[str] = "Ranking-v0"
    render_options: ClassVar[dict[str, bool]] = {"render_true_skill": True}
    settings: RankingSettings
    simulator: RankingSimulator
    _state: State

    @property
    def view(self) -> RankingView:
        """A copy of what policies read, float64, with a row for each episode."""
        return RankingView(*map(np.copy, self.simulator.view(self._state)[0]))  # type: ignore[arg-type]


@documents_options(RankingSettings)
class RankingEnv(RankingProperties, ScalarEnv):
    """Choose which two of n items play next, to find their order with few games.

    ## Description

    Models, bots, prompts or players are ranked by games of two, and each game costs something. The
    belief about all skills is one joint normal distribution, with all covariances. Before the
    first game skills are independent, N(0, `sigma`^2); after each game the belief is updated as
    TrueSkill does, and so is what is believed of items that did not play. Learning is the whole
    purpose here, as in ranking and selection (Frazier, Powell and Dayanik, "The knowledge-gradient
    policy for correlated normal beliefs", INFORMS Journal on Computing, 2009); in
    `Matchmaking-v0` it is a means.

    ## Action Space

    `Discrete(n (n - 1) / 2)` with n = `num_items`: a pair of items, in the order (0, 1), (0, 2),
    ..., (0, n - 1), (1, 2), ..., (n - 2, n - 1). `settings.pairs` has the items of each action.
    With `max_games_per_pair` or `barred_pairs` some pairs may not play: `action_masks()` and
    `info["action_mask"]` hold the allowed ones. In place of another the first allowed pair plays,
    and `info["invalid_action"]` is True. With `invalid_action="error"` it is a `ValueError`, and
    nothing changes.

    ## Observation Space

    `Box`, float32, shape `(2 n + 2 P + 1,)` with P = n (n - 1) / 2 pairs:

    | Num                    | Observation                                      | Min  | Max |
    |------------------------|--------------------------------------------------|------|-----|
    | 0 to n - 1             | means of the belief                              | -Inf | Inf |
    | n to 2 n - 1           | standard deviations                              | 0    | Inf |
    | 2 n to 2 n + P - 1     | mean of s_i - s_j for each pair, by action       | -Inf | Inf |
    | 2 n + P to 2 n + 2 P - 1 | standard deviation of s_i - s_j                | 0    | Inf |
    | 2 n + 2 P              | games left / horizon                             | 0    | 1   |

    These deviations determine all covariances. Where masks can change, the mask follows, P numbers
    that are 0 or 1. The true skills are in no observation.

    ## Rewards

    The decrease of the expected loss by the game, minus `cost`. The order that is judged is that
    of the means. Its loss is the number of pairs that it has the wrong way round:

    - `goal="order"` (default): of all pairs;
    - `goal="top"`: of the pairs of one item among the best `k` and one that is not. w wrong items
      among the best `k` make at least w^2 such pairs, so the expected loss is at least their
      expected number;
    - `goal="best"`: the same with `k=1`: the number of items that are better than the first.

    The expected loss is the sum of P(misordered) = Phi(-|mu_i - mu_j| / deviation) over these
    pairs. The undiscounted sum of the rewards is therefore the decrease over the episode.

    ## Starting State

    `reset(options={"true_skill": ...})` fixes the true skills, n numbers; else they are drawn from
    the prior. The outcome of the k-th game of a pair is decided by a random number of that pair
    and that k: with equal seeds, policies are compared on equal items and equal luck.

    ## Episode End

    The episode terminates after `horizon` games. It is truncated only by the `max_episode_steps`
    of `gym.make` and `gym.make_vec`.

    ## Information

    After a reset and each step, for the current belief: `expected_loss`, `true_loss` (the number of
    misordered pairs under the true skills), `kendall_tau` (of the order of the means and the true
    one) and `top_errors` (items among the believed best `k` that are not). `outcome` is that of the
    last game as seen by the item of lower index: +1, -1, 0 for a draw.

    ## Rendering

    A picture (`"rgb_array"`, `"human"`; `"rgb_array_list"` through `gym.make`) shows the belief
    about every item along the skill axis, the last pair in colour, true skills as marks, and
    expected and true loss after each game. `render_true_skill=False` hides the truth. Pictures
    need `pip install "matchenv[render]"`. `"ansi"` gives the order as text.

    ## Arguments

    | Parameter        | Default          | Meaning                                          |
    |------------------|------------------|--------------------------------------------------|
    {options}
    | `render_mode`    | `None`           | `"rgb_array"`, `"human"` or `"ansi"`; see Rendering |
    | `render_true_skill` | `True`        | whether pictures show true skills and the true loss |

    ```python
    import gymnasium as gym
    import matchenv

    env = gym.make("Ranking-v0", num_items=10, goal="top", k=3)
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    ```

    ## Version History

    * v0: initial version
    """


@documents_options(RankingSettings)
class RankingVectorEnv(RankingProperties, NativeVectorEnv, VectorEnv):
    """``num_envs`` copies of ``RankingEnv``, stepped together; arguments as ``NativeVectorEnv``.

    The description, spaces, rewards and options are those of ``RankingEnv``. Copy i of a vector
    environment that is reset with seed s plays the same games as a scalar environment reset with
    seed s + i.
    """
