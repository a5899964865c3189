"""The folder of a study: its settings, its finished blocks, its results."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from matchenv.atomic_files import remove_unfinished, write_bytes
from matchenv.benchmarks.study.blocks import Job, Sums
from matchenv.benchmarks.study.settings import StudySettings
from matchenv.evaluation.result_files import json_bytes, npz_bytes

# Raised when blocks mean something else than before.
FORMAT = 1
BLOCKS = "blocks"


class Store:
    """Finished blocks of a study on disk.

    Args:
        folder: made if it does not exist.
        settings: of the study.

    Raises:
        ValueError: for a folder with the blocks of other settings; says which differ.
        OSError: for a folder that cannot be written.
    """

    def __init__(self, folder: Path, settings: StudySettings) -> None:
        self.folder = folder
        self._settings = folder / "settings.json"
        self._check(settings)
        blocks = folder / BLOCKS
        blocks.mkdir(parents=True, exist_ok=True)
        remove_unfinished(blocks)
        write_bytes(self._settings, json_bytes(described(settings)))

    def path(self, job: Job) -> Path:
        """The file of a block."""
        return block_path(self.folder, job)

    def has(self, job: Job) -> bool:
        """Whether a block is finished; files appear under their names only when whole."""
        return self.path(job).exists()

    def load(self, job: Job) -> Sums:
        """A finished block.

        Raises:
            ValueError: for a file that is no block of this study; delete it to have the
                block played again.
        """
        path = self.path(job)
        try:
            with np.load(path, allow_pickle=False) as file:
                sums = Sums(int(file["paths"]), file["curves"], file["windows"], file["pairs"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is damaged, delete it: {error}") from None
        expected = (len(job.settings.policies), job.settings.horizon)
        if sums.paths != job.count or (sums.curves.shape[0], sums.curves.shape[2]) != expected:
            raise ValueError(f"{path} is no block of this study, delete it")
        return sums

    def write(self, name: str, content: bytes) -> None:
        """Write a result, in a folder of its own if the name has one."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)

    def _check(self, settings: StudySettings) -> None:
        try:
            known = json.loads(self._settings.read_text(encoding="utf-8"))
        except FileNotFoundError:
            if self.folder.exists() and any(self.folder.iterdir()):
                raise ValueError(
                    f"out must be a new folder or that of a study, got {self.folder} "
                    "with other files in it"
                ) from None
            return
        except (UnicodeDecodeError, json.JSONDecodeError):
            raise ValueError(f"{self._settings} is damaged; give another folder") from None
        except NotADirectoryError:
            raise ValueError(f"out must be a folder, got {self.folder}") from None
        wanted = described(settings)
        found = known if isinstance(known, dict) else {}
        differing = [
            f"{key} was {found.get(key)!r} and is {wanted.get(key)!r}"
            for key in sorted(found.keys() | wanted.keys())
            if found.get(key) != wanted.get(key)
        ]
        if differing:
            raise ValueError(
                f"out holds a study with other settings: {'; '.join(differing)}; "
                f"give those again or another folder than {os.fspath(self.folder)}"
            )


def described(settings: StudySettings) -> dict[str, Any]:
    """The settings as JSON reads them back."""
    plain: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, **asdict(settings)}))
    return plain


def block_path(folder: Path, job: Job) -> Path:
    """The file of a block in the folder of a study."""
    return folder / BLOCKS / f"{job.name}.npz"


def save_block(folder: Path, job: Job, sums: Sums) -> None:
    """Write a block down, whole or not at all.

    Raises:
        OSError: if it cannot be written, a full disk included.
    """
    content = npz_bytes(
        {
            "paths": np.array(sums.paths),
            "curves": sums.curves,
            "windows": sums.windows,
            "pairs": sums.pairs,
        }
    )
    write_bytes(block_path(folder, job), content)
