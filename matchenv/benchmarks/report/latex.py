"""LaTeX summaries of reports."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from matchenv.benchmarks.report.page import Block, Section

SPECIAL = str.maketrans(
    {
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
        # At the start of a row LaTeX reads these as an argument of the preceding line break.
        "[": "{[}",
        "*": "{*}",
    }
)
MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")  # a hyphen before a number, but not inside a name
SPACE = 2  # width of the space between columns, in characters
LINE = 84  # characters that fit on a line of an article, spaces between columns included


def latex_summary(sections: Sequence[Section]) -> str:
    r"""Return LaTeX for ``\input`` in a paper's appendix: the first table of each section."""
    lines = [
        r"% Written by matchenv report --latex. It needs \usepackage{booktabs}.",
        r"\section*{Match-making under uncertain skill: matchenv}",
        r"{\small",
    ]
    for section in sections:
        lines.append(rf"\paragraph{{{escaped(section.title)}}} {escaped(section.lead)}")
        about = {**section.settings, **(section.versions or {})}
        lines.append(escaped(", ".join(f"{name} {value}" for name, value in about.items())))
        label = re.sub(r"[^\w-]+", "-", section.title)
        lines.append(latex_table(_first_table(section), label))
    lines.append("}")
    return "\n".join(lines) + "\n"


def _first_table(section: Section) -> Block:
    return next(block for block in section.blocks if isinstance(block.content, pd.DataFrame))


def latex_table(block: Block, label: str = "results") -> str:
    """Return a table in LaTeX with booktabs, captioned with title and note, labelled ``tab:LABEL``.

    Columns that do not fit on the page follow below, with the first column repeated.
    """
    table = block.content
    assert isinstance(table, pd.DataFrame)
    # Duplicate headings are passed as an argument, which pandas reads as format strings.
    headings = [re.sub("[{}]", r"\g<0>\g<0>", escaped(str(name))) for name in table]
    cells = table.set_axis(range(len(headings)), axis=1).map(escaped)
    tables = []
    for group in _groups_of_columns(table):
        layout = "l" + "r" * (len(group) - 1)
        tables.append(
            cells[group].to_latex(
                index=False,
                escape=False,
                header=[headings[column] for column in group],
                column_format=f"@{{}}{layout}@{{}}",
            )
        )
    caption = block.title
    if block.note:
        caption += f". {block.note}"
    lines = [
        r"\begin{table}[htbp]\centering\footnotesize",
        rf"\caption{{{escaped(caption)}}}\label{{tab:{label}}}",
        "\\\\[4pt]\n".join(tables) + r"\end{table}",
    ]
    return "\n".join(lines)


def _groups_of_columns(table: pd.DataFrame) -> list[list[int]]:
    """Return the columns of each part of a table, so that each fits on a line.

    Every part begins with the first column.
    """
    widths = []
    for name, column in table.items():
        cells = [str(name), *column]
        widths.append(SPACE + max(map(len, cells)))
    groups = [[0]]
    used = widths[0]
    for column, width in enumerate(widths[1:], 1):
        if len(groups[-1]) > 1 and used + width > LINE:
            groups.append([0])
            used = widths[0]
        groups[-1].append(column)
        used += width
    return groups


def escaped(text: str) -> str:
    """Escape a text for LaTeX."""
    return MINUS.sub("$-$", text.translate(SPECIAL))
