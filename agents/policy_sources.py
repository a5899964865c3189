"""The files that a policy is read from: with their content, results are told apart."""

from __future__ import annotations

from pathlib import Path

from matchenv.agents.policies import RLLIB, learned_path, rllib_file
from matchenv.baselines import POLICIES
from matchenv.runtime.provenance import module_files


def files_of(text: str) -> list[Path]:
    """The files that a policy is read from.

    Args:
        text: as ``matchenv.agents.policy_named`` takes it; a class of the user's own must have
            been made once.

    Returns:
        The weights of a learned policy; the module of a class, and what it imports from its
        folder; none for a baseline, which is part of the package.
    """
    name = text.partition(":")[0]
    if name in POLICIES:
        return []
    if name == RLLIB:
        return [rllib_file(text)]
    path = learned_path(name)
    if path is not None:
        if path.is_file():
            return [path]
        # Without the packages for learning nobody can play it, but much else works.
        from matchenv.agents.run_folder import RunFolder

        file = RunFolder(path).policy_file
        return [file] if file.is_file() else []  # whoever plays it says that it is missing
    return module_files(text)
