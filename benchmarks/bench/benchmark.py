"""The benchmark: its episodes, one score and a score for each family, tables, files.

Of the protocol, down to ``protocol_digest``, nothing may change: another one has another name.

Source: Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice"
(2021), for the interquartile mean with a stratified bootstrap.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import trim_mean

from matchenv.baselines.gittins import ToldIndex
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.episode_table import Block, Plan
from matchenv.evaluation.estimates import CONFIDENCE, Estimate, Record, ratio_of_means
from matchenv.evaluation.protocols import HIGH_END, LOW_END, cells_of
from matchenv.evaluation.registry import Candidate, adapted, candidates_of
from matchenv.evaluation.rollout import Sums, TrueSkills
from matchenv.evaluation.seeds import BENCH, INSTANCES, POLICIES, episode_seeds
from matchenv.evaluation.tables import Column, markdown_table, text_table
from matchenv.runtime.checks import as_choice
from matchenv.runtime.files import checksum, json_bytes, parsed_json
from matchenv.runtime.jobs import RunOptions, Store
from matchenv.runtime.provenance import provenance

Floats = NDArray[np.float64]

NAME = "matchenv-bench-v1"

# Public: decides all instances and all luck.
SEED = 20110613
# Of each family. One block, so that a stochastic policy has one stream in a family.
EPISODES = 100

RANKS = ("top", "middle")
PRIORS = ("informative", "equal")
OPPONENTS = (9, 49, 199)
GAMES = (50, 500)

# Beside the main families, each at both ranks with 49 opponents and 500 games.
VARIANTS: dict[str, dict[str, Any]] = {
    "matching": {"prior": "equal", "equal_variance": "matching"},
    "draws": {"draw_margin": 0.5},
    "drift": {"tau": 0.1},
    "pool": {"availability": 0.5, "mean_stay": 20.0, "turnover": 0.002},
}

# A family counts in the score if its mark is at least so many standard errors above DrawChance, so
# that the mark's own error moves the family's score by a fifth at most (one standard error).
LEAST_ERRORS = 5.0


@dataclass(frozen=True)
class Mark:
    """Mark that counts as 1 in a main family: the upper bound of any policy above DrawChance.

    Attributes:
        bound: mean total of true q that no policy exceeds.
        drawchance: DrawChance's mean total, on the same sample paths.
        difference: bound minus DrawChance, paired, luck of known mean subtracted.
        standard_error: of the difference.
        paths: sample paths that it was computed from.
    """

    bound: float
    drawchance: float
    difference: float
    standard_error: float
    paths: int

    @property
    def counts(self) -> bool:
        """True if the mark is known well enough for the score."""
        return self.difference >= LEAST_ERRORS * self.standard_error

    @property
    def text(self) -> str:
        """The difference with its error, and whether it does not count."""
        found = f"{self.difference:.2f} +- {self.standard_error:.2f}"
        return found if self.counts else f"{found}, does not count"


def read_marks() -> dict[str, Mark]:
    """Return the marks by family, as ``matchenv bound --marks`` of 0.1.0 wrote them."""
    content = files("matchenv.benchmarks.bench").joinpath("bounds.json").read_bytes()
    return {name: Mark(**said) for name, said in parsed_json(content)["families"].items()}


@dataclass(frozen=True)
class Family:
    """Episodes of one kind.

    Attributes:
        number: its place, from 0, which decides its seeds.
        name: such as ``top_informative_49_500`` or ``middle_drift``.
        settings: of the environment.
        mark: what counts as 1, of a main family. No bound is known for the variants: there the
            oracle counts as 1, in a score apart.
    """

    number: int
    name: str
    settings: Settings
    mark: Mark | None = None


def _families() -> tuple[Family, ...]:
    kinds: dict[str, dict[str, Any]] = {
        f"{rank}_{prior}_{opponents}_{games}":
            {"rank": rank, "prior": prior, "num_opponents": opponents, "horizon": games}
        for rank, prior, opponents, games in product(RANKS, PRIORS, OPPONENTS, GAMES)
    }  # fmt: skip
    for (variant, options), rank in product(VARIANTS.items(), RANKS):
        kinds[f"{rank}_{variant}"] = {"rank": rank, **options}
    beta, marks = math.sqrt(2.5), read_marks()
    return tuple(
        Family(number, name, Settings.checked(beta=beta, noise="opponent", **options),
               marks.get(name))
        for number, (name, options) in enumerate(kinds.items())
    )  # fmt: skip


FAMILIES = _families()


def families_named(names: Sequence[str]) -> tuple[Family, ...]:
    """Return the families of these names, in the protocol's order; all for no name.

    Raises:
        ValueError: for an unknown name.
    """
    known = {family.name: family for family in FAMILIES}
    for name in names:
        as_choice("only", name, known)
    return tuple(family for family in FAMILIES if not names or family.name in names)


def protocol_digest() -> str:
    """Return a digest of all that the protocol fixes."""
    families = {family.name: family.settings.description() for family in FAMILIES}
    marks = {family.name: asdict(family.mark) for family in FAMILIES if family.mark is not None}
    said = {"name": NAME, "seed": SEED, "episodes": EPISODES, "families": families, "marks": marks}
    return checksum({**said, "least_errors": LEAST_ERRORS})


TRUE_Q = "true_draw_density"
TOLD = ToldIndex.name
RESAMPLES, BOOTSTRAP_SEED = 2000, 0
TAIL = 0.5 * (1.0 - CONFIDENCE)


def family_scores(above: Floats, span: Floats) -> Floats:
    """Return each run's score in each family, shape (runs, F): 0 is DrawChance, 1 the mark.

    Args:
        above: true q of every episode minus DrawChance's, shape (runs, F, E).
        span: of the same episodes, what the mark is above DrawChance, shape (F, E).
    """
    found: Floats = above.mean(axis=-1) / span.mean(axis=-1)
    return found


def overall(above: Floats, span: Floats) -> Estimate:
    """Return the interquartile mean of ``family_scores``, with its bootstrap interval.

    The bootstrap draws episodes again within each family, the same for all policies, and, where
    there are several, runs within each family.
    """
    runs, families, episodes = above.shape
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    drawn = np.empty((RESAMPLES, runs * families))
    rows = np.arange(families)[:, None]
    for k in range(RESAMPLES):
        chosen = rng.integers(episodes, size=(families, episodes))
        parts = family_scores(above[:, rows, chosen], span[rows, chosen])
        if runs > 1:
            parts = parts[rng.integers(runs, size=(runs, families)), np.arange(families)]
        drawn[k] = np.ravel(parts)
    values = trim_mean(drawn, 0.25, axis=1)
    low, high = np.quantile(values, (TAIL, 1.0 - TAIL)).tolist()
    value = float(trim_mean(np.ravel(family_scores(above, span)), 0.25))
    return Estimate(value, float(values.std(ddof=1)), low, high)


COLUMNS = (
    Column("family", "{family}"),
    Column("true q", "{true_q:.2f}"),
    Column("score", lambda row: "not played: 0" if row.refused else f"{row.score:.2f}"),
    Column("told s_0", "{told:.2f}"),
    Column("bound - DrawChance", "{mark}"),
)


@dataclass(frozen=True)
class Result:
    """Result of a method.

    Attributes:
        method: its name in tables.
        policies: what tells its runs from others, by label; one run for each training seed.
        families: what was played; all of the protocol, or it is no entry.
        totals: true q of every episode, by label, shape (F, E): the runs, DrawChance, the oracle
            and the told index.
        refused: families that a run does not play, by label.
    """

    method: str
    policies: dict[str, str]
    families: tuple[Family, ...]
    totals: dict[str, Floats]
    refused: dict[str, tuple[str, ...]]

    @property
    def whole(self) -> bool:
        """True if all families were played."""
        return len(self.families) == len(FAMILIES)

    @cached_property
    def scores(self) -> dict[str, Estimate | None]:
        """Interquartile means, None where no family was played.

        ``score`` is over the main families whose mark counts, and ``variants`` over the variants,
        with the oracle as mark; ``told`` and ``told_variants`` are those of the told index.
        """
        counted = [f for f, each in enumerate(self.families) if each.mark and each.mark.counts]
        variants = [f for f, each in enumerate(self.families) if each.mark is None]
        asked = {
            "score": (self.policies, counted),
            "told": ((TOLD,), counted),
            "variants": (self.policies, variants),
            "told_variants": ((TOLD,), variants),
        }
        return {
            name: overall(self._above(labels)[:, places], self._spans()[places]) if places else None
            for name, (labels, places) in asked.items()
        }

    def family_scores(self) -> list[Record]:
        """Return one for each family.

        Each has the name of the ``family``; the method's mean total of ``true_q``; its ``score``,
        0 for DrawChance and 1 for the family's mark, or the oracle where it has none; that of the
        ``told`` index; the ``mark``; and whether all runs ``refused`` to play it.
        """
        ours, (told,) = self._above(self.policies).mean(axis=0), self._above((TOLD,))
        return [
            Record(
                family=family.name,
                true_q=float(np.mean([self.totals[label][f] for label in self.policies])),
                score=ratio_of_means(ours[f], span),
                told=ratio_of_means(told[f], span),
                mark=family.mark.text if family.mark else "-",
                refused=all(family.name in self.refused.get(label, ()) for label in self.policies),
            )
            for f, (family, span) in enumerate(zip(self.families, self._spans(), strict=True))
        ]

    def _above(self, labels: Iterable[str]) -> Floats:
        """Return totals minus DrawChance's, shape (labels, F, E)."""
        return np.array([self.totals[label] - self.totals[LOW_END] for label in labels])

    def _spans(self) -> Floats:
        """Return what the marks are above DrawChance, shape (F, E)."""
        spans = self.totals[HIGH_END] - self.totals[LOW_END]
        for f, family in enumerate(self.families):
            if family.mark is not None:
                spans[f] = family.mark.difference
        return spans

    def head(self) -> list[str]:
        """Return what stands above the table."""
        texts = {name: f"{found:.3f}" if found else "-" for name, found in self.scores.items()}
        count = f"{len(self.families)} families" if self.whole else "some families, no entry"
        runs = "1 run" if len(self.policies) == 1 else f"{len(self.policies)} runs"
        return [
            f"{self.method}, {NAME}, {count}, {EPISODES} episodes each, {runs}",
            "score {score}; of the variants {variants}".format_map(texts),
            "the index, given player 0's skill: {told}; {told_variants}".format_map(texts),
            f"0 is {LOW_END}; 1 is the bound on every policy, in the variants the {HIGH_END}",
            "interquartile means with their stratified bootstrap intervals of 95 %",
        ]

    def text(self) -> str:
        """Return the table for a terminal."""
        return "\n".join([*self.head(), "", *text_table(COLUMNS, self.family_scores())])

    def files(self) -> dict[str, bytes]:
        """Return the content of the result files, by name; no entry where families are missing."""
        rows = self.family_scores()
        scores = {name: each and {"value": each.mean, "low": each.low, "high": each.high}
                  for name, each in self.scores.items()}  # fmt: skip
        content = {
            "benchmark": NAME,
            "protocol": protocol_digest(),
            "method": self.method,
            "policies": self.policies,
            "families": [family.name for family in self.families],
            "whole": self.whole,
            "refused": self.refused,
            **scores,
            "made_with": provenance(),
            "totals": {label: values.tolist() for label, values in self.totals.items()},
        }
        named = ["--method", self.method] if self.method != next(iter(self.policies)) else []
        entry = {
            "protocol": NAME,
            "method": self.method,
            "command": shlex.join(["matchenv", "bench", "--policy", *self.policies, *named]),
            "runs": len(self.policies),
            "refused": len(set().union(*self.refused.values())),
            **{name: scores[name] for name in ("score", "variants")},
            "families": {row.family: round(row.score.mean, 4) for row in rows},
        }
        markdown = "\n".join(["  \n".join(self.head()), "", *markdown_table(COLUMNS, rows)])
        return {
            "bench.json": json_bytes(content, checked=True),
            "bench.md": f"{markdown}\n".encode(),
            **({"entry.json": json_bytes(entry)} if self.whole else {}),
        }


def told_index(settings: Settings, true_skill: TrueSkills | None) -> ToldIndex:
    """Return the second mark, for an environment."""
    del true_skill
    belief = ToldIndex.preferred_belief(settings)
    games = {name: getattr(settings, name) for name in ("beta", "draw_margin", "tau", "horizon")}
    policy: ToldIndex = adapted(ToldIndex(**games, belief=belief), settings)
    return policy


def run_bench(
    policies: Sequence[str],
    *,
    method: str | None = None,
    only: Sequence[str] = (),
    run: RunOptions | None = None,
) -> Result:
    """Play the benchmark.

    Args:
        policies: texts of policies: the runs of one method, one for each training seed.
        method: its name in tables; None for the first policy's.
        only: names of families; none for all. A result of some is no entry.
        run: how to work and what to keep.

    Raises:
        ValueError: for a bad argument, before anything is played, or a folder with other results.
        OSError: for a folder that cannot be written.
    """
    run, families = run or RunOptions(), families_named(only)
    # Who plays not even the environment of the defaults is refused.
    who = {each.label: str(each.identity) for each in candidates_of(policies, Settings.checked())}
    asked = {"command": "bench", "protocol": protocol_digest(), "method": method, "policies": who,
             "only": list(only)}  # fmt: skip
    with run.store(asked) as store:
        totals, refused = play_families(list(who), families, store)
        result = Result(method or next(iter(who)), who, families, totals, refused)
        store.finish(result, result.files().items())
    return result


def play_families(
    policies: Sequence[str], families: Sequence[Family], store: Store
) -> tuple[dict[str, Floats], dict[str, tuple[str, ...]]]:
    """Play every episode of some families with some policies, by label, and with the marks.

    Returns:
        Totals of true q by label, those of the marks among them, shape (F, E) each; and by label
        the names of the families that a policy does not play: DrawChance's totals stand there.
    """
    plans = [_plan(family, policies) for family in families]
    jobs = [
        replace(job, name=f"{family.name}_{job.name}")
        for family, plan in zip(families, plans, strict=True)
        for job in plan.jobs()
    ]
    found = iter(store.results(jobs))
    played = [{each.label: next(found)[TRUE_Q] for each in plan.candidates} for plan in plans]
    totals = {
        label: np.array([each.get(label, each[LOW_END]) for each in played])
        for label in (*policies, LOW_END, HIGH_END, TOLD)
    }
    refused = {
        label: tuple(family.name for family, each in zip(families, played, strict=True)
                     if label not in each)
        for label in policies
    }  # fmt: skip
    return totals, {label: names for label, names in refused.items() if names}


def _plan(family: Family, policies: Sequence[str]) -> Plan:
    """Return the episodes of one family, of the marks and of those policies that can play it."""
    settings = family.settings
    marks = (*candidates_of([LOW_END, HIGH_END], settings), Candidate(TOLD, told_index, TOLD))
    playing = {mark.label: mark for mark in marks}
    for text in policies:
        with suppress(ValueError):
            (playing[text],) = candidates_of([text], settings)
    seeds = episode_seeds(SEED, 0, EPISODES, (BENCH, INSTANCES, family.number))
    block = Block(0, 0, tuple(seeds), (BENCH, POLICIES, family.number))
    cells = cells_of([settings.rank], [str(settings.prior)], settings.num_opponents)
    summary = partial(Sums, (TRUE_Q,))
    return Plan(tuple(playing.values()), cells, (block,), lambda *_: settings, SEED, summary)
