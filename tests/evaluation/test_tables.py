"""Tables as text and as Markdown."""

import pytest

from matchenv.evaluation.tables import (
    Column,
    as_wide_as_the_terminal,
    markdown_table,
    shortened,
    text_table,
)

COLUMNS = (
    Column("policy", "{policy}"),
    Column("total", "{total:.1f}", 9),
    Column("of a game", lambda row: f"{row['total'] / 10.0:.2f}"),
)
ROWS = [{"policy": "kg", "total": 71.25}, {"policy": "kg:multiplier=20", "total": -3.0}]
CELLS = [["kg", "71.2", "7.12"], ["kg:multiplier=20", "-3.0", "-0.30"]]


def test_columns_of_texts_are_aligned_and_lines_of_markdown_have_equal_cells() -> None:
    lines = text_table(COLUMNS, ROWS)
    assert lines[0] == "policy                total  of a game"
    assert len({len(line) for line in lines}) == 1
    assert [line.split() for line in lines[1:]] == CELLS
    assert text_table(COLUMNS, []) == ["policy      total  of a game"]
    wide = text_table(COLUMNS, [{"policy": "将棋", "total": 71.25}, *ROWS])
    assert wide[1].startswith("将棋" + " " * 12 + "  ")
    assert shortened("a" * 40 + "b" * 40) == "a" * 15 + "…" + "b" * 14
    heading, rule, *lines = markdown_table(COLUMNS, ROWS)
    assert (heading, rule) == ("| policy | total | of a game |", "|---|---|---|")
    assert [line.strip("| ").split(" | ") for line in lines] == CELLS


@pytest.mark.parametrize(("room", "parts"), [(200, 1), (40, 1), (30, 2), (1, 2)])
def test_a_table_wider_than_the_terminal_continues_below(
    room: int, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(room))
    with as_wide_as_the_terminal():
        lines = text_table(COLUMNS, ROWS)
    assert text_table(COLUMNS, ROWS).count("") == 0, "files are the same on every terminal"
    assert lines.count("") == parts - 1
    assert max(map(len, lines)) <= max(room, 27)
    first = [line.split()[0] for line in lines if line]
    assert first == ["policy", "kg", "kg:multiplier=20"] * parts


def test_two_columns_lead_if_only_both_identify_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = [{**row, "cell": cell} for cell in ("top", "middle") for row in ROWS]
    with as_wide_as_the_terminal():
        lines = text_table([Column("cell", "{cell}"), *COLUMNS], rows)
    assert lines[0].startswith("cell    policy            ")
    assert [line.split()[:2] for line in lines[6:]] == [line.split()[:2] for line in lines[:5]]
