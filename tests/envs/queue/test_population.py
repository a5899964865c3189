"""Populations of ``MatchmakingQueue-v0``."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refusals

from matchenv.envs.queue.population import NormalPopulation, population_of

RATINGS = (np.array([21.0, 13.5, 27.0]), np.array([1.0, 4.0, 2.5]))


@pytest.mark.parametrize("value", [NormalPopulation(25.0, 8.0, 2.0), RATINGS])
def test_a_population_has_the_moments_of_its_mixture(value: Any) -> None:
    population = population_of(value)
    rng = np.random.default_rng(1)
    rows = population.rows[rng.integers(len(population.rows), size=400_000)]
    centre, spread, sigma = rows.T
    skills = centre + spread * rng.standard_normal(centre.size)
    skills += sigma * rng.standard_normal(centre.size)
    error = population.deviation / math.sqrt(skills.size)
    assert skills.mean() == pytest.approx(population.mean, abs=5 * error)
    assert skills.std() == pytest.approx(population.deviation, abs=5 * error)


def test_beliefs_about_regulars_are_narrower_than_the_population() -> None:
    with pytest.raises(ValueError, match="regular_deviation"):
        NormalPopulation(0.0, 1.0, 1.0)


def test_a_table_of_ratings(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("Player,Mu,games,Sigma\nada,25.5,3,2.5\nbo,-1e1,0,8\n")
    for value in (path, str(path)):
        population = population_of(value)
        np.testing.assert_array_equal(population.rows, [[25.5, 0.0, 2.5], [-10.0, 0.0, 8.0]])
    assert str(path) in repr(population)


test_errors_of_rating_tables_name_the_line = refusals(
    ("player,rating\nada,1\n", "population.*no mu and no sigma in line 1"),
    ("mu,sigma\n1,2\nnan,2\n3,1\n", "population.*line 3: mu is 'nan'"),
    ("mu,sigma\n1,2\n1,0\n2,-1\n", "population.*line 3: sigma is '0' and 1 more"),
    ("mu,sigma\n1,2\n\n2,2\n", "population.*line 3: blank line"),
    ("mu,sigma\n1,2,3\n", "population.*line 2: wrong number of columns"),
    ("mu,sigma\n", "population.*at least one player"),
    ("", "population.*empty"),
    ("mu,mu\n1,2\n", "population.*names 'mu' twice"),
    call=population_of,
    file="ratings.csv",
)
