"""What several tests of reports need."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PAPER = r"""\documentclass{article}
\usepackage{booktabs}
\begin{document}
\appendix
\input{text}
\end{document}
"""


@pytest.fixture
def latex_complaints(tmp_path: Path) -> Callable[[str], list[str]]:
    """Typeset a text with booktabs, and gives the errors and the lines too wide for the page.

    It skips the test where there is no LaTeX.
    """
    latex = shutil.which("pdflatex")
    if latex is None:
        pytest.skip("no LaTeX on this machine")

    def complaints(text: str) -> list[str]:
        (tmp_path / "text.tex").write_text(text, encoding="utf-8")
        (tmp_path / "paper.tex").write_text(PAPER)
        words = [latex, "-interaction=nonstopmode", "-no-shell-escape", "paper.tex"]
        ended = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=120, check=False)
        said = ended.stdout.decode(errors="replace").splitlines()
        assert (tmp_path / "paper.pdf").exists(), said
        return [line for line in said if line.startswith(("!", "Overfull", "Missing character"))]

    return complaints
