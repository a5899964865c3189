"""``matchenv bench``: play the protocol, and check a result file by playing a sample again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from matchenv.benchmarks.bench.playing import TOLD, identities, play_families
from matchenv.benchmarks.bench.protocol import NAME, families_named, protocol_digest
from matchenv.benchmarks.bench.result import Result, plain_score
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import read_json
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.parallel import Workers

# Totals of the same games agree up to the last digits of other processors.
TOLERANCE = 1e-9
DEFAULT_SAMPLE = 3


def run_bench(
    policies: Sequence[str],
    *,
    method: str | None = None,
    only: Sequence[str] = (),
    run: RunOptions | None = None,
) -> Result:
    """Play the benchmark.

    Args:
        policies: texts of policies: the runs of one method, one for each training seed.
        method: its name in tables; None for the first policy's.
        only: names of families; none for all. A result of some is no entry.
        run: how to work and what to keep.

    Raises:
        ValueError: for a bad argument, before anything is played, or a folder with other results.
        OSError: for a folder that cannot be written.
    """
    run = run or RunOptions()
    families = families_named(tuple(only))
    who = identities(policies)
    asked = {"command": "bench", "protocol": protocol_digest(), "method": method, "policies": who,
             "only": list(only)}  # fmt: skip
    with run.store(asked) as store:
        totals, refused = play_families(list(who), families, store, run)
        result = Result(method or next(iter(who)), who, families, totals, refused)
        run.finish(store, result, result.files().items())
    return result


def check_result(
    file: str | Path, *, sample: int = DEFAULT_SAMPLE, seed: int = 0, workers: Workers = None
) -> list[str]:
    """Check a result file: its digest, its scores, and some families played again.

    Args:
        file: ``bench.json`` of a run.
        sample: how many families are played again, >= 1.
        seed: random seed of their choice.
        workers: processes (None: one for each core), or an engine.

    Returns:
        Names of the families that were played again and agree.

    Raises:
        ValueError: for a file that is no result, that was changed, or whose numbers are not
            what the policies reach; says which family.
        OSError: for one that cannot be read.
    """
    as_integer("sample", sample, 1)
    result = _read(Path(file))
    rng = np.random.default_rng(seed)
    count = min(sample, len(result.families))
    places = sorted(rng.choice(len(result.families), count, replace=False).tolist())
    chosen = [result.families[p] for p in places]
    again, _ = play_families(list(result.policies), chosen, None, RunOptions(workers=workers))
    if identities(list(result.policies)) != result.policies:
        raise ValueError(f"{file} was made with other files of the policies than those here")
    for k, p in enumerate(places):
        for label, values in again.items():
            if not np.allclose(values[k], result.totals[label][p], rtol=TOLERANCE, atol=TOLERANCE):
                raise ValueError(
                    f"{file} must hold what the policies reach; {label!r} has other totals in "
                    f"{chosen[k].name}"
                )
    return [family.name for family in chosen]


def _read(file: Path) -> Result:
    """Return the result that a file holds, if its scores follow from its totals."""
    said: Any = read_json(file)
    try:
        result = Result.from_plain(said)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{file} must be a bench.json that matchenv bench wrote") from None
    if said.get("benchmark") != NAME or said.get("protocol") != protocol_digest():
        raise ValueError(f"{file} must be of {NAME} as this version knows it")
    labels = {*result.policies, LOW_END, HIGH_END, TOLD}
    shapes = {result.totals[label].shape for label in labels if label in result.totals}
    if set(result.totals) != labels or len(shapes) != 1:
        raise ValueError(f"{file} must hold the totals of {', '.join(sorted(labels))}")
    for name, score in result.scores.items():
        numbers = plain_score(score) or {}
        given = said.get(name) or {}
        if given.keys() != numbers.keys() or any(
            abs(given[key] - value) > TOLERANCE for key, value in numbers.items()
        ):
            raise ValueError(f"{file} has another {name} than follows from its totals")
    return result
