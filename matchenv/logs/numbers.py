"""Numbers in the cells of a log."""

from __future__ import annotations

from typing import Any

import pandas as pd

from matchenv.trueskill.sides import LARGEST_WEIGHT

# Cells without a value, in lower case. ``\N`` is that of MySQL.
MISSING = ("", "na", "n/a", "null", "none", "\\n")
# Range of plausible numbers of each role. Scores are summed as floats.
LARGEST = 2**62
RANGES = {
    "rank": (-LARGEST, LARGEST),
    "team_score": (-LARGEST, LARGEST),
    "time": (-LARGEST, LARGEST),
    "score": (-(2**53), 2**53),
    "weight": (0, int(LARGEST_WEIGHT)),
    "partial_play": (0, LARGEST),
}
THOUSANDS = r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?"


def numbers_of(texts: pd.Series[Any], role: str) -> pd.Series[Any]:
    """Return numbers, NA for other texts and for numbers outside the role's range.

    Commas separate thousands if three digits follow each of them in all texts, as in 1,024, and
    are decimal commas otherwise.

    Args:
        texts: distinct texts of a column, without blanks at their ends.
        role: role of the column.
    """
    with_comma = texts[texts.str.fullmatch(r"[-+.,\d]*,[-+.,\d]*").astype(bool)]
    thousands = with_comma.str.fullmatch(THOUSANDS).astype(bool)
    if thousands.all():
        plain = texts.str.replace(",", "")
    else:  # 1,024 beside 1,5 could be either
        plain = texts.drop(thousands.index[thousands]).str.replace(",", ".")
    # Without other texts, since integers beside them would be converted to floats.
    plain = plain[plain.str.fullmatch(r"[-+.\deE]+").fillna(False).astype(bool)]
    found = pd.to_numeric(plain, errors="coerce", dtype_backend="numpy_nullable")
    return found.where(found.between(*RANGES[role]).fillna(False)).reindex(texts.index)
