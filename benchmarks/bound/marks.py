"""The bound in the main families of the benchmark: how far DrawChance is below it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matchenv.benchmarks.bench.protocol import FAMILIES, MAIN, SEED, Family
from matchenv.benchmarks.bound.report import cell_bounds
from matchenv.benchmarks.bound.running import DEFAULT_DEPTH, run_bound
from matchenv.evaluation.protocols import LOW_END
from matchenv.runtime.files import json_bytes, write_bytes
from matchenv.runtime.parallel import Workers
from matchenv.runtime.provenance import versions

# Equal priors take several times as long.
EPISODES = {"informative": 500, "equal": 300}
FILE = "bounds.json"
COMMAND = "matchenv bound --marks --out DIR"


def run_marks(
    out: str | Path,
    *,
    episodes: Mapping[str, int] = EPISODES,
    depth: int = DEFAULT_DEPTH,
    workers: Workers = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Bound every main family of the benchmark, on instances of its own seed.

    Args:
        out: folder for a folder of each family, and for ``bounds.json``.
        episodes: sample paths of each family, by its prior.
        depth: as ``run_bound``, and so are the next two.
        workers: as there.
        quiet: as there.

    Returns:
        What ``bounds.json`` holds: of each family the mean of the bound, DrawChance's, their
        paired difference and its standard error.

    Raises:
        ValueError: as ``run_bound``.
        OSError: for a folder that cannot be written.
    """
    families = [family for family in FAMILIES if family.group == MAIN]
    found = {
        "command": COMMAND,
        "seed": SEED,
        "depth": depth,
        "versions": versions("scipy"),
        "families": {
            family.name: _mark(family, Path(out) / family.name, episodes, depth, workers, quiet)
            for family in families
        },
    }
    write_bytes(Path(out) / FILE, json_bytes(found))
    return found


def _mark(
    family: Family,
    out: Path,
    episodes: Mapping[str, int],
    depth: int,
    workers: Workers,
    quiet: bool,
) -> dict[str, float]:
    settings = family.settings
    sizes = {
        "num_opponents": settings.num_opponents,
        "horizon": settings.horizon,
        "beta": settings.beta,
    }
    paths = episodes[str(settings.prior)]
    bounds = run_bound(
        [LOW_END],
        ranks=[settings.rank],
        priors=[str(settings.prior)],
        episodes=paths,
        seed=SEED,
        env_kwargs=sizes,
        depth=depth,
        workers=workers,
        out=out,
        quiet=quiet,
    )
    (cell,) = cell_bounds(bounds)
    (low,) = (each for each in cell.policies if each.policy == LOW_END)
    return {
        "bound": cell.bound.mean,
        "drawchance": low.true_q.mean,
        "difference": low.room.mean,
        "standard_error": low.room.standard_error,
        "paths": paths,
    }
