"""The claims of section 4 of the paper, with the evidence for and against each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
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
from matchenv.evaluation.estimates import AHEAD, BEHIND, Estimate, Record, t_quantile, verdicts
from matchenv.evaluation.protocols import ordinal

if TYPE_CHECKING:
    from matchenv.benchmarks.study.results import CellResult

SUPPORTED, REFUSED, MIXED, OPEN = "supported", "refused", "mixed", "undecided"

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
        if self.goal is None:
            order = f"{OURS} minus {{0}}" if self.sign > 0.0 else f"{{0}} minus {OURS}"
        else:
            nearer = "nearer to" if self.sign > 0.0 else "farther from"
            order = f"{OURS} {nearer} {self.goal} than {{0}} by"
        findings = []
        for result, rival in product(cells, RIVALS):
            value = result.paired(OURS, rival, self.measure, self.window, self.goal)
            label = f"{result.cell.title}, {self.measure}, {self.window} games, "
            findings.append(Record(label=label + order.format(rival), value=value.times(self.sign)))
        return _by_signs(f"{where}: {self.text}", findings, cells[0].units)


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
# Figure 4: the nearness to 0.5 is clearest exactly in the middle.
ON_CENTRE = EVEN[0]._replace(text="KG's win ratio is closer to 0.5, clearest here")


def claims_on(results: Sequence[CellResult]) -> list[Record]:
    """Return the claims on the cells and policies of a study.

    Each has its ``text``; its ``findings``, each a ``label`` and a ``value`` that supports the
    claim if positive; and a ``verdict``, based on the findings whose intervals exclude 0 after
    Holm's correction over the claim, ``undecided`` if there is none.
    """
    if not set(PAPER_POLICIES) <= set(results[0].rows.policies):
        return []
    by_place = {each.where: each for each in results}
    claims, game, units = [], results[0].settings.game, results[0].units
    num_players, windows = game.num_players, ["first", "all"]
    if game.horizon > FIRST_GAMES:
        windows += ["after", "last"]
    middle = middle_places(num_players)
    places = f"{', '.join(ordinal(place + 1) for place in middle)} of {num_players}"
    for prior, on_middle in ON_MIDDLE.items():
        for where, some, statements in (
            ("top and bottom rank", (0, num_players - 1), ON_EXTREMES),
            (places, middle, on_middle),
        ):
            cells = [by_place[prior, place] for place in some if (prior, place) in by_place]
            claims += [each.claim(f"{prior} prior, {where}", cells) for each in statements
                       if cells and each.window in windows]  # fmt: skip
        if cells and prior == "informative":
            claims.append(_no_winner(f"{prior} prior, {places}", cells))
    centre = by_place.get(("equal", place_at_share(EVEN_RANK, num_players)))
    if centre is not None and ON_CENTRE.window in windows:
        claims.append(ON_CENTRE.claim(centre.cell.title, [centre]))
    noise = list(_noise_findings(by_place, middle))
    if noise:
        text = "results are less noisy with equal priors than with the first"
        claims.append(_by_signs(text, noise, units))
    return claims


def _no_winner(where: str, results: Sequence[CellResult]) -> Record:
    """Return the claim that no policy is ahead of both others in draw density in all cells.

    It is refused if one is, and supported if each is behind another somewhere.
    """
    asked = list(product(results, (("kg", "pe"), ("kg", "drawchance"), ("drawchance", "pe"))))
    findings = [
        Record(label=f"{r.cell.title}, {a} minus {b}, all games", value=r.paired(a, b, DRAW, "all"))
        for r, (a, b) in asked
    ]
    words = verdicts([finding.value for finding in findings], results[0].units)
    won = [(a, b) if word == AHEAD else (b, a)
           for (_, (a, b)), word in zip(asked, words, strict=True)
           if word in (AHEAD, BEHIND)]  # fmt: skip
    wins = Counter(winner for winner, _ in won)
    verdict = OPEN
    if 2 * len(results) in wins.values():
        verdict = REFUSED
    elif {loser for _, loser in won} == set(PAPER_POLICIES):
        verdict = SUPPORTED
    text = f"{where}: the policies perform similarly, no clear winner"
    return Record(text=text, findings=findings, verdict=verdict)


def _noise_findings(
    by_place: Mapping[tuple[str, int], CellResult], middle: Sequence[int]
) -> Iterator[Record]:
    """Yield the findings on the logs of standard errors, whose intervals are symmetric."""
    for place, measure in product(middle, (DIFFERENCE, WINS)):
        cells = [by_place[prior, place] for prior in ON_MIDDLE if (prior, place) in by_place]
        noise = [float(np.median([cell.curve(policy, measure).standard_error
                                  for policy in PAPER_POLICIES])) for cell in cells]  # fmt: skip
        if len(cells) < len(ON_MIDDLE) or 0.0 in noise:
            continue  # a cell is missing, or all episodes are equal
        value, units = math.log(noise[0] / noise[1]), cells[0].units
        # The relative error of a standard deviation is 1 / sqrt(2 (n - 1)).
        error = 1.0 / math.sqrt(units - 1)
        half = t_quantile(units) * error
        yield Record(
            label=f"{ordinal(place + 1)}, {measure}: log of the typical standard error of a game, "
            "informative minus equal priors",
            value=Estimate(value, error, value - half, value + half),
        )


def _by_signs(text: str, findings: list[Record], count: int) -> Record:
    """Return a claim with the verdict on its findings, each the mean of ``count`` values."""
    words = set(verdicts([finding.value for finding in findings], count))
    if AHEAD in words:
        verdict = SUPPORTED if words == {AHEAD} else MIXED
    else:
        verdict = REFUSED if BEHIND in words else OPEN
    return Record(text=text, findings=findings, verdict=verdict)


def verdict_text(claims: Sequence[Record], settings: str) -> str:
    """Return the claims with their findings, below a line on the settings, as Markdown."""
    holm = "Verdicts, not intervals, are after Holm's correction over the findings of a claim."
    lines = ["# The paper's claims", "", settings, "", holm, ""]
    if not claims:
        lines += ["The study lacks PE, DrawChance or KG, or all cells that the claims are about."]
    for claim in claims:
        lines += [f"## {claim.text}", "", f"**{claim.verdict}**", ""]
        for label, value in (finding.values() for finding in claim.findings):
            lines.append(f"- {label}: {value.mean:+.5f} (95 % interval "
                         f"{value.low:+.5f} to {value.high:+.5f})")  # fmt: skip
        lines += [""]
    return "\n".join(lines) + "\n"
