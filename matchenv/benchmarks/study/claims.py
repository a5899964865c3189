"""The claims of section 4 of the paper, with the evidence for and against each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from matchenv.benchmarks.study.settings import (
    DIFFERENCE,
    DRAW,
    ERROR,
    EVEN_RANK,
    FIRST_GAMES,
    PAPER_POLICIES,
    WINS,
    middle_places,
    place_at_share,
)
from matchenv.evaluation.estimates import (
    AHEAD,
    BEHIND,
    CONFIDENCE,
    EQUALITY_MARGIN,
    Estimate,
    Record,
    estimate,
    estimate_over_priors,
    t_quantile,
    verdicts,
)
from matchenv.evaluation.protocols import ordinal
from matchenv.runtime.arrays import Floats

if TYPE_CHECKING:
    from matchenv.benchmarks.study.cells import CellResult

SUPPORTED = "supported"
REFUSED = "refused"
MIXED = "mixed"
OPEN = "undecided"

OURS = "kg"
RIVALS = tuple(name for name in PAPER_POLICIES if name != OURS)


class Statement(NamedTuple):
    """A claim of the paper about KG and each of its rivals."""

    text: str  # the claim
    measure: str  # measure that it is about
    window: str  # window of games
    sign: float  # +1 if KG should have more or be nearer to the goal, -1 if the rival should
    goal: float | None = None  # goal of both policies; None to compare the measure itself

    def claim(self, where: str, cells: Sequence[CellResult]) -> Record:
        """Return the verdict in some cells, with a finding for each cell and rival."""
        findings = []
        for cell in cells:
            for rival in RIVALS:
                value = cell.paired(OURS, rival, self.measure, self.window, self.goal)
                label = (
                    f"{cell.cell.title}, {self.measure}, {self.window} games, "
                    f"{self._comparison_with(rival)}"
                )
                findings.append(Record(label=label, value=value.times(self.sign)))
        return _judged(f"{where}: {self.text}", findings, cells[0].units)

    def _comparison_with(self, rival: str) -> str:
        """Describe the number that supports the claim if it is positive."""
        if self.goal is not None:
            if self.sign > 0.0:
                return f"{OURS} nearer to {self.goal} than {rival} by"
            return f"{OURS} farther from {self.goal} than {rival} by"
        if self.sign > 0.0:
            return f"{OURS} minus {rival}"
        return f"{rival} minus {OURS}"


EXPLORES = Statement(
    "KG explores in the first hundred games: lower draw density", DRAW, "first", -1.0
)
LEADS = Statement("over all games KG is ahead in draw density", DRAW, "all", 1.0)
CLOSER_TO_HALF = Statement(
    "after the first hundred games KG's win ratio is closer to 0.5", WINS, "after", 1.0, goal=0.5
)
CLOSER_SKILLS = Statement(
    "and its difference in true skills closer to 0", DIFFERENCE, "after", 1.0, goal=0.0
)
ON_EXTREMES = (
    EXPLORES,
    Statement("and a greater difference in true skills", DIFFERENCE, "first", -1.0, goal=0.0),
    Statement(
        "KG learns s_0 faster: smaller squared error in the first hundred games",
        ERROR,
        "first",
        -1.0,
    ),
    Statement("after the first hundred games KG is ahead in draw density", DRAW, "after", 1.0),
    Statement("and stays ahead to the end (last hundred games)", DRAW, "last", 1.0),
    LEADS,
    CLOSER_TO_HALF,
    CLOSER_SKILLS,
)
ON_MIDDLE = {
    "informative": (EXPLORES,),
    "equal": (EXPLORES, CLOSER_TO_HALF, CLOSER_SKILLS, LEADS),
}
# Figure 4: the nearness to 0.5 is clearest exactly in the middle.
ON_CENTRE = CLOSER_TO_HALF._replace(text="KG's win ratio is closer to 0.5, clearest here")
# Pairs of policies that perform similarly.
PAIRS = (("kg", "pe"), ("kg", "drawchance"), ("drawchance", "pe"))

# Results in the cells, by prior and place of player 0.
Cells = Mapping[tuple[str, int], "CellResult"]


def claims_on(results: Sequence[CellResult]) -> list[Record]:
    """Return the claims on the cells and policies of a study.

    Each has its ``text``; its ``findings``, each a ``label`` and a ``value`` that supports the
    claim if positive; and a ``verdict``, based on the findings whose intervals exclude 0 after
    Holm's correction over the claim, ``undecided`` if there is none. The claim that policies
    perform similarly is tested as one of equality.
    """
    if not set(PAPER_POLICIES) <= set(results[0].rows.policies):
        return []
    cells = {result.where: result for result in results}
    num_players = results[0].settings.game.num_players
    middle = middle_places(num_players)
    places = f"{', '.join(ordinal(place + 1) for place in middle)} of {num_players}"
    claims = []
    for prior, statements in ON_MIDDLE.items():
        extremes = _cells_at(cells, prior, (0, num_players - 1))
        claims += _claims(f"{prior} prior, top and bottom rank", extremes, ON_EXTREMES)
        between = _cells_at(cells, prior, middle)
        claims += _claims(f"{prior} prior, {places}", between, statements)
        if between and prior == "informative":
            claims.append(_no_winner(f"{prior} prior, {places}", between))
    for centre in _cells_at(cells, "equal", [place_at_share(EVEN_RANK, num_players)]):
        claims += _claims(centre.cell.title, [centre], [ON_CENTRE])
    noise = list(_noise_findings(cells, middle))
    if noise:
        text = "results are less noisy with equal priors than with the first"
        claims.append(_judged(text, noise, results[0].units))
    return claims


def _cells_at(cells: Cells, prior: str, places: Sequence[int]) -> list[CellResult]:
    """Return the cells of a prior at some places, as far as the study has them."""
    return [cells[prior, place] for place in places if (prior, place) in cells]


def _claims(
    where: str, cells: Sequence[CellResult], statements: Sequence[Statement]
) -> list[Record]:
    """Return the claims on some cells; none without cells, or about windows of longer games."""
    if not cells:
        return []
    windows = ["first", "all"]
    if cells[0].settings.horizon > FIRST_GAMES:
        windows += ["after", "last"]
    claims = []
    for statement in statements:
        if statement.window in windows:
            claims.append(statement.claim(where, cells))
    return claims


def _no_winner(where: str, cells: Sequence[CellResult]) -> Record:
    """Return the claim that the policies perform similarly in draw density over all games.

    It is supported if each pair of policies is equal within the margin in each cell. All of them
    must be, so these tests need no correction. Otherwise it is refused if some differences are
    clearly larger than the margin and none is clearly smaller, and mixed if there are both.
    """
    findings = []
    rooms = []
    equal = []
    for cell in cells:
        for ours, theirs in PAIRS:
            difference = cell.paired(ours, theirs, DRAW, "all")
            label = f"{cell.cell.title}, {ours} minus {theirs}, all games"
            findings.append(Record(label=label, value=difference))
            rooms.append(_beyond_margin(cell, ours, theirs))
            equal.append(cell.equality(ours, theirs, DRAW, "all") < 1.0 - CONFIDENCE)
    words = verdicts(rooms, cells[0].units)
    if all(equal):
        verdict = SUPPORTED
    elif AHEAD not in words:
        verdict = OPEN
    elif any(equal):
        verdict = MIXED
    else:
        verdict = REFUSED
    text = (
        f"{where}: the policies perform similarly, no clear winner (all are equal within "
        f"{100.0 * EQUALITY_MARGIN:g} %)"
    )
    return Record(text=text, findings=findings, verdict=verdict)


def _beyond_margin(cell: CellResult, ours: str, theirs: str) -> Estimate:
    """Return by how much the difference of two policies in draw density exceeds the margin."""
    sign = 1.0
    if cell.paired(ours, theirs, DRAW, "all").mean < 0.0:
        sign = -1.0
    their_values = cell.values(theirs, DRAW, "all")
    difference = cell.values(ours, DRAW, "all") - their_values
    return estimate_over_priors(sign * difference - EQUALITY_MARGIN * their_values)


def _noise_findings(cells: Cells, places: Sequence[int]) -> Iterator[Record]:
    """Yield the findings on the noise within a prior.

    They are logs of standard errors, whose intervals are symmetric, since the paper's noise is that
    over sample paths of one prior. Both cells have the same draws of the prior.
    """
    for place in places:
        informative = cells.get(("informative", place))
        equal = cells.get(("equal", place))
        if informative is None or equal is None:
            continue
        for measure in (DIFFERENCE, WINS):
            larger = _typical_errors(informative, measure)
            smaller = _typical_errors(equal, measure)
            if larger.min() == 0.0 or smaller.min() == 0.0:
                continue  # all episodes are equal
            ratios = np.log(larger / smaller)
            if ratios.size == 1:
                value = _log_ratio(float(ratios[0]), informative.units)
            else:
                value = estimate(ratios)
            yield Record(
                label=f"{ordinal(place + 1)}, {measure}: log of the typical standard error of a "
                "game within a prior, informative minus equal priors",
                value=value,
            )


def _typical_errors(cell: CellResult, measure: str) -> Floats:
    """Return the median of a measure's standard errors over games and policies, for each prior."""
    errors = [cell.errors(policy, measure) for policy in PAPER_POLICIES]
    return np.asarray(np.median(errors, axis=(0, 2)))


def _log_ratio(value: float, episodes: int) -> Estimate:
    """Return the log of the ratio of two standard errors over the episodes of one prior."""
    # The relative error of a standard deviation is 1 / sqrt(2 (n - 1)).
    error = 1.0 / math.sqrt(episodes - 1)
    half = t_quantile(episodes) * error
    return Estimate(value, error, value - half, value + half)


def _judged(text: str, findings: list[Record], count: int) -> Record:
    """Return a claim with the verdict on its findings, each the mean of ``count`` values."""
    words = set(verdicts([finding.value for finding in findings], count))
    if words == {AHEAD}:
        verdict = SUPPORTED
    elif AHEAD in words:
        verdict = MIXED
    elif BEHIND in words:
        verdict = REFUSED
    else:
        verdict = OPEN
    return Record(text=text, findings=findings, verdict=verdict)


def verdict_text(claims: Sequence[Record], settings: str) -> str:
    """Return the claims with their findings, below a line on the settings, as Markdown."""
    holm = (
        "Verdicts, not intervals, are after Holm's correction over the findings of a claim; those "
        "on equality are by two one-sided tests."
    )
    lines = ["# The paper's claims", "", settings, "", holm, ""]
    if not claims:
        lines += ["The study lacks PE, DrawChance or KG, or all cells that the claims are about."]
    for claim in claims:
        lines += [f"## {claim.text}", "", f"**{claim.verdict}**", ""]
        for finding in claim.findings:
            value = finding.value
            lines.append(
                f"- {finding.label}: {value.mean:+.5f} (95 % interval "
                f"{value.low:+.5f} to {value.high:+.5f})"
            )
        lines.append("")
    return "\n".join(lines) + "\n"
