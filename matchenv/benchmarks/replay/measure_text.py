"""The measures of a replay as text: a row for each measure, with a cell for each system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from matchenv.runtime.checks import counted
from matchenv.runtime.files import number

# Content of ``report.json``.
Content = Mapping[str, Any]


def measure_rows(content: Content) -> dict[str, list[str]]:
    """Return a row of text for each measure in ``report.json``, with a cell for each system."""
    rows: dict[str, list[str]] = {}
    for name in content["systems"]:
        for label, cell in _cells_of(name, content).items():
            rows.setdefault(label, []).append(cell)
    unconverged = [system["unconverged"] for system in content["systems"].values()]
    if any(unconverged):
        rows["games that did not converge"] = list(map(str, unconverged))
    return rows


def _cells_of(name: str, content: Content) -> dict[str, str]:
    """Return the text of each measure of one system."""
    system = content["systems"][name]
    share = 100.0 * content["settings"]["challenge_share"]
    is_first = name == next(iter(content["systems"]))
    cells = {
        "prediction error": _percent(system["error"]["error"]),
        "  standard error": _percent(system["error"]["standard_error"]),
        "  minus the first system's, points": "-" if is_first else _points(*system["excess"]),
    }
    for rival, challenged in system["challenged"].items():
        cells[f"error, most even {share:g} % by {rival}"] = _percent(challenged["error"])
    cells["area of draws over quality"] = _text("{:.4f}", system["draws"]["area"])
    for least in (1, 10, 100):
        label = f"|win ratio - 50 %|, >= {counted(least, 'game')}"
        cells[label] = _deviation(system["fairness"], least)
    cells["log loss"] = _text("{:.4f}", system["log_loss"])
    cells["  of the constant forecast"] = _text("{:.4f}", content["constant_log_loss"])
    cells["calibration error, wins"] = _percent(system["wins"]["error"])
    cells["calibration error, draws"] = _percent(system["draw_forecasts"]["error"])
    return cells


def _text(form: str, *values: float | None) -> str:
    """Return formatted numbers, or "-" if one is missing."""
    numbers = [number(value) for value in values]
    if np.isnan(numbers).any():
        return "-"
    return form.format(*numbers)


def _percent(share: float | None) -> str:
    return _text("{:.2f} %", 100.0 * number(share))


def _points(mean: float | None, error: float | None) -> str:
    return _text("{:+.2f} ± {:.2f}", 100.0 * number(mean), 100.0 * number(error))


def _deviation(fairness: Content, least: int) -> str:
    return _percent(dict(zip(fairness["games"], fairness["deviation"], strict=True)).get(least))
