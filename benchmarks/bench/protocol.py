"""Episodes of ``matchenv-bench-v1``. Nothing here may change: another protocol has another name."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import product
from typing import Any

from matchenv.envs.one_player.settings import Settings
from matchenv.runtime.files import checksum, parsed_json

NAME = "matchenv-bench-v1"

# Public: decides all instances and all luck.
SEED = 20110613
# Of each family. One block, so that a stochastic policy has one stream in a family.
EPISODES = 100

RANKS = ("top", "middle")
PRIORS = ("informative", "equal")
OPPONENTS = (9, 49, 199)
GAMES = (50, 500)

# Beside the main families, each at both ranks with 49 opponents and 500 games.
VARIANTS: dict[str, dict[str, Any]] = {
    "matching": {"prior": "equal", "equal_variance": "matching"},
    "draws": {"draw_margin": 0.5},
    "drift": {"tau": 0.1},
    "pool": {"availability": 0.5, "mean_stay": 20.0, "turnover": 0.002},
}

# A family counts in the score if its mark is at least so many standard errors above DrawChance, so
# that the mark's own error moves the family's score by a fifth at most (one standard error).
LEAST_ERRORS = 5.0


@dataclass(frozen=True)
class Mark:
    """Mark that counts as 1 in a main family: the upper bound of any policy above DrawChance.

    Attributes:
        bound: mean total of true q that no policy exceeds.
        drawchance: DrawChance's mean total, on the same sample paths.
        difference: bound minus DrawChance, paired, luck of known mean subtracted.
        standard_error: of the difference.
        paths: sample paths that it was computed from.
    """

    bound: float
    drawchance: float
    difference: float
    standard_error: float
    paths: int

    @property
    def counts(self) -> bool:
        """True if the mark is known well enough for the score."""
        return self.difference >= LEAST_ERRORS * self.standard_error

    @property
    def text(self) -> str:
        """The difference with its error, and whether it does not count."""
        found = f"{self.difference:.2f} +- {self.standard_error:.2f}"
        return found if self.counts else f"{found}, does not count"


def read_marks() -> dict[str, Mark]:
    """Return the marks by family, as ``matchenv bound --marks`` of 0.1.0 wrote them."""
    content = files("matchenv.benchmarks.bench").joinpath("bounds.json").read_bytes()
    return {name: Mark(**said) for name, said in parsed_json(content)["families"].items()}


@dataclass(frozen=True)
class Family:
    """Episodes of one kind.

    Attributes:
        number: its place, from 0, which decides its seeds.
        name: such as ``top_informative_49_500`` or ``middle_drift``.
        settings: of the environment.
        mark: what counts as 1, of a main family. No bound is known for the variants: there the
            oracle counts as 1, in a score apart.
    """

    number: int
    name: str
    settings: Settings
    mark: Mark | None = None


def _families() -> tuple[Family, ...]:
    kinds: dict[str, dict[str, Any]] = {
        f"{rank}_{prior}_{opponents}_{games}":
            {"rank": rank, "prior": prior, "num_opponents": opponents, "horizon": games}
        for rank, prior, opponents, games in product(RANKS, PRIORS, OPPONENTS, GAMES)
    }  # fmt: skip
    for (variant, options), rank in product(VARIANTS.items(), RANKS):
        kinds[f"{rank}_{variant}"] = {"rank": rank, **options}
    beta, marks = math.sqrt(2.5), read_marks()
    return tuple(
        Family(number, name, Settings.checked(beta=beta, noise="opponent", **options),
               marks.get(name))
        for number, (name, options) in enumerate(kinds.items())
    )  # fmt: skip


FAMILIES = _families()


def protocol_digest() -> str:
    """Return a digest of all that the protocol fixes."""
    families = {family.name: family.settings.description() for family in FAMILIES}
    marks = {family.name: asdict(family.mark) for family in FAMILIES if family.mark is not None}
    said = {"name": NAME, "seed": SEED, "episodes": EPISODES, "families": families, "marks": marks}
    return checksum({**said, "least_errors": LEAST_ERRORS})
