"""Tables for people, read back."""

from __future__ import annotations

from matchenv.evaluation.tables import Column, markdown_table, text_table

COLUMNS = (
    Column("policy", lambda row: row[0]),
    Column("total", lambda row: f"{row[1]:.1f}", 9),
    Column("of a game", lambda row: f"{row[1] / 10.0:.2f}"),
)
ROWS = [("kg", 71.25), ("kg:multiplier=20", -3.0)]


def test_columns_are_aligned() -> None:
    lines = text_table(COLUMNS, ROWS)
    assert len({len(line) for line in lines}) == 1
    assert [line.split() for line in lines[1:]] == [
        ["kg", "71.2", "7.12"], ["kg:multiplier=20", "-3.0", "-0.30"],
    ]  # fmt: skip
    first = len("kg:multiplier=20")
    assert lines[0].startswith("policy ")
    assert all(line[first : first + 2] == "  " for line in lines)
    assert lines[1][first + 2 : first + 11] == "     71.2"


def test_markdown_has_as_many_cells_in_each_line() -> None:
    heading, rule, *lines = markdown_table(COLUMNS, ROWS)
    assert rule == "|---|---|---|"
    assert [cell.strip() for cell in heading.strip("|").split("|")] == [
        column.heading for column in COLUMNS
    ]
    assert [line.strip("| ").split(" | ") for line in lines] == [
        [column.cell(row) for column in COLUMNS] for row in ROWS
    ]


def test_without_rows_there_is_a_heading() -> None:
    assert text_table(COLUMNS, []) == ["policy      total  of a game"]
