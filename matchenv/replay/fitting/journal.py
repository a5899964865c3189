"""The replays of a search, written down one by one, so that a stopped search goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from matchenv.checksums import checksum
from matchenv.match_log import MatchLog
from matchenv.replay.fitting.parameters import Parameter

JOURNAL = "evaluations.jsonl"


@contextmanager
def remembered(
    journal: Path | None, log: MatchLog, parameters: Iterable[Parameter]
) -> Iterator[dict[str, float]]:
    """Losses by place, those of the journal first; new ones are added to it.

    Args:
        journal: the file; one of another log or of other parameters is begun anew. None for no
            file.
        log: the games of the search.
        parameters: what is searched for.

    Yields:
        A dictionary by place, as JSON.
    """
    if journal is None:
        yield {}
        return
    key = log_key(log, [repr(each) for each in parameters])
    lines = _lines(journal)
    known = {}
    if lines and lines[0] == {"log": key}:
        known = {json.dumps(line["at"]): line["loss"] for line in lines[1:]}
    with journal.open("w", encoding="utf-8") as file:
        _write(file.write, {"log": key})
        for at, loss in known.items():
            _write(file.write, {"at": json.loads(at), "loss": loss})
        file.flush()
        yield _Journal(known, file)


def log_key(log: MatchLog, said: Any = None) -> str:
    """A checksum of a log's games, and of what else is said.

    Args:
        log: the games; who the players are does not count.
        said: what JSON can say.
    """
    arrays: dict[str, NDArray[Any]] = {
        "player": log.player,
        "rank": log.rank,
        "team": log.team_start,
        "game": log.game_start,
    }
    if log.time is not None:
        arrays["time"] = log.time
    return checksum(said, arrays)


class _Journal(dict[str, float]):
    """A dictionary that writes down what is added."""

    def __init__(self, known: dict[str, float], file: Any) -> None:
        super().__init__(known)
        self._file = file

    def __setitem__(self, key: str, loss: float) -> None:
        super().__setitem__(key, loss)
        _write(self._file.write, {"at": json.loads(key), "loss": loss})
        self._file.flush()


def _write(write: Callable[[str], object], line: dict[str, Any]) -> None:
    write(json.dumps(line) + "\n")


def _lines(journal: Path) -> list[Any]:
    """The whole lines of a journal; the last one may have been cut off."""
    found = []
    try:
        text = journal.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    for line in text.split("\n")[:-1]:
        try:
            found.append(json.loads(line))
        except ValueError:
            return found
    return found
