"""The notebooks in examples/ run, and their stored outputs contain no local paths."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from matchenv.runtime.compile import NOTICE

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.ipynb"))
LARGEST = 300_000
# Local paths in the output of a notebook.
PLACES = re.compile(r"(?<![\w.])/(?:home|root|tmp|work|usr|Users|private|var)/|[A-Z]:\\")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs(path: Path) -> None:
    assert path.stat().st_size < LARGEST
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert len(outputs) > 3
    for output in outputs:
        assert output.output_type != "error"
        assert output.get("name") != "stderr"
        assert not PLACES.search(str(output.get("text", "")))
        assert not PLACES.search(str(output.get("data", {}).get("text/plain", "")))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            # The first run of an installation prints a notice about compilation.
            assert output.get("name") != "stderr" or output["text"].strip() == NOTICE
