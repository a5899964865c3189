"""The page and the summary: what they show is what the result files hold."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("plotly")
pytest.importorskip("yaml")
from matchenv.agents.run_config import configured
from matchenv.agents.run_folder import RunFolder
from matchenv.benchmarks.bound.running import run_bound
from matchenv.benchmarks.compare import run_comparison
from matchenv.benchmarks.optimum.running import run_optimum
from matchenv.benchmarks.report import sections_of
from matchenv.benchmarks.study import run_study
from matchenv.benchmarks.tune.tuning import run_tuning
from matchenv.commands import BAD_INPUT, DONE, run_command

SIZES: dict[str, Any] = {"num_opponents": 3, "horizon": 12}
ONE = {"workers": 1, "quiet": True}
LOG = Path(__file__).resolve().parent.parent / "logs" / "data" / "league.csv"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each kind of results, as small as can be."""
    folder = tmp_path_factory.mktemp("results")
    cells: dict[str, Any] = {"ranks": ["top"], "priors": ["informative"]}
    run_comparison(["pe", "kg"], **cells, episodes=3, env_kwargs=SIZES, out=folder / "a", **ONE)
    run_study(**SIZES, **cells, episodes=3, out=folder / "b", **ONE)
    run_tuning([0.0, 5.0], **SIZES, **cells, episodes=2, prior_draws=2, out=folder / "c", **ONE)
    run_bound(["kg"], **cells, episodes=2, env_kwargs=SIZES, out=folder / "d", **ONE)
    run_optimum(["kg"], num_opponents=[2], horizon=[2], episodes=2, truths=2, out=folder / "e",
                **ONE)  # fmt: skip
    assert run_command(["replay", str(LOG), "--out", str(folder / "f"), "--quiet"]) == DONE
    for seed in range(2):
        config = configured("ppo", seed=seed, env_kwargs=SIZES)
        run = RunFolder.create(folder / "runs" / f"seed{seed}", config)
        run.write_evaluations(seed, [
            {"timesteps": step, "episodes": 3, "mean_return": 1.0, "draw_density": 1.0,
             "true_draw_density": 1.0 + step, "true_q_less_kg": 0.5 + step}
            for step in (0, 100)
        ])  # fmt: skip
    queue = ["--env", "MatchmakingQueue-v0", "--episodes", "2", "--horizon", "12", "--quiet",
             "--workers", "1", "--load", "thin", "middle"]  # fmt: skip
    for command, policy in (("compare", ["fcfs"]), ("tune", ["window"])):
        words = [command, "--policy", *policy, *queue, "--out", str(folder / f"queue_{command}")]
        assert run_command(words) == DONE
    run_comparison(["pe"], **cells, episodes=2, env_kwargs=SIZES,
                   out=folder / "runs" / "seed0" / "comparison", **ONE)  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def page(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    latex = file.with_suffix(".tex")
    words = ["report", str(results), "--out", str(file), "--latex", str(latex), "--quiet"]
    assert run_command(words) == DONE
    return file


class Tables(HTMLParser):
    """The cells of every table of a page, and all addresses that it names."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.addresses: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "td"
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.cells.append(data)


def test_every_kind_of_results_is_known(results: Path) -> None:
    kinds = [section.kind for section in sections_of([results])]
    one_player = ["train", "compare", "study", "tune", "bound", "optimum", "replay"]
    assert kinds == [*one_player, "compare", "tune"]
    for section in sections_of([results]):
        assert section.settings
        assert section.charts or section.folder == "queue_tune"
        assert section.tables


def test_the_tables_hold_the_numbers_of_the_files(results: Path, page: Path) -> None:
    tables = Tables()
    tables.feed(page.read_text())
    standing = json.loads((results / "a" / "comparison.json").read_text())["standings"][0]
    less = standing["difference"]
    assert f"{standing['true_draw_density']['mean']:.2f}" in tables.cells
    assert f"{less['mean']:+.2f} [{less['low']:+.2f}, {less['high']:+.2f}]" in tables.cells
    assert "+100.50" in tables.cells
    for claim in json.loads((results / "b" / "verdict.json").read_text()):
        assert claim["text"] in tables.cells
        assert claim["verdict"] in tables.cells


def test_the_page_asks_for_nothing_from_elsewhere(page: Path) -> None:
    tables = Tables()
    tables.feed(page.read_text())
    assert tables.addresses
    assert all(address.startswith(("#", "data:")) for address in tables.addresses)


def test_the_same_results_give_the_same_files(results: Path, page: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.html"
    assert run_command(["report", str(results), "--out", str(again), "--quiet"]) == DONE
    assert again.read_bytes() == page.read_bytes()
    assert not (tmp_path / "again.tex").exists()


def test_a_folder_is_shown_once(results: Path) -> None:
    once = sections_of([results / "runs"])
    assert [section.kind for section in once] == ["train"]
    assert [part.kind for part in once[0].parts] == ["compare"]
    twice = sections_of([results / "a", results / "a", results / "runs" / "seed0"])
    assert [section.kind for section in twice] == ["train", "compare"]


def test_the_summary_is_balanced_latex(page: Path) -> None:
    text = page.with_suffix(".tex").read_text()
    bare = re.sub(r"\\[\\{}%&$#_]", "", text)
    assert bare.count("{") == bare.count("}")
    assert re.findall(r"\\begin\{(\w+)\}", text).count("tabular") == 9
    for name in ("center", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}")
    for table in re.findall(r"\\begin\{tabular\}\{@\{\}(\w+)@\{\}\}(.*?)\\end", text, re.DOTALL):
        rows = [line for line in table[1].splitlines() if " & " in line]
        assert {len(re.split(r"(?<!\\)&", row)) for row in rows} == {len(table[0])}


def test_the_summary_can_be_typeset(
    page: Path, latex_complaints: Callable[[str], list[str]]
) -> None:
    assert not latex_complaints(page.with_suffix(".tex").read_text())


def test_bad_input_is_one_line_that_says_what_to_do(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*words: object) -> str:
        assert run_command(["report", *map(str, words)]) == BAD_INPUT
        (line,) = capsys.readouterr().err.splitlines()
        return line

    for folder in (tmp_path, tmp_path / "missing"):
        assert "--out named for matchenv train, compare" in said(folder)
    assert "must end in .html" in said(results / "a", "--out", tmp_path / "a.pdf")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "comparison.json").write_text("{")
    assert "comparison.json is damaged" in said(tmp_path / "a")
    (tmp_path / "a" / "comparison.json").write_text("{}")
    assert "run its command again" in said(tmp_path / "a")
    assert not list(tmp_path.glob("*.html"))


# In a browser.

Check = Callable[[Any], Awaitable[None]]
InBrowser = Callable[[int, Check], None]
VISIBLE = "document.querySelectorAll('#s1c0 .scatterlayer .trace').length"


@pytest.fixture
def in_browser(page: Path, monkeypatch: pytest.MonkeyPatch) -> InBrowser:
    """Open the page in Chromium, see that it complains of nothing, and look at it."""
    pytest.importorskip("tornado")
    monkeypatch.syspath_prepend(Path(__file__).parent)
    from chromium import chromium, new_page

    browser = chromium()
    if browser is None:
        pytest.skip("no Chromium on this machine")

    async def look(width: int, check: Check) -> None:
        async with new_page(browser) as tab:
            await tab.size(width)
            await tab.open(page)
            await tab.until("document.querySelectorAll('.js-plotly-plot .xaxislayer-above').length")
            await check(tab)
            assert tab.complaints == []
            assert [url for url in tab.requests if not url.startswith(("file:", "data:"))] == []

    return lambda width, check: asyncio.run(look(width, check))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_a_click_in_a_legend_hides_a_policy(in_browser: InBrowser, width: int) -> None:
    async def check(tab: Any) -> None:
        before = await tab.value(VISIBLE)
        assert before > 0
        await tab.click("#s1c0 .legend .traces .legendtoggle")
        await tab.until(f"{VISIBLE} === {before - 1}")

    in_browser(width, check)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_a_hover_shows_a_value(results: Path, in_browser: InBrowser, width: int) -> None:
    less = json.loads((results / "a" / "comparison.json").read_text())["standings"][0]["difference"]

    async def check(tab: Any) -> None:
        x, y = await tab.middle("#s1c0 .scatterlayer .trace .point")
        await tab.mouse(x + 30, y + 30)
        await tab.mouse(x, y)
        text = "document.querySelector('#s1c0 .hoverlayer')?.textContent"
        await tab.until(text)
        assert f"{less['mean']:.3f} [" in await tab.value(text)

    in_browser(width, check)


@pytest.mark.slow
def test_a_click_on_a_heading_sorts_a_table(in_browser: InBrowser) -> None:
    column = (
        "[...document.querySelectorAll('#s1 > .scroll tbody tr')]"
        ".map((row) => parseFloat(row.cells[3].textContent))"
    )

    async def check(tab: Any) -> None:
        heading = "#s1 > .scroll th:nth-child(4) button"
        await tab.click(heading)
        rising = await tab.value(column)
        assert len(rising) > 1
        assert rising == sorted(rising)
        await tab.click(heading)
        assert await tab.value(column) == sorted(rising, reverse=True)

    in_browser(1280, check)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_its_screen_and_follows_the_scheme(in_browser: InBrowser, width: int) -> None:
    async def check(tab: Any) -> None:
        for scheme, paper, ink in (
            ("light", "rgb(255, 255, 255)", "rgb(27, 31, 36)"),
            ("dark", "rgb(13, 17, 23)", "rgb(230, 237, 243)"),
        ):
            await tab.scheme(scheme)
            letters = "getComputedStyle(document.querySelector('#s1c0 .ytick text')).fill"
            await tab.until(f"{letters} === '{ink}'")
            assert await tab.value("getComputedStyle(document.body).backgroundColor") == paper
        assert await tab.value("document.documentElement.scrollWidth") <= width
        overlaps = await tab.value(
            """[...document.querySelectorAll("figure")].filter((figure) =>
                 figure.offsetParent &&
                 figure.querySelector(".main-svg").getBoundingClientRect().bottom >
                 figure.getBoundingClientRect().bottom + 1).length"""
        )
        assert overlaps == 0

    in_browser(width, check)
