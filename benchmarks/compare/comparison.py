"""The comparison as a function: who plays what, then the statistics and the files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from matchenv.benchmarks.candidates import candidates_of, with_references
from matchenv.benchmarks.compare.report import ENVIRONMENT_OPTIONS, Comparison, result_files
from matchenv.envs.one_player.priors import Prior
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.cells import Cell, cells_of
from matchenv.evaluation.episode_table import ALL, Block, Plan, play
from matchenv.evaluation.seeds import POLICIES, episode_seeds, spans_of
from matchenv.runtime.checks import as_integer
from matchenv.runtime.jobs import open_store, write_results
from matchenv.runtime.object_spec import is_object_spec
from matchenv.runtime.parallel import Workers, as_engine
from matchenv.runtime.provenance import digest_of, module_files

DEFAULT_POLICIES = ("pe", "drawchance", "kg", "gittins", "random", "oracle")
DEFAULT_RANKS = ("top", "middle", "bottom")
DEFAULT_PRIORS = ("informative",)
DEFAULT_EPISODES = 200
# Luck by opponent tells policies apart with fewer episodes; see docs/benchmarks.md.
DEFAULT_NOISE = "opponent"

# Episodes that are played side by side. A stochastic policy has one stream for a block, so its
# size is part of the result; it must not follow the number of workers.
LARGEST_BLOCK = 100
LARGEST_BLOCK_PLAYERS = 1_000_000


def run_comparison(
    policies: Sequence[Any] = DEFAULT_POLICIES,
    *,
    against: str = "kg",
    ranks: Sequence[str | int | None] = DEFAULT_RANKS,
    priors: Sequence[str | Prior] = DEFAULT_PRIORS,
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    workers: Workers = None,
    out: str | Path | None = None,
    replace_out: bool = False,
    timing: bool = False,
    quiet: bool = False,
    report: Callable[[Comparison], object] | None = None,
) -> Comparison:
    """Play the same games with every policy, and compare.

    With more than one worker the call must stand under ``if __name__ == "__main__":`` in a
    script, since the workers import it. A comparison that was stopped goes on when it is called
    again with the same folder.

    Args:
        policies: names of policies, folders of training runs, or objects with the ``predict``
            of stable-baselines3 and a ``name``.
        against: the policy that differences are taken to; it plays even if not in the list,
            as do DrawChance and the oracle.
        ranks: places of player 0: names or numbers, None (or ``"any"``) for a random one.
        priors: ``"informative"``, ``"equal"``, ``"module:Class:key=value"``, or objects that
            can be written so, which stand in the files as such texts; each rank is played with
            each prior.
        episodes: instances in each cell, >= 2.
        seed: decides all instances, noise and random choices, >= 0.
        env_kwargs: options of the environment but ``rank``, ``prior``, ``reward`` and ``belief``;
            ``noise`` is ``"opponent"`` unless it is given.
        workers: processes (None: one for each core), or an engine; no number depends on it.
        out: folder for finished episodes and the result files; None to write none.
        replace_out: a folder with another comparison loses it; otherwise it is refused.
        timing: write decisions per second into the files too, of the episodes played now.
        quiet: no progress bar.
        report: told what was found, even where the files cannot be written.

    Returns:
        The comparison; ``table()`` gives it as text.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            comparison, or with damaged files.
        OSError: for a folder that cannot be written.
    """
    as_engine(workers)
    options = {"noise": DEFAULT_NOISE, **(env_kwargs or {})}
    plan, settings = plan_of(policies, against, ranks, priors, episodes, seed, options)
    asked = {"command": "compare", **described(plan, settings, episodes)}
    with open_store(out, asked, replace=replace_out) as store:
        rows = play(plan, store, workers=workers, quiet=quiet)
        found = Comparison(rows, against.rstrip("/\\"), settings, seed, block_size(settings))
        files = result_files(found, timing=timing).items()
        try:
            write_results(store, files)
        finally:  # what was found is reported even where the files cannot be written
            if report is not None:
                report(found)
    return found


def plan_of(
    policies: Sequence[Any],
    against: str,
    ranks: Sequence[str | int | None],
    priors: Sequence[str | Prior],
    episodes: int,
    seed: int,
    env_kwargs: Mapping[str, Any] | None,
    known: Sequence[str] = (*ENVIRONMENT_OPTIONS, "noise"),
) -> tuple[Plan, Settings]:
    """What a comparison plays, and the settings that its cells share.

    Args:
        policies: as ``run_comparison``, and so are all others.
        against: as there.
        ranks: as there.
        priors: as there.
        episodes: as there.
        seed: as there.
        env_kwargs: as there.
        known: the options of the environment that may be given.

    Raises:
        ValueError: for another option or a bad value.
    """
    as_integer("episodes", episodes, 2)
    as_integer("seed", seed, 0)
    options = dict(env_kwargs or {})
    for name in options:
        if name not in known:
            raise ValueError(f"env_kwargs may hold {', '.join(known)}, got {name!r}")
    settings = Settings.checked(**options)
    cells = cells_of(ranks, priors, settings.num_opponents, settings.rank_by)
    candidates = with_references(candidates_of(policies, settings), against, settings)
    size = block_size(settings)
    blocks = tuple(
        Block(
            prior=0,
            first=first,
            seeds=tuple(episode_seeds(seed, first, count)),
            policy_stream=(POLICIES, first // size),
        )
        for first, count in spans_of(episodes, size)
    )

    def settings_of(cell: Cell, prior: int) -> Settings:
        return replace(settings, rank=cell.rank, prior=cell.prior)

    windows = {ALL: slice(0, settings.horizon)}
    return Plan(candidates, cells, blocks, settings_of, seed, windows), settings


def block_size(settings: Settings) -> int:
    """Episodes in a block: fewer where their players would fill the memory."""
    return max(1, min(LARGEST_BLOCK, LARGEST_BLOCK_PLAYERS // settings.num_players))


def described_cells(cells: Sequence[Cell]) -> dict[str, Any]:
    """What identifies the cells: their names, and the files that a user's own priors are read from.

    Args:
        cells: of a plan or a study.
    """
    own = {cell.prior: digest_of(module_files(cell.prior)) for cell in cells
           if is_object_spec(cell.prior)}  # fmt: skip
    return {"cells": [cell.name for cell in cells], **({"priors": own} if own else {})}


def described(plan: Plan, settings: Settings, episodes: int) -> dict[str, Any]:
    """Everything that decides what the jobs of a plan give, as plain data."""
    return {
        "policies": {candidate.label: candidate.identity for candidate in plan.candidates},
        **described_cells(plan.cells),
        "episodes": episodes,
        "seed": plan.seed,
        "noise": settings.noise,
        **{name: getattr(settings, name) for name in ENVIRONMENT_OPTIONS},
    }
