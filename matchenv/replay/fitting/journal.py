"""The replays of a search, written down one by one, so that a stopped search goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from matchenv.match_log import MatchLog
from matchenv.runtime.files import checksum, write_text

JOURNAL = "evaluations.jsonl"


@contextmanager
def remembered(
    journal: Path | None,
    log: MatchLog,
    parameters: Iterable[Any],
    made_with: Mapping[str, str] | None = None,
) -> Iterator[dict[str, float]]:
    """Losses by place, those of the journal first; new ones are added to it.

    Args:
        journal: the file; one of another log, other parameters or another version is begun anew,
            and what follows a damaged line is found anew. None for no file.
        log: the games of the search.
        parameters: what is searched for, and by which objective; their texts count.
        made_with: versions, of which another may find another loss at the same place.

    Yields:
        A dictionary by place, as JSON.
    """
    if journal is None:
        yield {}
        return
    key = log_key(log, [dict(made_with or {}), [repr(each) for each in parameters]])
    known = _known(journal, key)
    lines = [_line({"log": key})]
    lines += [_line({"at": json.loads(at), "loss": loss}) for at, loss in known.items()]
    # Whole, so that who is killed here has lost nothing.
    write_text(journal, "".join(lines))
    with journal.open("a", encoding="utf-8") as file:
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
    for name in ("time", "weight", "neutral"):
        if getattr(log, name) is not None:
            arrays[name] = getattr(log, name)
    return checksum(said, arrays)


class _Journal(dict[str, float]):
    """A dictionary that writes down what is added."""

    def __init__(self, known: dict[str, float], file: Any) -> None:
        super().__init__(known)
        self._file = file

    def __setitem__(self, key: str, loss: float) -> None:
        super().__setitem__(key, loss)
        self._file.write(_line({"at": json.loads(key), "loss": loss}))
        self._file.flush()


def _line(content: dict[str, Any]) -> str:
    """A line of the journal, which shows whether it is as it was written."""
    return json.dumps({**content, "sha256": checksum(content)[:16]}) + "\n"


def _known(journal: Path, key: str) -> dict[str, float]:
    """The losses that a journal of this log holds, up to its first line that is damaged."""
    try:
        lines = journal.read_text(encoding="utf-8").split("\n")[:-1]
    except (OSError, UnicodeDecodeError):
        return {}
    if not lines or lines[0] + "\n" != _line({"log": key}):
        return {}
    known = {}
    for line in lines[1:]:
        try:
            found = json.loads(line)
            at, loss = found["at"], found["loss"]
        except (ValueError, KeyError, TypeError, RecursionError):
            break
        if line + "\n" != _line({"at": at, "loss": loss}):
            break
        known[json.dumps(at)] = loss
    return known
