"""The page of an appendix: what was done, with which settings, and the main numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from matchenv.benchmarks.report.section import Section, Table
from matchenv.evaluation.tables import table_cells

SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
        "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$",
        '"': "{''}", "–": r"\textendash{}", "…": r"\ldots{}", "μ": r"$\mu$",
        "σ": r"$\sigma$",
    }
)  # fmt: skip

# A minus sign is wider than a hyphen; a hyphen stands between letters, or before one.
MINUS = re.compile(r"(?<![\w.)\]-])-(?=\d)")
# LaTeX makes a dash of two hyphens.
HYPHENS = re.compile(r"-(?=-)")
# Without packages LaTeX knows most letters of European languages, and stops at any others.
UNKNOWN = re.compile(r"[^\x20-\x7e\xa1-\u017f–…μσ]|[«»ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲųſ]")
# What LaTeX would take for an argument of the end of the line before.
ARGUMENT = ("[", "*")
# Letters of a line that fit the page of an article, with two for each space between columns.
LINE = 84


def latex_summary(sections: Sequence[Section]) -> str:
    r"""A text for ``\input`` in a paper's appendix; it needs no package of LaTeX.

    Args:
        sections: what it tells of, in their order.
    """
    lines = [
        r"% Written by matchenv report --latex. In the paper: \input{FILE} where the appendix is.",
        r"\section*{Match-making under uncertain skill: matchenv}",
        r"{\small",
        *(line for section in sections for line in _section(section)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """A text as LaTeX writes it, in one line; letters that it lacks become their numbers."""
    known = UNKNOWN.sub(_named, text).translate(SPECIAL)
    return MINUS.sub("$-$", HYPHENS.sub("-{}", known))


def _section(section: Section) -> Iterator[str]:
    yield rf"\paragraph{{{escaped(section.title)}}} {escaped(section.lead)}"
    seeds = {name: value for name, value in section.settings.items() if name.startswith("seed")}
    about = [f"{name} {value}" for name, value in {**seeds, **section.versions}.items()]
    if about:
        yield escaped(f"({', '.join(about)}.)")
    yield from latex_table(section.summary)


def latex_table(table: Table) -> Iterator[str]:
    """The lines of a table with its title, as LaTeX without packages.

    Columns for which a page is too narrow follow below, beside the first column again.
    """
    cells = table_cells(table.columns, table.rows)
    yield r"\begin{center}\footnotesize"
    yield rf"{escaped(table.title)}\\[2pt]"
    for number, columns in enumerate(_page_widths(cells)):
        if number:
            yield r"\\[4pt]"
        heading, *rows = (_row([line[place] for place in (0, *columns)]) for line in cells)
        yield rf"\begin{{tabular}}{{@{{}}l{'r' * len(columns)}@{{}}}}"
        yield rf"\hline {heading} \hline"
        yield from rows
        yield r"\hline"
        yield r"\end{tabular}"
    yield r"\end{center}"


def _row(cells: Sequence[str]) -> str:
    first = "{}" if cells[0].startswith(ARGUMENT) else ""
    return f"{first}{' & '.join(map(escaped, cells))} " + r"\\"


def _page_widths(cells: Sequence[Sequence[str]]) -> list[list[int]]:
    """The columns behind the first, as many together as a page is wide for."""
    widths = [max(map(len, column)) + 2 for column in zip(*cells, strict=True)]
    blocks: list[list[int]] = [[]]
    for place, width in enumerate(widths[1:], 1):
        if blocks[-1] and widths[0] + sum(widths[each] for each in blocks[-1]) + width > LINE:
            blocks.append([])
        blocks[-1].append(place)
    return blocks


def _named(found: re.Match[str]) -> str:
    letter = found.group()
    return " " if letter.isspace() or ord(letter) < ord(" ") else f"U+{ord(letter):04X}"
