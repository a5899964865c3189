"""``matchenv bench``: play the protocol, and check a result file by playing a sample anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from matchenv.benchmarks.bench.playing import TOLD, identities, play_families
from matchenv.benchmarks.bench.protocol import NAME, families_named, protocol_digest
from matchenv.benchmarks.bench.report import DIGEST, Result, result_files
from matchenv.evaluation.protocols import HIGH_END, LOW_END
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import checksum, parsed_json
from matchenv.runtime.jobs import open_store, write_results
from matchenv.runtime.parallel import Workers, as_engine

# Totals of the same games agree up to the last digits of other processors.
TOLERANCE = 1e-9
DEFAULT_SAMPLE = 3


def run_bench(
    policies: Sequence[str],
    *,
    method: str | None = None,
    only: Sequence[str] = (),
    workers: Workers = None,
    out: str | Path | None = None,
    quiet: bool = False,
) -> Result:
    """Play the benchmark.

    Args:
        policies: texts of policies: the runs of one method, one for each training seed.
        method: its name in tables; None for the first policy's.
        only: names of families; none for all. A result of some is no entry.
        workers: processes (None: one for each core), or an engine; no number depends on it.
        out: folder for finished families and the result files; None to write none.
        quiet: no progress bar.

    Raises:
        ValueError: for a bad argument, before anything is played, or a folder with other results.
        OSError: for a folder that cannot be written.
    """
    as_engine(workers)
    families = families_named(tuple(only))
    who = identities(policies)
    asked = {"command": "bench", "protocol": protocol_digest(), "method": method, "policies": who,
             "only": list(only)}  # fmt: skip
    with open_store(out, asked) as store:
        played = play_families(list(who), families, store, workers=workers, quiet=quiet)
        result = Result(method or next(iter(who)), who, families, played.totals, played.refused)
        write_results(store, result_files(result).items())
    return result


def check_result(
    file: str | Path, *, sample: int = DEFAULT_SAMPLE, seed: int = 0, workers: Workers = None
) -> list[str]:
    """Check a result file: its digest, its scores, and some families played anew.

    Args:
        file: ``bench.json`` of a run.
        sample: how many families are played anew, >= 1.
        seed: decides which.
        workers: processes (None: one for each core), or an engine.

    Returns:
        Names of the families that were played anew and agree.

    Raises:
        ValueError: for a file that is no result, that was changed, or whose numbers are not
            what the policies reach; says which family.
        OSError: for one that cannot be read.
    """
    as_integer("sample", sample, 1)
    said, result = _read(Path(file))
    _check_scores(file, said, result)
    rng = np.random.default_rng(seed)
    count = min(sample, len(result.families))
    places = sorted(rng.choice(len(result.families), count, replace=False).tolist())
    again = play_families(
        list(result.policies), [result.families[p] for p in places], workers=workers
    )
    if identities(list(result.policies)) != result.policies:
        raise ValueError(f"{file} was made with other files of the policies than those here")
    for k, p in enumerate(places):
        for label, values in again.totals.items():
            if not np.allclose(values[k], result.totals[label][p], rtol=TOLERANCE, atol=TOLERANCE):
                raise ValueError(
                    f"{file} must hold what the policies reach; {label!r} has other totals in "
                    f"{result.families[p].name}"
                )
    return [result.families[p].name for p in places]


def _read(file: Path) -> tuple[dict[str, Any], Result]:
    try:
        said = parsed_json(file.read_bytes())
        digest = said.pop(DIGEST)
        result = Result.from_plain(said)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{file} must be a bench.json that matchenv bench wrote") from None
    if said.get("benchmark") != NAME or said.get("protocol") != protocol_digest():
        raise ValueError(f"{file} must be of {NAME} as this version knows it")
    if checksum(said) != digest:
        raise ValueError(f"{file} was changed after it was written")
    return said, result


def _check_scores(file: str | Path, said: dict[str, Any], result: Result) -> None:
    labels = {*result.policies, LOW_END, HIGH_END, TOLD}
    shapes = {result.totals[label].shape for label in labels if label in result.totals}
    if set(result.totals) != labels or len(shapes) != 1:
        raise ValueError(f"{file} must hold the totals of {', '.join(sorted(labels))}")
    for name, score in result.scores.items():
        numbers = None if score is None else asdict(score)
        if not _close(said[name], numbers):
            raise ValueError(f"{file} has another {name} than follows from its totals")


def _close(said: Any, numbers: dict[str, float] | None) -> bool:
    if said is None or numbers is None:
        return said is numbers
    return all(abs(said[key] - value) <= TOLERANCE for key, value in numbers.items())
