"""Content of result files: equal bytes for equal results."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Of a long table, so that its texts do not fill the memory.
ROWS_AT_A_TIME = 20_000


def json_bytes(data: Any) -> bytes:
    """Data as indented JSON: lists for arrays, null for NaN and infinity."""
    return f"{json.dumps(_plain(data), indent=1, allow_nan=False)}\n".encode()


def number(value: float | str | None) -> float:
    """A number of a result file, where NaN is an empty cell or null."""
    return math.nan if value is None or value == "" else float(value)


def versions(*packages: str) -> dict[str, str]:
    """Versions of this package, of what all of it stands on, and of more that had a part."""
    return {name: version(name) for name in ("matchenv", "numpy", "numba", *packages)}


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """A table as CSV; floats as short as they can be read back, nothing for None and NaN."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return buffer.getvalue().encode()


def columns_csv(columns: Mapping[str, NDArray[Any]]) -> bytes:
    """Long columns of equal length as ``csv_bytes`` writes them, in half the time."""
    length = max(column.size for column in columns.values())
    parts = [csv_bytes(list(columns), ())]
    for first in range(0, length, ROWS_AT_A_TIME):
        some = slice(first, first + ROWS_AT_A_TIME)
        texts = [_texts(column[some]) for column in columns.values()]
        lines = map(",".join, zip(*texts, strict=True))
        parts.append(("\n".join(lines) + "\n").encode())
    return b"".join(parts)


def records_csv(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows with the same columns as CSV, at least one; their keys are the header."""
    return csv_bytes(list(records[0]), [list(record.values()) for record in records])


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        return ""
    return repr(float(value)) if isinstance(value, float | np.floating) else value


def _texts(column: NDArray[Any]) -> list[str]:
    """The cells of a column as they stand in a CSV."""
    if column.dtype.kind == "f":
        texts = list(map(repr, column.tolist()))
        for row in np.flatnonzero(~np.isfinite(column)).tolist():
            texts[row] = ""
        return texts
    if column.dtype.kind in "iu":
        return list(map(str, column.tolist()))
    values, which = np.unique(column, return_inverse=True)
    quoted = [csv_bytes([value, ""], ()).decode()[:-2] for value in values.tolist()]
    return [quoted[number] for number in which.tolist()]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
