"""Logs are read a piece at a time: it makes no difference, but for the memory that it takes."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchenv.csv_log import lines, table
from matchenv.csv_log.bad_rows import BadLogError, BadRows
from matchenv.csv_log.reader import read_log
from matchenv.csv_log.settings import ReadingSettings

MEGABYTE = 1_000_000
HEADER = b"game,player,score\n"
ENCODINGS = ("utf-8", "utf-16", "utf-32", "utf-16-le", "utf-7", "shift_jis", "ascii")

texts = st.text(st.sampled_from('\n\r\v\x1f ,"aé漢🂡'), max_size=60)
sizes = st.integers(4, 9)


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[k : k + size] for k in range(0, len(data), size)]


def encoded(text: str, encoding: str) -> bytes:
    return text.encode(encoding, errors="replace")


@given(texts, sizes, st.sampled_from(ENCODINGS))
def test_pieces_give_the_lines_of_the_whole(text: str, size: int, encoding: str) -> None:
    data = encoded(text, encoding)
    found: list[str] = []
    for part in lines.whole_lines(lines.decoded(in_pieces(data, size), encoding)):
        assert isinstance(part, str)
        found += part.split("\n")
    right = data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while right and not right[-1].strip():
        right.pop()
    assert [line if line.strip() else "" for line in found] == [
        line if line.strip() else "" for line in right
    ]


@given(st.binary(max_size=40), texts, sizes, st.sampled_from(ENCODINGS))
def test_pieces_give_the_same_table_and_the_same_complaint(
    odd: bytes, text: str, size: int, encoding: str
) -> None:
    data = encoded("game,player\n", encoding) + odd + encoded(text, encoding)

    def found(pieces: list[bytes]) -> object:
        bad_rows = BadRows()
        try:
            return table.read_table(pieces, encoding, bad_rows), bad_rows.sorted()
        except BadLogError as error:
            return str(error)

    assert found(in_pieces(data, size)) == found([data])


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-16-le", "shift_jis"])
def test_what_is_not_in_the_encoding_has_its_place_in_the_file(encoding: str) -> None:
    data = encoded("game,player,score\n" * 40, encoding) + b"\x81"
    with pytest.raises(UnicodeDecodeError) as whole:
        data.decode(encoding)
    with pytest.raises(BadLogError, match=f"byte 0x81 in position {whole.value.start}: "):
        list(lines.decoded(in_pieces(data, 7), encoding))


def test_a_line_that_is_too_long_comes_with_its_beginning_and_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 20)
    long, longer = "x" * 20, "y" * 33
    parts = list(lines.whole_lines(list(f"a\n{long}\n{' ' * 50}\n{longer}\nb\n{' ' * 50}")))
    assert parts[-2:] == [lines.LongLine("y" * 20, 33), "b"]
    assert "\n".join(part for part in parts[:-2] if isinstance(part, str)) == f"a\n{long}\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (lambda: b"\n" * MEGABYTE, "no game to rate"),
        (lambda: b" " * MEGABYTE, "no game to rate"),
        (lambda: b"x" * MEGABYTE, "line too long"),
    ],
    ids=["blank lines", "one blank line", "one line"],
)
def test_what_holds_no_rows_takes_no_memory(
    rows: Callable[[], bytes], message: str, tmp_path: Path
) -> None:
    """A hundred megabytes of it, in a file of a hundred kilobytes."""
    path = tmp_path / "log.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(HEADER)
        for _ in range(100):
            file.write(rows())
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    try:
        with pytest.raises(BadLogError, match=message):
            read_log(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 20 * MEGABYTE


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="has no such device")
def test_what_has_no_end_meets_the_limit() -> None:
    with pytest.raises(BadLogError, match="it is more than 2 MB; --max-megabytes allows more"):
        read_log(Path("/dev/zero"), ReadingSettings(max_megabytes=2))
