"""Tables and texts in LaTeX: any letter, any number of columns; typeset where there is LaTeX."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import pytest

pytest.importorskip("plotly")
from matchenv.benchmarks.report.latex import escaped, latex_table
from matchenv.benchmarks.report.section import Table
from matchenv.evaluation.tables import Column

# A table of many policies, as comparisons have them.
FIRST, WIDE = "middle rank, informative prior", "-10.35 ± 10.48"
MANY = [f"kg:multiplier={number}" for number in range(12)]
Complaints = Callable[[str], list[str]]
TABULAR = re.compile(r"\\begin\{tabular\}\{@\{\}(\w+)@\{\}\}(.*?)\\end", re.DOTALL)


def table(names: list[str], cell: str, first: str = FIRST) -> str:
    def of(text: str) -> Callable[[object], str]:
        return lambda row: text

    columns = [Column("cell", of(first)), *(Column(name, of(cell)) for name in names)]
    return "\n".join(latex_table(Table("True q less that of kg", columns, [0, 1])))


def test_special_letters_are_escaped() -> None:
    assert escaped("50 % of a_b & {x}") == r"50 \% of a\_b \& \{x\}"
    assert escaped("a\\b") == r"a\textbackslash{}b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-0.3 [-1.2, +0.5]", "$-$0.3 [$-$1.2, +0.5]"),
        ("--seed 3, ppo-2, 2026-11-22", "-{}-seed 3, ppo-2, 2026-11-22"),
        ("棋\n譜", "U+68CB U+8B5C"),
        ("a\tb\rc\x00", "a b c "),
    ],
)
def test_signs_and_letters_that_latex_would_take_otherwise(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_every_letter_can_be_typeset(latex_complaints: Complaints) -> None:
    letters = [chr(number) for number in (*range(0x250), 0x3BC, 0x3C3, 0x2013, 0x2026, 0x1F600)]
    assert not latex_complaints("\n\n".join(escaped(each * 2) for each in letters))


def test_no_letter_is_left_for_latex_to_read() -> None:
    every = "".join(map(chr, range(32, sys.maxunicode, 97)))
    assert escaped(every).isprintable()


@pytest.mark.parametrize("first", ["[a]", "*", "a & b \\\\", "{", "-1"])
def test_a_row_may_begin_with_anything(first: str, latex_complaints: Complaints) -> None:
    assert not latex_complaints(table(["kg"], "-0.1", first))


def test_columns_too_many_for_a_page_follow_below() -> None:
    parts = TABULAR.findall(table(MANY, WIDE))
    assert len(parts) > 1
    shown: list[str] = []
    for layout, lines in parts:
        heading, *rows = (line.split(" & ") for line in lines.splitlines() if " & " in line)
        assert {len(heading), *map(len, rows)} == {len(layout)}
        assert all(row[0] == FIRST for row in rows)
        shown += [cell.removesuffix(r" \\ \hline") for cell in heading[1:]]
    assert shown == MANY


def test_columns_too_many_for_a_page_fit_it(latex_complaints: Complaints) -> None:
    assert not latex_complaints(table(MANY, WIDE))
