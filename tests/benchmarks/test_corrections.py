"""The normal table, V and W that ``matchenv corrections`` prints, against 50-digit arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath
import pytest

from matchenv.benchmarks.corrections import MARGINS, ROWS, corrections_at, draw_corrections
from matchenv.commands import run_command


@pytest.mark.parametrize("margin", MARGINS)
def test_rows_are_those_of_a_normal_table(margin: float) -> None:
    """V and W as the paper's section 3 prints them, with the draw's inequality turned round."""
    with mpmath.workdps(50):
        for t in ROWS:
            x, e = mpmath.mpf(t), mpmath.mpf(margin)
            v = mpmath.npdf(x - e) / mpmath.ncdf(x - e)
            inside = mpmath.ncdf(e - x) - mpmath.ncdf(-e - x)
            v_draw = (mpmath.npdf(-e - x) - mpmath.npdf(e - x)) / inside
            edges = (e - x) * mpmath.npdf(e - x) + (e + x) * mpmath.npdf(e + x)
            expected = (
                x, mpmath.npdf(x), mpmath.ncdf(x), v, v * (v + x - e), v_draw,
                v_draw**2 + edges / inside,
            )  # fmt: skip
            for found, exact in zip(corrections_at(t, margin), expected, strict=True):
                assert found == pytest.approx(float(exact), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize(("t", "probability"), [(-2.33, 0.0099), (-3.0, 0.00135), (0.0, 0.5)])
def test_quantiles_that_the_paper_names(t: float, probability: float) -> None:
    """mu - 3 sigma is the 0.135 % quantile and not the 1 % one: from any printed normal table."""
    assert corrections_at(t, 1.0)[2] == pytest.approx(probability, abs=5e-5)


def test_the_command_prints_the_table_and_draws(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "new" / "curves.svg"
    assert run_command(["corrections", "--margins", "0.5", "4", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.count("draw margin") == 2
    assert "0.00135" in said
    content = out.read_bytes()
    for word in (b"after a win", b"after a draw", b"margin 0.5", b"margin 4"):
        assert word in content
    draw_corrections(out, (0.5, 4.0))
    assert out.read_bytes() == content


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--margins", "0"], "margins must be"),
        (["--margins", "nan"], "margins"),
        (["--out", "curves.gif"], "out must end in"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, capsys: Any) -> None:
    assert run_command(["corrections", *words]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("error: ")
    assert said in error
    assert "\n" not in error
