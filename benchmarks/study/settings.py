"""Everything that decides what a study finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from matchenv.benchmarks.compare.contestants import Contestant, contestants_of
from matchenv.benchmarks.study.cells import CELLS, Cell
from matchenv.priors import EQUAL_VARIANCES
from matchenv.settings import Settings
from matchenv.validation import as_choice, as_integer

PAPER_POLICIES = ("pe", "drawchance", "kg")
EQUATIONS = ("correct", "printed")

# Seeds of the report and of the tuning never meet, whatever number the user gives.
REPORT, TUNING = range(2)

# A block is what a killed study loses; its size is part of the results, since policies that
# draw lots draw them for a block.
LARGEST_BLOCK = 250
LARGEST_BLOCK_PLAYERS = 4_000_000
LARGEST_BLOCK_GAMES = 500_000


@dataclass(frozen=True)
class StudySettings:
    """Settings of a study; build it with ``StudySettings.checked``.

    Attributes:
        policies: names, folders of runs, or names of trained agents.
        paths: sets of true skills for each prior, >= 2.
        horizon: games with each.
        opponents: M.
        priors: draws of the prior; the paper has one.
        seed: decides all priors, skills, noise and lots.
        equations: ``"correct"``, or ``"printed"`` with the paper's misprints.
        equal_variance: of equal priors, as the environment's argument.
        cells: names of cells.
        stream: ``REPORT`` or ``TUNING``.
    """

    policies: tuple[str, ...]
    paths: int
    horizon: int
    opponents: int
    priors: int
    seed: int
    equations: str
    equal_variance: str
    cells: tuple[str, ...]
    stream: int = REPORT

    @classmethod
    def checked(
        cls,
        *,
        policies: Sequence[str] = PAPER_POLICIES,
        paths: Any = 10_000,
        horizon: Any = 500,
        opponents: Any = 49,
        priors: Any = 1,
        seed: Any = 0,
        equations: Any = "correct",
        equal_variance: Any = "paper",
        cells: Sequence[str] | None = None,
        stream: int = REPORT,
    ) -> StudySettings:
        """Settings from what a user typed.

        Raises:
            ValueError: for a value that is not allowed, or a policy that cannot play.
        """
        known = [cell.name for cell in CELLS]
        names = known if cells is None else [as_choice("cells", name, known) for name in cells]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"cells must name each cell once, got {cells!r}")
        settings = cls(
            policies=(),
            paths=as_integer("paths", paths, 2),
            horizon=as_integer("horizon", horizon, 1),
            opponents=as_integer("opponents", opponents, 1),
            priors=as_integer("priors", priors, 1),
            seed=as_integer("seed", seed, 0),
            equations=as_choice("equations", equations, EQUATIONS),
            equal_variance=as_choice("equal_variance", equal_variance, EQUAL_VARIANCES),
            cells=tuple(names),
            stream=stream,
        )
        labels = tuple(each.label for each in asked_contestants(policies, settings.game))
        return cls(**{**asdict(settings), "policies": labels})

    @property
    def game(self) -> Settings:
        """The settings of the environment that all cells share."""
        return Settings.checked(
            num_opponents=self.opponents,
            horizon=self.horizon,
            equal_variance=self.equal_variance,
        )

    @property
    def chosen_cells(self) -> tuple[Cell, ...]:
        """The cells themselves, in the paper's order."""
        return tuple(cell for cell in CELLS if cell.name in self.cells)

    @property
    def block_size(self) -> int:
        """Paths in a block: fewer where players or games would fill the memory."""
        return max(
            1,
            min(
                LARGEST_BLOCK,
                LARGEST_BLOCK_PLAYERS // (self.opponents + 1),
                LARGEST_BLOCK_GAMES // self.horizon,
            ),
        )

    @property
    def contestants(self) -> tuple[Contestant, ...]:
        """The policies, as ``policy_of`` takes them."""
        return tuple(Contestant(label, label) for label in self.policies)


def asked_contestants(policies: Sequence[str], game: Settings) -> tuple[Contestant, ...]:
    """The policies that were asked for, checked and labelled."""
    if isinstance(policies, str) or not policies:
        raise ValueError(f"policies must be a list of at least one, got {policies!r}")
    for policy in policies:
        if not isinstance(policy, str):
            raise ValueError(f"policies must be names or folders, got {policy!r}")
    return contestants_of(policies, policies[0], game)[: len(policies)]
