"""Policies that play side by side, game after game, on the same instance and noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from matchenv.belief import TRUE_SKILL
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import Batch, Decisions, belief_of, one_thread
from matchenv.evaluation.seeds import POLICIES, episode_seeds, policy_key, stream_of
from matchenv.rendering.scene import EpisodeRecord, Scene
from matchenv.runtime.checks import as_integer
from matchenv.settings import Settings

# More beside one another could not be read.
MOST_POLICIES = 6


@dataclass(frozen=True)
class Performer:
    """One policy in its own copy of the episode.

    Attributes:
        batch: the episode, a batch of one.
        decisions: the policy.
        record: what its pictures remember.
    """

    batch: Batch
    decisions: Decisions
    record: EpisodeRecord


class Stage:
    """One instance and every policy in it.

    The instance is that of episode ``episode`` of a comparison with the same seed.

    Args:
        policies: texts as ``policy_named`` takes, at most ``MOST_POLICIES``.
        settings: of the environment, but for the belief, which is each policy's.
        seed: decides all that is drawn.
        episode: which instance.
        show_true_skill: whether pictures show true skills and what follows from them.

    Raises:
        ValueError: for no policy, too many or one twice, an unknown one, or one that cannot
            play with these settings.
    """

    def __init__(
        self,
        policies: Sequence[str],
        settings: Settings,
        *,
        seed: int = 0,
        episode: int = 0,
        show_true_skill: bool = True,
    ) -> None:
        self.policies = checked_policies(policies)
        self.settings = settings
        self.seed = as_integer("seed", seed, 0)
        self.episode = as_integer("episode", episode, 0)
        self.show_true_skill = show_true_skill
        self.games_played = 0
        self._performers = [self._performer(text) for text in self.policies]

    @property
    def is_over(self) -> bool:
        """Whether all games of the episode are played."""
        return self.games_played == self.settings.horizon

    def step(self, count: int = 1) -> None:
        """Let every policy play ``count`` games, or as many as are left."""
        for _ in range(min(count, self.settings.horizon - self.games_played)):
            for performer in self._performers:
                _play(performer)
            self.games_played += 1

    def scenes(self) -> list[Scene]:
        """The present moment of every policy's episode."""
        found = []
        for performer in self._performers:
            batch = performer.batch
            mu, sigma, skill = batch.state.players[0].T.copy()
            masks = batch.simulator.masks(batch.state)
            online = None if masks is None else masks[0].copy()
            found.append(performer.record.scene(mu, sigma, skill, online))
        return found

    def next_instance(self) -> Stage:
        """The same policies at the start of the next episode."""
        return Stage(
            self.policies,
            self.settings,
            seed=self.seed,
            episode=self.episode + 1,
            show_true_skill=self.show_true_skill,
        )

    def _performer(self, text: str) -> Performer:
        policy = policy_named(text, self.settings, lambda: batch.state.players[:, :, TRUE_SKILL])
        settings = replace(self.settings, belief=belief_of(policy))
        batch = Batch(settings, episode_seeds(self.seed, self.episode, 1))
        rng = stream_of(self.seed, POLICIES, self.episode, *policy_key(text))
        record = EpisodeRecord(settings.horizon, settings.beta, text, self.show_true_skill)
        record.begin(*batch.state.players[0].T.copy())
        return Performer(batch, Decisions(policy, rng), record)


def checked_policies(policies: Sequence[str]) -> list[str]:
    """The texts, if there are some, not too many, and none twice.

    Raises:
        ValueError: if not.
    """
    texts = list(policies)
    if not 1 <= len(texts) <= MOST_POLICIES or len(set(texts)) < len(texts):
        raise ValueError(
            f"policy must name 1 to {MOST_POLICIES} policies, none of them twice, "
            f"got {' '.join(texts) or 'none'}"
        )
    return texts


def _play(performer: Performer) -> None:
    with one_thread():
        (actions,) = performer.decisions.of([performer.batch])
    batch = performer.batch
    batch.step(actions)
    facts = batch.simulator.facts(batch.state)
    performer.record.add(
        int(actions[0]),
        int(facts["outcome"][0]),
        float(facts["draw_density"][0]),
        float(facts["true_draw_density"][0]),
    )
