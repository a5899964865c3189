"""How far a cloning is: kept beside its weights, so that one that was stopped goes on.

The file holds tensors and JSON; reading it runs nothing that it says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from matchenv.agents.tensor_files import read_tensor_file, write_tensor_file
from matchenv.runtime.files import folder_lock

FILE, HEADER = "progress.safetensors", "matchenv_cloning"
WEIGHTS, MOMENTS = "weights.", "moments."


@dataclass(frozen=True)
class CloningProgress:
    """The folder beside the weights of a cloning that is not finished.

    Attributes:
        folder: where.
        settings: everything that decides the weights, as plain data.
    """

    folder: Path
    settings: Mapping[str, Any]

    def save(
        self,
        number: int,
        student: nn.Module,
        optimiser: torch.optim.Optimizer,
        rng: np.random.Generator,
    ) -> None:
        """Write the state after a round, whole or not at all.

        Args:
            number: of the round.
            student: the network.
            optimiser: of its weights.
            rng: of the order of learning.
        """
        moments = optimiser.state_dict()["state"]
        tensors = {f"{WEIGHTS}{name}": each for name, each in student.state_dict().items()}
        tensors.update(
            {
                f"{MOMENTS}{place}.{name}": each
                for place, row in moments.items()
                for name, each in row.items()
            }
        )
        header = {"settings": self.settings, "round": number, "rng": rng.bit_generator.state}
        arrays = {name: each.detach().cpu().numpy() for name, each in tensors.items()}
        write_tensor_file(self.folder / FILE, HEADER, header, arrays)

    def restore(
        self, student: nn.Module, optimiser: torch.optim.Optimizer, rng: np.random.Generator
    ) -> int:
        """Take up the state that was written last.

        Args:
            student: the network; its weights change.
            optimiser: its moments change.
            rng: its state changes.

        Returns:
            The number of the last finished round; 0 if none was, and then nothing changes.

        Raises:
            ValueError: for a file that is damaged or of a cloning with other settings.
        """
        path = self.folder / FILE
        if not path.exists():
            return 0
        try:
            content = read_tensor_file(path, HEADER)
            if not content.checked:
                raise ValueError("it has no checksum")
            header = content.header
            found, number = header["settings"], int(header["round"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is damaged, delete it: {error}") from None
        differing = [key for key, value in self.settings.items() if found.get(key) != value]
        if differing:
            raise ValueError(
                f"{self.folder} holds a cloning that was stopped, with another "
                f"{', '.join(differing)}; give the same settings, delete it, or name another out"
            )
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, each in content.arrays.items():
            if name.startswith(MOMENTS):
                place, _, what = name.removeprefix(MOMENTS).partition(".")
                moments.setdefault(int(place), {})[what] = torch.from_numpy(each)
        weights = {
            name.removeprefix(WEIGHTS): torch.from_numpy(each)
            for name, each in content.arrays.items()
            if name.startswith(WEIGHTS)
        }
        try:
            rng.bit_generator.state = header["rng"]
            student.load_state_dict(weights)
            optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})
        except (RuntimeError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is damaged, delete it: {error}") from None
        return number

    def remove(self) -> None:
        """Forget the state: the cloning is finished."""
        (self.folder / FILE).unlink(missing_ok=True)


@contextmanager
def cloning_progress(out: Path, settings: Mapping[str, Any]) -> Iterator[CloningProgress]:
    """The progress of the cloning that writes to ``out``, which no other process then does.

    Args:
        out: file of the weights.
        settings: everything that decides them, as plain data.

    Raises:
        ValueError: if another process works on it.
        OSError: if the folder cannot be written.
    """
    folder = out.with_name(f"{out.stem}.progress")
    with folder_lock(folder):
        yield CloningProgress(folder, json.loads(json.dumps(settings)))
    with suppress(OSError):  # it stays while there is something in it
        folder.rmdir()
