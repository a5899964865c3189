"""The page of an appendix: what was done, with which settings, and the main numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matchenv.benchmarks.report.section import Section, Table
from matchenv.evaluation.tables import table_cells

SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
        "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$",
        "–": "--", "…": r"\ldots{}", "μ": r"$\mu$", "σ": r"$\sigma$",
    }
)  # fmt: skip


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
    """A text as LaTeX writes it."""
    return text.translate(SPECIAL)


def _section(section: Section) -> Iterator[str]:
    yield rf"\paragraph{{{escaped(section.title)}}} {escaped(section.lead)}"
    seeds = {name: value for name, value in section.settings.items() if name.startswith("seed")}
    about = [f"{name} {value}" for name, value in {**seeds, **section.versions}.items()]
    if about:
        yield escaped(f"({', '.join(about)}.)")
    yield from latex_table(section.summary)


def latex_table(table: Table) -> Iterator[str]:
    """The lines of a table with its title, as LaTeX without packages."""
    heading, *rows = (
        " & ".join(map(escaped, line)) + r" \\" for line in table_cells(table.columns, table.rows)
    )
    yield r"\begin{center}\footnotesize"
    yield rf"{escaped(table.title)}\\[2pt]"
    yield rf"\begin{{tabular}}{{@{{}}l{'r' * (len(table.columns) - 1)}@{{}}}}"
    yield rf"\hline {heading} \hline"
    yield from rows
    yield r"\hline"
    yield r"\end{tabular}"
    yield r"\end{center}"
