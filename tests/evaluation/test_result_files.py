"""Result files that anyone can read."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from matchenv.runtime.files import columns_csv, npz_bytes


def test_arrays_come_back_and_nothing_else() -> None:
    arrays = {"numbers": np.arange(6.0).reshape(2, 3), "texts": np.array(["pe", "kg"])}
    read = np.load(io.BytesIO(npz_bytes(arrays)), allow_pickle=False)
    assert set(read.files) == {*arrays, "checksum"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)


def test_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="things must hold numbers or texts, got object"):
        npz_bytes({"things": np.array([{}])})


@pytest.mark.parametrize("length", [0, 1, 20_001])
def test_columns_are_what_a_csv_reader_reads(length: int) -> None:
    draw = np.random.default_rng(3)
    texts = np.array(["PE", "KG, 0.99", 'a "good" one', "two\nlines", ""])
    numbers = draw.normal(size=length) * 10.0 ** draw.integers(-300, 300, length)
    numbers[:1] = np.nan
    columns = {
        "policy, by name": draw.choice(texts, length),
        "seed": draw.integers(0, 2**64, length, dtype=np.uint64),
        "q": numbers,
    }
    header, *rows = csv.reader(io.StringIO(columns_csv(columns).decode(), newline=""))
    assert header == list(columns)
    assert [row[0] for row in rows] == columns["policy, by name"].tolist()
    assert [int(row[1]) for row in rows] == columns["seed"].tolist()
    read = np.array([float(row[2] or "nan") for row in rows])
    np.testing.assert_array_equal(read, numbers)
