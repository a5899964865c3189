"""What a judgement says: the questions, the numbers and the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from matchenv.benchmarks.judge.arrivals import Arrivals
from matchenv.benchmarks.judge.evenness import Favourites, GroupEvenness
from matchenv.benchmarks.judge.matchers import Matchers, plain_twin
from matchenv.benchmarks.queue.front import family_of
from matchenv.benchmarks.queue.report import GroupStanding, QueueStanding, known_estimate
from matchenv.evaluation.estimates import Estimate
from matchenv.evaluation.queue_measures import GROUPS
from matchenv.evaluation.verdicts import known_verdicts
from matchenv.logs import Fit

# What learning could gain: who has it. The second is whom it is compared with; None for the same
# policy without the gain.
LESSONS = {
    "if all skills were known": ("oracle", "matching"),
    "if the matching of all also counted what games teach": ("kg_matching", None),
    "if one choice at a time also counted what games teach": ("kg both=true", None),
}


@dataclass(frozen=True)
class Gain:
    """What one matcher has over another.

    Attributes:
        question: what is asked.
        policy: who may be ahead.
        than: of whom.
        reward: difference of true rewards, a run.
        share: the same as a share of the other's true reward.
        quality: difference in mean true match quality.
        verdict: by the reward.
    """

    question: str
    policy: str
    than: str
    reward: Estimate
    share: float
    quality: Estimate
    verdict: str


@dataclass(frozen=True)
class Contest:
    """One of ours against the matcher that differences are taken to.

    Attributes:
        policy: ours.
        reward: difference in true reward, a run.
        quality: difference in mean true match quality.
        wait: difference in mean minutes of waiting.
        left: difference in the share who gave up.
        verdicts: by reward, quality, wait and left; ``ahead`` is better for the players.
    """

    policy: str
    reward: Estimate
    quality: Estimate
    wait: Estimate
    left: Estimate
    verdicts: dict[str, str]


@dataclass(frozen=True)
class Payer:
    """What the change to the best of ours would mean for a group of players.

    Attributes:
        group: one of ``GROUPS``.
        quality: difference in mean true match quality.
        wait: difference in mean minutes of waiting.
        left: difference in the share who gave up.
        verdicts: by quality, wait and left.
    """

    group: str
    quality: Estimate
    wait: Estimate
    left: Estimate
    verdicts: dict[str, str]


@dataclass(frozen=True)
class Judgement:
    """What was found about a log and its matcher.

    Attributes:
        name: of the log.
        games: in it.
        players: in it.
        parameters: of the model, as ``replay_trueskill`` takes them.
        fit: of the parameters; None where they were given.
        notes: what the fit could not tell, and what else a reader must know.
        groups: how even the games were, by group of players.
        strangers: mean quality in hindsight if sides of the log had met at random.
        favourites: whether favourites won as often as was believed.
        arrivals: the load.
        matchers: the runs in the queue.
    """

    name: str
    games: int
    players: int
    parameters: Mapping[str, float]
    fit: Fit | None
    notes: Sequence[str]
    groups: Sequence[GroupEvenness]
    strangers: float
    favourites: Favourites
    arrivals: Arrivals
    matchers: Matchers

    @property
    def against(self) -> str:
        """The matcher that differences are taken to."""
        return self.matchers.comparison.against

    @cached_property
    def contests(self) -> list[Contest]:
        """Everyone who knows no true skills against ``against``."""
        rows = []
        for standing in self.matchers.comparison.standings:
            if standing.policy != self.against and family_of(standing.policy) != "oracle":
                group = self.standing_of(standing.policy, GROUPS[0])
                rows.append((standing.policy, standing.difference, *self._changes(group)))
        said = _words([row[1:] for row in rows], ("reward", "quality", "wait", "left"), self.runs)
        return [Contest(*row, words) for row, words in zip(rows, said, strict=True)]

    @cached_property
    def payers(self) -> list[Payer]:
        """Each group of players, under the best of ours instead of ``against``."""
        ours = self.matchers.ours
        if ours == self.against:
            return []
        rows = [(group, *self._changes(self.standing_of(ours, group))) for group in GROUPS]
        said = _words([row[1:] for row in rows], ("quality", "wait", "left"), self.runs)
        return [Payer(*row, words) for row, words in zip(rows, said, strict=True)]

    @cached_property
    def gains(self) -> list[Gain]:
        """How much would learning have gained?"""
        table = self.matchers.comparison.rows
        # The first of a family counts; ours stand behind the present matcher.
        others = [each for each in table.policies if each != self.against]
        first = {family_of(each): each for each in reversed(others)}
        rows = []
        for question, (family, other) in LESSONS.items():
            policy = first.get(family, "")
            than = plain_twin(policy) if other is None else first.get(other)
            if policy and than is not None and than in table.policies:
                reward, quality = (
                    known_estimate(table.values(name, 0, policy) - table.values(name, 0, than))
                    for name in ("true_reward", "true_match_quality")
                )
                whole = known_estimate(table.values("true_reward", 0, than)).mean
                rows.append((question, policy, than, reward, reward.mean / whole, quality))
        said = known_verdicts([row[3] for row in rows], self.runs)
        return [Gain(*row, word) for row, word in zip(rows, said, strict=True)]

    @property
    def runs(self) -> int:
        """Runs of each matcher."""
        return int(self.matchers.comparison.rows.seeds.size)

    def standing_of(self, policy: str, group: str) -> GroupStanding:
        """How one matcher served one group."""
        return next(
            each
            for each in self.matchers.comparison.groups
            if each.policy == policy and each.group == group
        )

    @property
    def standings(self) -> tuple[QueueStanding, ...]:
        """Of all matchers."""
        return self.matchers.comparison.standings

    def _changes(self, group: GroupStanding) -> tuple[Estimate, Estimate, Estimate]:
        wait = group.wait_difference.times(self.arrivals.tick_minutes)
        return group.quality_difference, wait, group.left_difference


def _words(
    rows: Sequence[Sequence[Estimate]], names: Sequence[str], runs: int
) -> list[dict[str, str]]:
    """A verdict for each estimate, all asked together; less waiting and leaving is better."""
    better = [
        each.times(-1.0) if name in ("wait", "left") else each
        for row in rows
        for name, each in zip(names, row, strict=True)
    ]
    said = known_verdicts(better, runs)
    width = len(names)
    return [
        dict(zip(names, said[first : first + width], strict=True))
        for first in range(0, len(said), width)
    ]
