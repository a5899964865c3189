"""Dataclasses from plain data: what passes, and that one line says what does not."""

from dataclasses import field
from typing import Any

import numpy as np
import pytest
from pydantic import StrictBool
from pydantic.dataclasses import dataclass

from matchenv.agents.config_file import CLOSED, Count, Number, Positive, Share, Whole, built


@dataclass(frozen=True, config=CLOSED)
class Inner:
    worth: Positive

    def __post_init__(self):
        if self.worth > 100:
            raise ValueError(f"worth must be at most 100, got {self.worth!r}")


@dataclass(frozen=True, config=CLOSED)
class Outer:
    seed: Whole
    rate: Number
    episodes: Count
    inner: Inner
    cells: list[dict[str, Any]] = field(default_factory=list)
    share: Share = 0.5
    name: str | None = None
    quick: StrictBool = False


GOOD = {"seed": 1, "rate": 0.5, "episodes": 2, "inner": {"worth": 3}}


def test_good_values_stay_as_they_are():
    for changes in (
        {"rate": 2, "name": "a", "quick": True, "share": 1},
        {"rate": np.float64(2.0), "seed": np.int64(3), "cells": [{"rank": 3}, {}]},
        {"seed": 10**30, "inner": Inner(4.0)},
    ):
        made = built(Outer, {**GOOD, **changes})
        for name, value in {**GOOD, "inner": Inner(3.0), **changes}.items():
            assert getattr(made, name) == value
            assert not isinstance(getattr(made, name), np.integer)


@pytest.mark.parametrize(
    ("changes", "names", "value"),
    [
        ({"seed": "1"}, "seed must be a valid integer", "'1'"),
        ({"seed": 1.5}, "seed must be a valid integer", "1.5"),
        ({"seed": True}, "seed must be a valid integer", "True"),
        ({"rate": "1e-3"}, "rate must be a valid number", "'1e-3'"),
        ({"rate": float("nan")}, "rate must be a finite number", "nan"),
        ({"episodes": 0}, "episodes must be greater than or equal to 1", "0"),
        ({"share": 1.5}, "share must be less than or equal to 1", "1.5"),
        ({"quick": "yes"}, "quick must be a valid boolean", "'yes'"),
        ({"cells": [{}, "a\nb"]}, "cells.1 must be a valid dictionary", r"'a\nb'"),
        ({"inner": {"worth": 0.0}}, "inner.worth must be greater than 0", "0.0"),
        ({"inner": {"worth": 101.0}}, "worth must be at most 100", "101.0"),
        ({"inner": 3}, "inner must be a mapping", "3"),
        ({"inner": {"worth": 1.0, "x": 2}}, "it must have the entries seed, ", "'inner.x'"),
        ({"gama": 1}, "it must have the entries seed, rate, episodes, ", "'gama'"),
    ],
)
def test_one_line_names_the_entry_its_value_and_what_is_allowed(changes, names, value):
    with pytest.raises(ValueError, match=r"must (be|have)") as error:
        built(Outer, {**GOOD, **changes}, "it")
    said = str(error.value)
    assert said.startswith(names)
    assert f"got {value}" in said
    assert "\n" not in said


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match=r"the entries seed, .*; rate is missing"):
        built(Outer, {name: value for name, value in GOOD.items() if name != "rate"})
    with pytest.raises(ValueError, match="it must be a mapping, got"):
        built(Outer, [1], "it")
