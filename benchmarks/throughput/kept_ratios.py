"""Ratios of an earlier run, printed beside the new ones: a slow change is seen, nothing fails."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

from matchenv.benchmarks.throughput.timing import Contest, Measurement
from matchenv.runtime.files import json_bytes, write_bytes

KEPT = Path(__file__).with_name("ratios.json")
DIGITS = 3


class Ratio(NamedTuple):
    """How many times as fast as a rival, over the turns of a run."""

    least: float
    median: float
    most: float


def ratio_of(result: Contest) -> Ratio:
    """The spread of a contest, in as many digits as it deserves."""
    spread = min(result.ratios), median(result.ratios), max(result.ratios)
    return Ratio(*(float(f"{value:.{DIGITS}g}") for value in spread))


def key_of(result: Contest) -> str:
    """The name of a contest in the file."""
    return f"{result.section}: {result.name}, {result.rival}"


def kept_ratios(path: Path = KEPT) -> dict[str, Ratio]:
    """What a file holds, by the names of contests; nothing if there is none.

    Raises:
        ValueError: for a file that is not one of these.
    """
    try:
        found = json.loads(path.read_bytes())
        return {name: Ratio(*map(float, spread)) for name, spread in found.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} must be a file of ratios: {error}") from None


def keep_ratios(path: Path, results: Iterable[Contest | Measurement]) -> None:
    """Write the ratios of a run over those of the same names; the others stay.

    Args:
        path: of the file.
        results: of the run.
    """
    new = {key_of(each): ratio_of(each) for each in results if isinstance(each, Contest)}
    write_bytes(path, json_bytes(dict(sorted((kept_ratios(path) | new).items()))))


def beside(result: Contest | Measurement, kept: Mapping[str, Ratio]) -> str:
    """What to print beside a result: the kept ratio, and whether all of it lay above this one."""
    if not isinstance(result, Contest) or key_of(result) not in kept:
        return ""
    before = kept[key_of(result)]
    slower = "; SLOWER" if result.ratio < before.least else ""
    return f" [kept: {before.median:g} ({before.least:g} to {before.most:g}){slower}]"
