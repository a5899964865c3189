"""Options of a ``Ranker`` and their checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from matchenv.envs.ranking import BEST, GOALS, MOST_ITEMS, ORDER, TOP
from matchenv.ranking.model import SIGMA_PRIOR, Model
from matchenv.ranking.sparse import MOST_LEADERS, MOST_SPARSE_ITEMS
from matchenv.runtime.checks import (
    as_choice,
    as_integer,
    as_non_negative_number,
    as_positive_number,
    refusal,
)

OPTIONS = ("beta", "sigma", "draw_margin", "first_advantage", "goal", "k", "seed")

# With more items than this, goals ``top`` and ``best`` use the sparse belief.
DENSE_ITEMS = 2_000


def checked_options(options: Mapping[str, Any], num_items: int) -> dict[str, Any]:
    """Return the options of a ``Ranker`` after checks.

    Raises:
        ValueError: for a bad option; the message names it.
    """
    goal = as_choice("goal", options["goal"], GOALS)
    k = options["k"]
    if goal == TOP and k is None:
        raise ValueError("k must be given with goal='top', got None")
    if k is not None:
        k = as_integer("k", k, 1)
    if k is not None and k >= num_items:
        raise ValueError(f"k must be below the number of items, {num_items}, got {k!r}")
    if goal == BEST and k not in (None, 1):
        raise ValueError(f"k must be 1 with goal='best', got {k!r}")
    most = MOST_ITEMS if goal == ORDER else MOST_SPARSE_ITEMS
    if num_items > most:
        raise ValueError(f"items must be at most {most:,} with goal={goal!r}, got {num_items:,}")
    if goal == TOP and num_items > DENSE_ITEMS and k > MOST_LEADERS:
        rule = f"k must be at most {MOST_LEADERS} with more than {DENSE_ITEMS:,} items"
        raise refusal(rule, k)
    checked = dict(options)
    checked["goal"] = goal
    checked["k"] = k
    checked["seed"] = as_integer("seed", options["seed"], 0, 2**63 - 1)
    for name in ("beta", "sigma"):
        if options[name] is not None or name == "beta":
            checked[name] = as_positive_number(name, options[name])
    for name in ("draw_margin", "first_advantage"):
        if options[name] is not None or name == "first_advantage":
            checked[name] = as_non_negative_number(name, options[name])
    first_model(checked)
    return checked


def first_model(options: Mapping[str, Any]) -> Model:
    """Return the model before any estimate.

    Raises:
        ValueError: for values that do not go together.
    """
    beta = options["beta"]
    sigma = options["sigma"]
    if sigma is None:
        sigma = beta * math.exp(SIGMA_PRIOR[0])
    margin = options["draw_margin"]
    return Model(beta, sigma, 0.0 if margin is None else margin, options["first_advantage"])
