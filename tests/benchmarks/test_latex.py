"""Tables and texts in LaTeX: any letter, any number of columns."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("plotly")
import pandas as pd

from matchenv.benchmarks.report.page import Block, escaped, latex_table

# A table of many policies, as comparisons have them.
FIRST, WIDE = "middle rank, informative prior", "-10.35 ± 10.48"
MANY = [f"kg:multiplier={number}" for number in range(12)]
TABULAR = re.compile(r"\\begin\{tabular\}\{@\{\}(\w+)@\{\}\}(.*?)\\end", re.DOTALL)


def table(names: list[str], cell: str, first: str = FIRST) -> str:
    row = {"cell": first} | dict.fromkeys(names, cell)
    return latex_table(Block("True q minus that of kg", pd.DataFrame([row, row])))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50 % of a_b & {x}", r"50 \% of a\_b \& \{x\}"),
        ("a\\b", r"a\textbackslash{}b"),
        # A row that begins with either would be read as an option of the line before it.
        ("[a]", "{[}a]"),
        ("*", "{*}"),
        ("#$~^|±", r"\#\$\textasciitilde{}\textasciicircum{}\textbar{}$\pm$"),
        ("-0.3 [-1.2, +0.5]", "$-$0.3 {[}$-$1.2, +0.5]"),
        ("seed 3, ppo-2, 2026-11-22", "seed 3, ppo-2, 2026-11-22"),
    ],
)
def test_letters_that_latex_would_take_otherwise(text: str, expected: str) -> None:
    assert escaped(text) == expected
    assert f"cell & {expected} " in table([text], "1")


def test_columns_too_many_for_a_page_follow_below() -> None:
    parts = TABULAR.findall(table(MANY, WIDE))
    assert len(parts) > 1
    shown: list[str] = []
    for layout, lines in parts:
        heading, *rows = (
            line.removesuffix(r" \\").split(" & ") for line in lines.splitlines() if " & " in line
        )
        assert {len(heading), *map(len, rows)} == {len(layout)}
        assert all(row[0] == FIRST for row in rows)
        shown += heading[1:]
    assert shown == MANY
