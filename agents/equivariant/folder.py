"""The folder of the trainings of the equivariant policy, one for all seeds.

Every file is written in one step. A training that was stopped goes on from its last generation
and ends with the same files. No file holds code.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.agents.config_file import read_config, yaml_text
from matchenv.agents.equivariant.evolution import Generation
from matchenv.agents.equivariant.network import EquivariantNetwork
from matchenv.agents.equivariant.policy import description_of, new_equivariant_policy
from matchenv.agents.equivariant.training import EquivariantConfig
from matchenv.agents.policy_file import save_policy
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import (
    checksum,
    json_bytes,
    npz_bytes,
    parsed_json,
    read_npz,
    write_bytes,
    write_text,
)
from matchenv.runtime.provenance import provenance

Floats = NDArray[np.float64]

PACKAGE_CONFIG = "equivariant.yml"
ROWS = ("centre", "average", "direction")
CHECKSUM = "sha256"


def read_equivariant_config(path: Path | None = None) -> EquivariantConfig:
    """The configuration in a YAML file; None reads the package's own.

    Raises:
        ValueError: for a file that is missing or damaged, or a bad value.
    """
    return read_config(EquivariantConfig, PACKAGE_CONFIG, path)


@dataclass(frozen=True)
class EquivariantFolder:
    """The folder of one configuration's trainings.

    Attributes:
        path: the folder.
        config: of all trainings in it.
    """

    path: Path
    config: EquivariantConfig

    def open(self) -> None:
        """Make the folder, or see that it holds trainings of this configuration.

        Raises:
            ValueError: if it holds those of another.
        """
        file, made = self.path / "config.yml", self.path / "made_with.json"
        if not file.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_bytes(made, json_bytes(provenance()))
            write_text(file, yaml_text(asdict(self.config)))
            return
        theirs = {**_read(made), **asdict(read_equivariant_config(file))}
        for name, value in {**provenance(), **asdict(self.config)}.items():
            if theirs.get(name) != value:
                raise ValueError(
                    f"out must be a new folder or one with the same settings and versions: "
                    f"{self.path} holds trainings with {name} {theirs.get(name)!r}, not {value!r}"
                )

    def save_generation(self, seed: int, generation: Generation) -> None:
        """Keep the state of a search."""
        content = asdict(generation)
        content.update({name: content[name].tolist() for name in ROWS})
        content[CHECKSUM] = checksum(content)
        write_text(self._search_file(seed), json.dumps(content) + "\n")

    def last_generation(self, seed: int) -> Generation | None:
        """The state that a search was left in, None if it has not begun.

        Raises:
            ValueError: if its file is damaged.
        """
        file = self._search_file(seed)
        if not file.exists():
            return None
        try:
            content = parsed_json(file.read_bytes())
            if content.pop(CHECKSUM) != checksum(content):
                raise ValueError("its checksum does not fit")
            rows = {name: np.array(content[name], dtype=np.float64) for name in ROWS}
            generation = Generation(**{**content, **rows})
            as_integer("number", generation.number, 1, self.config.generations)
            numbers = np.concatenate([*rows.values(), [generation.scale, generation.spread]])
            if not np.isfinite(numbers).all():
                raise ValueError("its numbers are not all finite")
            # Only a generator of this kind takes the state.
            np.random.default_rng(seed).bit_generator.state = generation.generator
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"the search in {file} is damaged: {error}; remove it") from None
        return generation

    def _search_file(self, seed: int) -> Path:
        return self.path / f"search-{seed_name(seed)}.json"

    def save_network(self, name: str, network: EquivariantNetwork) -> None:
        """Keep a network as a policy that ``matchenv.agents.load`` reads."""
        save_policy(
            self.policy_file(name),
            new_equivariant_policy(self.config.env_kwargs, network),
            description_of(self.config.env_kwargs),
        )

    def policy_file(self, name: str) -> Path:
        """The policy of that name: the start or a seed's."""
        return self.path / f"policy-{name}.safetensors"

    def keep(self, name: str) -> None:
        """Make the policy of that name the folder's ``policy.safetensors``."""
        write_bytes(self.path / "policy.safetensors", self.policy_file(name).read_bytes())

    def save_totals(self, totals: dict[str, Floats]) -> None:
        """Keep the totals on the validation seeds, by name of the policy."""
        write_bytes(self._totals_file, npz_bytes(totals))

    def totals(self) -> dict[str, Floats]:
        """The totals kept so far.

        Raises:
            ValueError: if their file is damaged.
        """
        if not self._totals_file.exists():
            return {}
        try:
            return read_npz(self._totals_file, None)
        except ValueError as error:
            raise ValueError(f"{error}; remove the file") from None

    @property
    def _totals_file(self) -> Path:
        return self.path / "validation.npz"

    def save_report(self, report: dict[str, Any]) -> None:
        """Write what the validation says."""
        write_text(self.path / "validation.json", json.dumps(report, indent=2) + "\n")


def seed_name(seed: int) -> str:
    """The name of the policy that was trained with a seed."""
    return f"seed{seed}"


def _read(made: Path) -> dict[str, Any]:
    try:
        content = json.loads(made.read_text("utf-8"))
    except (OSError, ValueError):
        content = None
    return content if isinstance(content, dict) else {}
