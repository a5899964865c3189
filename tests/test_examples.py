"""The notebooks in examples/ give their stored outputs, which contain no local paths."""

import copy
import re
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from matplotlib.image import imread, imsave
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_output
from numpy.typing import NDArray

from matchenv.runtime.compile import NOTICE

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.ipynb"))
LARGEST = 300_000
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
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


def texts_and_pictures(outputs: list[Any]) -> tuple[str, list[NDArray[Any]]]:
    """Return all text of the outputs of a cell, and the pictures, shape (height, width, 4) each."""
    text = []
    pictures = []
    for output in outputs:
        if output.get("name") == "stderr":
            continue
        data = output.get("data", {})
        if "image/png" in data:
            pictures.append(imread(BytesIO(b64decode(data["image/png"])), format="png"))
        else:
            text.append(output.get("text", "") or data.get("text/plain", ""))
    return "".join(text), pictures


def assert_same_outputs(stored: Any, fresh: Any) -> None:
    """Compare the outputs of a cell with stored ones.

    Cells with the tag "trained" show networks, whose last digits depend on the platform, and small
    differences grow during a training. Their texts agree apart from numbers, which are close.
    """
    trained = "trained" in stored.metadata.get("tags", ())
    text, pictures = texts_and_pictures(stored.outputs)
    fresh_text, fresh_pictures = texts_and_pictures(fresh.outputs)
    assert NUMBER.sub("#", fresh_text).split() == NUMBER.sub("#", text).split()
    numbers = np.array(NUMBER.findall(text), dtype=float)
    fresh_numbers = np.array(NUMBER.findall(fresh_text), dtype=float)
    relative = 1e-6
    most_pixels = 0.01
    if trained:
        relative = 0.1
        most_pixels = 0.1
    scale = max(abs(numbers), default=0.0) if trained else abs(numbers)
    # The last digit shown can be rounded the other way.
    decimals = [len(number.partition(".")[2]) for number in NUMBER.findall(text)]
    last_digits = 10.0 ** -np.array(decimals, dtype=float)
    assert (abs(fresh_numbers - numbers) <= relative * scale + last_digits).all(), fresh_text
    for picture, fresh_picture in zip(pictures, fresh_pictures, strict=True):
        assert fresh_picture.shape == picture.shape
        assert abs(fresh_picture - picture).mean() < most_pixels


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_fresh_outputs_are_the_stored_ones(path: Path, tmp_path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    notebook = copy.deepcopy(stored)
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
    for stored_cell, cell in zip(stored.cells, notebook.cells, strict=True):
        if cell.cell_type != "code":
            continue
        for output in cell.outputs:
            # The first run of an installation prints a notice about compilation.
            assert output.get("name") != "stderr" or output["text"].strip() == NOTICE
        assert_same_outputs(stored_cell, cell)


def test_other_numbers_texts_and_pictures_are_told_apart() -> None:
    def cell_with(text: str, shade: float) -> Any:
        buffer = BytesIO()
        imsave(buffer, np.full((4, 5, 3), shade), format="png")
        cell = new_code_cell("x")
        picture = {"image/png": b64encode(buffer.getvalue()).decode()}
        cell.outputs = [new_output("stream", text=text), new_output("display_data", picture)]
        return cell

    stored = cell_with("mean 1.25 of 80", 0.5)
    assert_same_outputs(stored, cell_with("mean 1.26  of 80", 0.5))
    for other in (
        cell_with("mean 1.35 of 80", 0.5),
        cell_with("total 1.25 of 80", 0.5),
        cell_with("mean 1.25", 0.5),
        cell_with("mean 1.25 of 80", 0.6),
    ):
        with pytest.raises(AssertionError):
            assert_same_outputs(stored, other)
    stored.metadata["tags"] = ["trained"]
    assert_same_outputs(stored, cell_with("mean 1.35 of 80", 0.55))
    with pytest.raises(AssertionError):
        assert_same_outputs(stored, cell_with("mean 1.35 of 95", 0.5))
