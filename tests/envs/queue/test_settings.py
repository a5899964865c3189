"""The queue's settings and populations: what is refused, and what is read from files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.envs.queue.settings import (
    NormalPopulation,
    QueueSettings,
    RatedPopulation,
    population_of,
)


def test_settings_say_what_differs_from_the_defaults() -> None:
    assert QueueSettings(patience=None).patience == math.inf
    assert QueueSettings(patience=math.inf).patience == math.inf
    assert QueueSettings().changed() == {}
    assert QueueSettings(population="normal").changed() == {}
    assert QueueSettings(stay=0.5, population=([1.0], [2.0])).changed() == {
        "stay": 0.5,
        "population": RatedPopulation(np.array([1.0]), np.array([2.0])),
    }
    assert "RatedPopulation of 1 players" in str(
        QueueSettings(population=([1.0], [2.0])).description()["population"]
    )


RATINGS = np.array([21.0, 13.5, 27.0]), np.array([1.0, 4.0, 2.5])


@pytest.mark.parametrize("given", [NormalPopulation(25.0, 8.0, 2.0), RATINGS])
def test_a_population_has_the_moments_of_its_mixture(given: Any) -> None:
    population, rng = population_of(given), np.random.default_rng(1)
    centre, spread, sigma = population.rows[rng.integers(len(population.rows), size=400_000)].T
    skills = centre + spread * rng.standard_normal(centre.size)
    skills += sigma * rng.standard_normal(centre.size)
    error = population.deviation / math.sqrt(skills.size)
    assert skills.mean() == pytest.approx(population.mean, abs=5 * error)
    assert skills.std() == pytest.approx(population.deviation, abs=5 * error)
    with pytest.raises(ValueError, match="regular_deviation"):
        NormalPopulation(0.0, 1.0, 1.0)


def test_a_table_of_ratings(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("Player,Mu,games,Sigma\nada,25.5,3,2.5\nbo,-1e1,0,8\n")
    for given in (path, str(path)):
        population = population_of(given)
        np.testing.assert_array_equal(population.rows, [[25.5, 0.0, 2.5], [-10.0, 0.0, 8.0]])
    assert str(path) in repr(population)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("player,mu\nada,1\n", "no sigma in line 1"),
        ("player,rating\nada,1\n", "no mu and no sigma in line 1"),
        ("mu,sigma\n1,2\nnan,2\n3,1\n", "line 3: mu is 'nan'"),
        ("mu,sigma\n1,inf\n", "line 2: sigma is 'inf'"),
        ("mu,sigma\n1,2\n1,0\n2,-1\n", "line 3: sigma is '0' and 1 more"),
        ("mu,sigma\n1,2\n,2\n", "line 3: mu is ''"),
        ("mu,sigma\n1,2\n\n2,2\n", "line 3: blank line"),
        ("mu,sigma\n1,2,3\n", "line 2: wrong number of columns"),
        ("mu,sigma\nx,2\n1_0,2\n", "line 2: mu is 'x' and 1 more"),
        ("mu,sigma\n", "at least one player"),
        ("", "empty"),
        ("mu,mu\n1,2\n", "names 'mu' twice"),
    ],
)
def test_bad_tables_are_refused_with_their_lines(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match="population") as error:
        population_of(path)
    assert said in str(error.value)
