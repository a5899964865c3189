"""What the paper's section 4 says, claim by claim, with the numbers for and against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from matchenv.benchmarks.study.estimates import CellResult, Mean, closeness
from matchenv.benchmarks.study.settings import PAPER_POLICIES

SUPPORTED, REFUSED, MIXED, OPEN = "supported", "refused", "mixed", "undecided"

OURS = "kg"
RIVALS = tuple(name for name in PAPER_POLICIES if name != OURS)
EXTREMES = ("top", "bottom")
MIDDLE = ("rank12", "rank25", "rank37")

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
    value: Mean

    @property
    def speaks(self) -> int:
        """+1 for the claim, -1 against it, 0 where the interval holds 0."""
        if float(self.value.low) > 0.0:
            return 1
        return -1 if float(self.value.high) < 0.0 else 0

    @property
    def text(self) -> str:
        """The finding as a line."""
        value = self.value
        return (
            f"{self.label}: {float(value.mean):+.5f} "
            f"(95 % interval {float(value.low):+.5f} to {float(value.high):+.5f})"
        )


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and what the study has to say to it.

    Attributes:
        text: the claim.
        findings: the numbers.
        verdict: by the signs of the numbers.
    """

    text: str
    findings: tuple[Finding, ...]
    verdict: str


def claims_on(results: Sequence[CellResult]) -> list[Claim]:
    """All claims whose cells and policies the study has."""
    found = {
        result.cell.name: result
        for result in results
        if set(PAPER_POLICIES) <= set(result.policies)
    }
    claims: list[Claim] = []
    for prior in ("informative", "equal"):
        extremes = [found[f"{prior}_{p}"] for p in EXTREMES if f"{prior}_{p}" in found]
        middle = [found[f"{prior}_{p}"] for p in MIDDLE if f"{prior}_{p}" in found]
        if extremes:
            claims += _on_extremes(prior, extremes)
        if middle:
            claims += _on_middle(prior, middle)
    claims += _on_noise(found)
    return claims


def _on_extremes(prior: str, results: Sequence[CellResult]) -> list[Claim]:
    where = f"{prior} prior, top and bottom rank"
    return [
        _by_signs(
            f"{where}: KG explores in the first hundred games: lower draw density",
            [f for r in results for f in _paired(r, DRAW, "first", -1.0)],
        ),
        _by_signs(
            f"{where}: and a greater difference in true skills",
            [f for r in results for f in _closer(r, DIFFERENCE, "first", 0.0, -1.0)],
        ),
        _by_signs(
            f"{where}: KG learns s_0 faster: smaller squared error in the first hundred games",
            [f for r in results for f in _paired(r, ERROR, "first", -1.0)],
        ),
        _by_signs(
            f"{where}: after the first hundred games KG is ahead in draw density",
            [f for r in results for f in _paired(r, DRAW, "after", 1.0)],
        ),
        _by_signs(
            f"{where}: and stays ahead to the end (last hundred games)",
            [f for r in results for f in _paired(r, DRAW, "last", 1.0)],
        ),
        _by_signs(
            f"{where}: over all games KG is ahead in draw density",
            [f for r in results for f in _paired(r, DRAW, "all", 1.0)],
        ),
        _by_signs(
            f"{where}: after the first hundred games KG's win ratio is closer to 0.5",
            [f for r in results for f in _closer(r, WINS, "after", 0.5, 1.0)],
        ),
        _by_signs(
            f"{where}: and its difference in true skills closer to 0",
            [f for r in results for f in _closer(r, DIFFERENCE, "after", 0.0, 1.0)],
        ),
    ]


def _on_middle(prior: str, results: Sequence[CellResult]) -> list[Claim]:
    where = f"{prior} prior, ranks 12, 25, 37"
    explores = _by_signs(
        f"{where}: KG explores in the first hundred games: lower draw density",
        [f for r in results for f in _paired(r, DRAW, "first", -1.0)],
    )
    if prior == "equal":
        return [
            explores,
            _by_signs(
                f"{where}: after the first hundred games KG's win ratio is closer to 0.5",
                [f for r in results for f in _closer(r, WINS, "after", 0.5, 1.0)],
            ),
            _by_signs(
                f"{where}: and its difference in true skills closer to 0",
                [f for r in results for f in _closer(r, DIFFERENCE, "after", 0.0, 1.0)],
            ),
            _by_signs(
                f"{where}: over all games KG is ahead in draw density",
                [f for r in results for f in _paired(r, DRAW, "all", 1.0)],
            ),
        ]
    return [explores, _no_winner(where, results)]


def _no_winner(where: str, results: Sequence[CellResult]) -> Claim:
    """No policy is ahead of both others in draw density in all the cells."""
    findings = tuple(
        Finding(f"{r.cell.title}, {a} less {b}, all games", r.paired(a, b, DRAW, "all"))
        for r in results
        for a, b in (("kg", "pe"), ("kg", "drawchance"), ("drawchance", "pe"))
    )
    winners = [
        all(_ahead(r, name, rival) for r in results for rival in PAPER_POLICIES if rival != name)
        for name in PAPER_POLICIES
    ]
    verdict = REFUSED if any(winners) else SUPPORTED
    return Claim(f"{where}: the policies perform similarly, no clear winner", findings, verdict)


def _ahead(result: CellResult, ours: str, theirs: str) -> bool:
    return float(result.paired(ours, theirs, DRAW, "all").low) > 0.0


def _on_noise(found: dict[str, CellResult]) -> list[Claim]:
    """Curves are less noisy with equal priors: smaller standard errors at each game."""
    findings = []
    for place in MIDDLE:
        first, second = found.get(f"informative_{place}"), found.get(f"equal_{place}")
        if first is None or second is None:
            continue
        for measure in (DIFFERENCE, WINS):
            share = 1.0 - _noise(second, measure) / _noise(first, measure)
            # A standard deviation of n values is known to a share of 1 / sqrt(2 n), each of two.
            values = first.paths if len(first.sums) == 1 else len(first.sums)
            error = np.asarray(1.0 / np.sqrt(values))
            label = (
                f"{first.cell.place}, {measure}: how much smaller the typical standard error of "
                "a game is with equal priors, as a share"
            )
            findings.append(Finding(label, Mean(np.asarray(share), error, 1.96 * error)))
    if not findings:
        return []
    return [_by_signs("results are less noisy with equal priors than with the first", findings)]


def _noise(result: CellResult, measure: str) -> float:
    errors = [result.curve(policy, measure).standard_error for policy in PAPER_POLICIES]
    return float(np.median(errors))


def _paired(result: CellResult, measure: str, window: str, sign: float) -> list[Finding]:
    findings = []
    for rival in RIVALS:
        found = result.paired(OURS, rival, measure, window)
        value = Mean(sign * found.mean, found.standard_error, found.half_width)
        order = f"{OURS} less {rival}" if sign > 0.0 else f"{rival} less {OURS}"
        label = f"{result.cell.title}, {measure}, {window} games, {order}"
        findings.append(Finding(label, value))
    return findings


def _closer(
    result: CellResult, measure: str, window: str, goal: float, sign: float
) -> list[Finding]:
    findings = []
    for rival in RIVALS:
        found = closeness(
            result.window(OURS, measure, window),
            result.window(rival, measure, window),
            result.paired(OURS, rival, measure, window),
            goal,
        )
        value = Mean(sign * found.mean, found.standard_error, found.half_width)
        nearer = "nearer to" if sign > 0.0 else "farther from"
        label = f"{result.cell.title}, {measure}, {window} games, {OURS} {nearer} {goal} than {rival} by"  # noqa: E501
        findings.append(Finding(label, value))
    return findings


def _by_signs(text: str, findings: list[Finding]) -> Claim:
    signs = [finding.speaks for finding in findings]
    if all(sign > 0 for sign in signs):
        verdict = SUPPORTED
    elif any(sign > 0 for sign in signs):
        verdict = MIXED
    else:
        verdict = REFUSED if any(sign < 0 for sign in signs) else OPEN
    return Claim(text, tuple(findings), verdict)
