"""Result files that anyone can read."""

from __future__ import annotations

import io

import numpy as np
import pytest

from matchenv.evaluation.result_files import npz_bytes


def test_arrays_come_back_and_nothing_else() -> None:
    arrays = {"numbers": np.arange(6.0).reshape(2, 3), "texts": np.array(["pe", "kg"])}
    read = np.load(io.BytesIO(npz_bytes(arrays)), allow_pickle=False)
    assert set(read.files) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)


def test_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="things must hold numbers or texts, got object"):
        npz_bytes({"things": np.array([{}])})
