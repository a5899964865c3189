"""What the paper's section 4 says, claim by claim, with the numbers for and against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from matchenv.benchmarks.study.results import CellResult
from matchenv.benchmarks.study.settings import PAPER_POLICIES, paper_places
from matchenv.evaluation.cells import ordinal
from matchenv.evaluation.estimates import AHEAD, BEHIND, Estimate, verdicts

SUPPORTED, REFUSED, MIXED, OPEN = "supported", "refused", "mixed", "undecided"

OURS = "kg"
RIVALS = tuple(name for name in PAPER_POLICIES if name != OURS)

DRAW, ERROR, DIFFERENCE, WINS = (
    "true_draw_density", "squared_error", "skill_difference", "win_ratio"
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One number that bears on a claim; above 0 it speaks for the claim.

    Attributes:
        label: what was compared.
        value: the number with its 95 % interval.
    """

    label: str
    value: Estimate

    @property
    def text(self) -> str:
        """The finding as a line."""
        value = self.value
        return (
            f"{self.label}: {value.mean:+.5f} (95 % interval {value.low:+.5f} to {value.high:+.5f})"
        )


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper about KG and each of its rivals.

    Attributes:
        text: the sentence.
        measure: of the games.
        window: which games.
        sign: +1 if KG is to have more, or to be nearer to the goal, -1 for the rival.
        goal: what both should come near to; None where more or less is what counts.
    """

    text: str
    measure: str
    window: str
    sign: float
    goal: float | None = None

    def findings(self, results: Sequence[CellResult]) -> list[Finding]:
        """What each cell says of KG and each rival."""
        return [self._finding(result, rival) for result in results for rival in RIVALS]

    def _finding(self, result: CellResult, rival: str) -> Finding:
        if self.goal is None:
            value = result.paired(OURS, rival, self.measure, self.window)
            order = f"{OURS} less {rival}" if self.sign > 0.0 else f"{rival} less {OURS}"
        else:
            value = result.nearer(OURS, rival, self.measure, self.window, self.goal)
            nearer = "nearer to" if self.sign > 0.0 else "farther from"
            order = f"{OURS} {nearer} {self.goal} than {rival} by"
        label = f"{result.cell.title}, {self.measure}, {self.window} games, {order}"
        return Finding(label, value.times(self.sign))


EXPLORES = Statement(
    "KG explores in the first hundred games: lower draw density", DRAW, "first", -1.0
)
LEADS = Statement("over all games KG is ahead in draw density", DRAW, "all", 1.0)
EVEN = (
    Statement("after the first hundred games KG's win ratio is closer to 0.5", WINS, "after", 1.0,
              goal=0.5),
    Statement("and its difference in true skills closer to 0", DIFFERENCE, "after", 1.0, goal=0.0),
)  # fmt: skip
ON_EXTREMES = (
    EXPLORES,
    Statement("and a greater difference in true skills", DIFFERENCE, "first", -1.0, goal=0.0),
    Statement("KG learns s_0 faster: smaller squared error in the first hundred games", ERROR,
              "first", -1.0),
    Statement("after the first hundred games KG is ahead in draw density", DRAW, "after", 1.0),
    Statement("and stays ahead to the end (last hundred games)", DRAW, "last", 1.0),
    LEADS,
    *EVEN,
)  # fmt: skip
ON_MIDDLE = {"informative": (EXPLORES,), "equal": (EXPLORES, *EVEN, LEADS)}


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and what the study has to say to it.

    Attributes:
        text: the claim.
        findings: the numbers.
        verdict: by the numbers whose intervals leave out 0, with Holm's correction for all of
            the claim; ``undecided`` where there is none.
    """

    text: str
    findings: tuple[Finding, ...]
    verdict: str


def claims_on(results: Sequence[CellResult]) -> list[Claim]:
    """All claims whose cells and policies the study has."""
    found = {
        (result.cell.prior, result.cell.place): result
        for result in results
        if set(PAPER_POLICIES) <= set(result.policies)
    }
    if not found:
        return []
    last = results[0].cell.num_opponents
    middle = [place for place in paper_places(last + 1) if isinstance(place, int)]
    places = ", ".join(ordinal(place + 1) for place in middle)
    claims: list[Claim] = []
    for prior, on_middle in ON_MIDDLE.items():
        outer = [found[prior, place] for place in (0, last) if (prior, place) in found]
        inner = [found[prior, place] for place in middle if (prior, place) in found]
        for where, cells, statements in (
            ("top and bottom rank", outer, ON_EXTREMES),
            (f"{places} of {last + 1}", inner, on_middle),
        ):
            if cells:
                set_up = f"{prior} prior{_places_by(cells[0])}, {where}"
                claims += [
                    _by_signs(f"{set_up}: {each.text}", each.findings(cells), cells[0].units)
                    for each in statements
                ]
        if inner and prior == "informative":
            claims.append(_no_winner(f"{prior} prior, {places} of {last + 1}", inner))
    claims += _clearest_in_the_middle(found, last)
    claims += _on_noise(found, middle)
    return claims


def _places_by(result: CellResult) -> str:
    """What places are by, where the paper may mean either of two things."""
    if result.cell.prior != "equal":
        return ""
    by = "true skill" if result.cell.rank_by == "true_skill" else "hidden mean"
    return f" with places by {by}"


def _clearest_in_the_middle(found: dict[tuple[str, int], CellResult], last: int) -> list[Claim]:
    """The claim on Figure 4, that KG's nearness to 0.5 is clearest exactly in the middle."""
    centre = found.get(("equal", (last + 1) // 2 - 1))
    if centre is None:
        return []
    text = f"equal prior, {centre.cell.title}: KG's win ratio is closer to 0.5, clearest here"
    return [_by_signs(text, EVEN[0].findings([centre]), centre.units)]


def _no_winner(where: str, results: Sequence[CellResult]) -> Claim:
    """No policy is ahead of both others in draw density in all the cells.

    Refused if one is. Supported if each is behind another somewhere: then none can be. Undecided
    if for some policy neither can be told.
    """
    pairs = (("kg", "pe"), ("kg", "drawchance"), ("drawchance", "pe"))
    findings = tuple(
        Finding(f"{r.cell.title}, {a} less {b}, all games", r.paired(a, b, DRAW, "all"))
        for r in results
        for a, b in pairs
    )
    said = verdicts([finding.value for finding in findings], results[0].units)
    opposite = {AHEAD: BEHIND, BEHIND: AHEAD}
    of_policy: dict[str, list[str]] = {name: [] for name in PAPER_POLICIES}
    for verdict, (first, second) in zip(said, pairs * len(results), strict=True):
        of_policy[first].append(verdict)
        of_policy[second].append(opposite.get(verdict, verdict))
    found = OPEN
    if any(set(each) == {AHEAD} for each in of_policy.values()):
        found = REFUSED
    elif all(BEHIND in each for each in of_policy.values()):
        found = SUPPORTED
    return Claim(f"{where}: the policies perform similarly, no clear winner", findings, found)


def _on_noise(found: dict[tuple[str, int], CellResult], middle: Sequence[int]) -> list[Claim]:
    """Curves are less noisy with equal priors: smaller standard errors at each game."""
    findings = []
    for place in middle:
        first, second = found.get(("informative", place)), found.get(("equal", place))
        if first is None or second is None:
            continue
        for measure in (DIFFERENCE, WINS):
            before, after = _noise(first, measure), _noise(second, measure)
            if before == 0.0:
                continue  # all episodes alike
            share = 1.0 - after / before
            # A standard deviation of n values is known to a share of 1 / sqrt(2 n), each of two.
            error = 1.0 / math.sqrt(first.units)
            label = (
                f"{ordinal(place + 1)}, {measure}: how much smaller the typical standard error of "
                "a game is with equal priors, as a share"
            )
            value = Estimate(share, error, share - 1.96 * error, share + 1.96 * error)
            findings.append(Finding(label, value))
    if not findings:
        return []
    units = next(iter(found.values())).units
    return [
        _by_signs("results are less noisy with equal priors than with the first", findings, units)
    ]


def _noise(result: CellResult, measure: str) -> float:
    errors = [result.curve(policy, measure).standard_error for policy in PAPER_POLICIES]
    return float(np.median(errors))


def _by_signs(text: str, findings: list[Finding], count: int) -> Claim:
    """A claim judged by its findings, each of which is a mean of so many values."""
    said = set(verdicts([finding.value for finding in findings], count))
    if AHEAD in said:
        verdict = SUPPORTED if said == {AHEAD} else MIXED
    else:
        verdict = REFUSED if BEHIND in said else OPEN
    return Claim(text, tuple(findings), verdict)
