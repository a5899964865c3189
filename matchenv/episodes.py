"""A batch of episodes in progress: what the scalar and the vector environment share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.episode_numbers import EpisodeNumbers, Generators
from matchenv.games_played import GamesPlayed
from matchenv.instance import GivenInstance, instances_of
from matchenv.knowledge import KnowledgeState
from matchenv.opponent_noise import OpponentNoise
from matchenv.play import MU, SIGMA, TRUE_SKILL, begin_games
from matchenv.pool import Pool
from matchenv.rounds import Constants, Rows, can_be_shared, play_shared
from matchenv.settings import ANY_RANK, Settings
from matchenv.threads import RowThreads

Floats = NDArray[np.float64]

# Noise is drawn for this many games at a time, so that long horizons need little memory.
NOISE_BLOCK = 1024


class Episodes:
    """State of ``count`` episodes and the one way to change it.

    Every episode draws from a generator of its own, always the same numbers in the same
    order, so an episode does not depend on which others run beside it.

    Attributes:
        players: shape (B, M + 1, 3): mu, sigma and true skill of every player.
        games_played: shape (B,).
        belief: the kind of belief, which owns ``memory`` and writes the observation.
        memory: shape (B, R, M), what the belief keeps beside means and deviations.
        observation: shape (B, K), float32, as the belief lays it out, and the mask of a pool that
            changes; kept up to date.
        pool: who is online; None where the pool stays as it is.
        opponent_noise: noise by opponent; None where it is by the number of the game.
        threads: those that share the games of a round; the same numbers for any number of them.
    """

    def __init__(self, settings: Settings, count: int, num_threads: int = 1) -> None:
        players = settings.num_players
        self.settings = settings
        self.threads = RowThreads(num_threads)
        self.players = np.zeros((count, players, 3))
        self.games_played = np.zeros(count, dtype=np.int64)
        self.belief = settings.belief_type
        self.memory = self.belief.new_memory(count, settings.num_opponents)
        self._constants = settings.constants
        self._prior = settings.prior_type
        self._place = settings.place
        self._by_skill = settings.rank_by == "true_skill"
        self.pool = Pool(settings, count) if settings.pool_changes else None
        self.opponent_noise = None
        if settings.noise == "opponent":
            self.opponent_noise = OpponentNoise(count, settings.num_opponents)
        size = self.belief.observation_size(settings.num_opponents)
        # What the belief writes; all of the observation where the pool stays as it is.
        self._shown = np.zeros((count, size), dtype=np.float32)
        self.observation = self._shown
        if self.pool is not None:
            self.observation = np.zeros((count, settings.observation_size), dtype=np.float32)
        self._block = min(settings.horizon, NOISE_BLOCK)
        self._normals = np.zeros((count, 2 * players))
        self._uniforms = np.zeros((count, players))
        channels = 3 if settings.tau > 0.0 else 1
        self._noise = np.zeros((count, self._block, channels))
        self._numbers = EpisodeNumbers(count)
        # What a game of an episode reads and changes, a row for each.
        self._shares = num_threads > 1 and can_be_shared(self.belief, count)
        self._state = Rows(self.players, self._noise, self.games_played, self.memory, self._shown)

    def begin(
        self,
        rows: NDArray[np.int64],
        generators: Generators,
        given: GivenInstance | None = None,
    ) -> None:
        """Start new episodes.

        Args:
            rows: which episodes, shape (K,).
            generators: one for every episode of the batch, used at ``rows``.
            given: parts of the instances that the user fixed; the random numbers are drawn
                all the same, so that the noise of the games does not depend on it.
        """
        normals, uniforms = self._normals[: rows.size], self._uniforms[: rows.size]

        noise = self._noise.reshape(len(self._noise), -1)

        def draw(part: slice) -> None:
            self._numbers.begin(generators, rows[part], normals[part], uniforms[part], noise)

        if rows.size > 0:
            self.threads.each(draw, rows.size)
        instances = instances_of(
            self._prior,
            normals,
            uniforms,
            self._place,
            by_skill=self._by_skill,
        )
        begin_games(rows, *instances, self.players, self.games_played, self._shown)
        if given is not None:
            self._apply(rows, given)
        self.belief.begin(rows, self.players, self.memory, self._shown)
        if self.opponent_noise is not None:
            self.opponent_noise.begin(rows, uniforms)
        if self.pool is not None:
            self.pool.begin(rows, uniforms)
            self._show_pool(self.pool)

    def play(
        self,
        opponents: NDArray[np.int64],
        waiting: NDArray[np.bool_],
        shown: NDArray[np.float32] | None = None,
    ) -> GamesPlayed:
        """Play one game in every episode that is not ``waiting`` for a reset.

        Args:
            opponents: shape (B,), int64 in [0, M).
            waiting: shape (B,), episodes to leave alone.
            shown: shape (B, K), becomes a copy of the observation, if it is wanted.

        Returns:
            What the games gave, in fresh arrays.
        """
        played = GamesPlayed.unwritten(opponents)
        if self.threads.threads == 1:
            self.play_into(played, waiting)
            if shown is not None:
                shown[...] = self.observation
            return played

        def work(rows: slice) -> None:
            part = played.part(rows)
            self._play_rows(part, waiting[rows], self._state.part(rows))
            played.report[:, rows] = part.report
            if shown is not None:
                shown[rows] = self.observation[rows]

        if self.opponent_noise is not None:
            self.opponent_noise.place(self.games_played, opponents, waiting, self._noise)
        if self._shares:
            constants = Constants(
                self.settings.horizon,
                self.settings.beta,
                self.settings.draw_margin,
                self.settings.tau,
            )
            seen = None if self.pool is not None else shown
            play_shared(self.threads, self._state, constants, played, waiting, seen)
        else:
            self.threads.each(work, opponents.size)
        if self.pool is not None:
            self._change_pool(self.pool, waiting)
            if shown is not None:
                shown[...] = self.observation
        return played

    def play_into(self, played: GamesPlayed, waiting: NDArray[np.bool_]) -> None:
        """As ``play``, for callers that take out what they need before the next game.

        Args:
            played: names the opponents; all else in it is written.
            waiting: shape (B,), episodes to leave alone.
        """
        if self.opponent_noise is not None:
            self.opponent_noise.place(self.games_played, played.opponents, waiting, self._noise)
        self._play_rows(played, waiting, self._state)
        if self.pool is not None:
            self._change_pool(self.pool, waiting)

    def _play_rows(self, played: GamesPlayed, waiting: NDArray[np.bool_], state: Rows) -> None:
        """Games and beliefs of some rows; no argument holds any others."""
        players, noise, games_played, memory, shown = state
        self.belief.play(
            players,
            noise,
            games_played,
            memory,
            played.opponents,
            waiting,
            self.settings.horizon,
            self._constants,
            shown,
            played.terminated,
            played.report,
            played.outcomes,
        )

    def check_online(
        self, opponents: NDArray[np.int64], waiting: NDArray[np.bool_] | None = None
    ) -> None:
        """Refuse opponents who are offline; nothing is changed.

        Args:
            opponents: shape (B,), int64 in [0, M).
            waiting: shape (B,), episodes in which no game is played.

        Raises:
            ValueError: naming the first.
        """
        if self.pool is None:
            return
        good = self.pool.online[np.arange(opponents.size), opponents]
        if waiting is not None:
            good |= waiting
        if not good.all():
            row = int(np.argmin(good))
            where = f" at index {row}" if opponents.size > 1 else ""
            raise ValueError(
                "action must be an opponent who is online, as action_masks() says, got "
                f"{int(opponents[row])}{where}: opponent {int(opponents[row]) + 1} is offline"
            )

    def action_masks(self) -> NDArray[np.bool_]:
        """A copy of who can be chosen, shape (B, M)."""
        if self.pool is None:
            return np.ones((self.games_played.size, self.settings.num_opponents), dtype=np.bool_)
        return self.pool.online.copy()

    def draw_more_noise(self, generators: Generators) -> None:
        """Draw the next block of noise wherever an episode has used up its last."""
        if self.settings.horizon <= self._block:
            return
        used_up = (
            (self.games_played % self._block == 0)
            & (self.games_played > 0)
            & (self.games_played < self.settings.horizon)
        )
        rows = np.flatnonzero(used_up)
        if rows.size > 0:
            noise = self._noise.reshape(len(self._noise), -1)
            self.threads.each(
                lambda part: self._numbers.go_on(generators, rows[part], noise), rows.size
            )

    @property
    def mu(self) -> Floats:
        """Means of the beliefs, shape (B, M + 1); a view."""
        return self.players[:, :, MU]

    @property
    def sigma(self) -> Floats:
        """Standard deviations of the beliefs, shape (B, M + 1); a view."""
        return self.players[:, :, SIGMA]

    @property
    def true_skill(self) -> Floats:
        """True skills, shape (B, M + 1), in no observation; a view."""
        return self.players[:, :, TRUE_SKILL]

    def knowledge_state(self, *, copy: bool = True) -> KnowledgeState:
        """The beliefs, shape (B, M + 1).

        Args:
            copy: False for views where that is possible, which the next game changes: for
                loops that ask a policy and forget the state.
        """
        mu, sigma = self.mu, self.sigma
        if copy:
            mu, sigma = mu.copy(), sigma.copy()
        extra = self.belief.extra(self.players, self.memory)
        return KnowledgeState.trusted(mu, sigma, extra, self.belief.name)

    def _change_pool(self, pool: Pool, waiting: NDArray[np.bool_]) -> None:
        left = pool.change(self.games_played, waiting)
        if left is not None:
            rows, opponents = left
            changed, field = np.unique(rows, return_inverse=True)
            drawn = instances_of(
                self._prior.of_strangers,
                *pool.numbers_for_strangers(changed, self.games_played),
                ANY_RANK,
                by_skill=False,
            )
            for entry, values in zip((MU, SIGMA, TRUE_SKILL), drawn, strict=True):
                self.players[rows, opponents + 1, entry] = values[field, opponents + 1]
            self.belief.replace(rows, opponents, self.players, self.memory, self._shown)
        self._show_pool(pool)

    def _show_pool(self, pool: Pool) -> None:
        size = self._shown.shape[1]
        self.observation[:, :size] = self._shown
        self.observation[:, size:] = pool.online

    def _apply(self, rows: NDArray[np.int64], given: GivenInstance) -> None:
        players = self.settings.num_players
        shape = self.mu.shape
        if given.mu is not None:
            self.mu[rows] = np.broadcast_to(given.mu, shape)[rows]
        if given.sigma is not None:
            self.sigma[rows] = np.broadcast_to(given.sigma, shape)[rows]
        if given.true_skill is not None:
            self.true_skill[rows] = np.broadcast_to(given.true_skill, shape)[rows]
        elif given.mu is not None or given.sigma is not None:
            z = self._normals[: rows.size, players:]
            self.true_skill[rows] = self.mu[rows] + self.sigma[rows] * z
