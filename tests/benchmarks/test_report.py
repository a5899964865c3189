"""The page and the LaTeX summary match the result files; learning curves of runs."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from plotly.colors import hex_to_rgb
from scipy import stats

from matchenv.agents.environments import HeldOutGames
from matchenv.agents.run_config import RunConfig, RunFolder, configured
from matchenv.baselines import DrawChance, KnowledgeGradient
from matchenv.benchmarks import figures
from matchenv.benchmarks.report import charts, latex, sections_of
from matchenv.benchmarks.report import page as pages
from matchenv.benchmarks.report.explorer import Explorer
from matchenv.benchmarks.report.replay import wilson_interval
from matchenv.benchmarks.report.training import curves_of, levels_of, middle_of, read_runs
from matchenv.cli import DONE, run_command
from matchenv.evaluation.estimates import Estimate
from matchenv.evaluation.registry import ONE_PLAYER

LOG = Path(__file__).resolve().parent.parent / "logs" / "data" / "league.csv"
SIZES = {"num_opponents": 3, "horizon": 12}
SMALL = "--num-opponents 3 --horizon 12 --episodes 3 --rank top --prior informative --workers 1"
IN_QUEUE = "--env MatchmakingQueue-v0 --episodes 2 --horizon 12 --load 0.4 1.5 --workers 1"
# A small folder of each kind of results; the reference policy alone has no differences to show.
COMMANDS = {
    "a": f"compare {SMALL} --turnover 0.1 --draw-margin 1 --policy pe kg",
    "b": f"study {SMALL} --equal-variance matching",
    "c": f"tune {SMALL} --tau 0.1 --policy kg:multiplier=0 kg:multiplier=5",
    "d": f"limits {SMALL} --beta 2 --policy kg",
    "e": "limits optimum --num-opponents 2 --horizon 2 --episodes 2 --truths 2 --policy kg "
    "--beta 2 --draw-margin 1",
    "f": f"replay {LOG}",
    "queue_compare": f"compare {IN_QUEUE} --policy kg",
    "queue_tune": f"tune {IN_QUEUE} --policy window",
    "teams": f"compare {IN_QUEUE} --env-kwargs side_size=2 party_sizes=[.5,.5] --policy fcfs",
    "runs/seed0/comparison": f"compare {SMALL} --policy pe",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for seed in range(2):
        write_run(folder / "runs" / f"seed{seed}", seed, [2.5, 102.5], env_kwargs=SIZES)
    with pytest.MonkeyPatch.context() as patch:
        # The page does not use the figures.
        patch.setattr("matchenv.benchmarks.study.figures.files_of", lambda *_: [])
        for out, words in COMMANDS.items():
            assert run_command([*words.split(), "--quiet", "--out", str(folder / out)]) == DONE
    return folder


@pytest.fixture(scope="module")
def page(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    latex = file.with_suffix(".tex")
    words = ["report", str(results), "--out", str(file), "--latex", str(latex), "--quiet"]
    assert run_command(words) == DONE
    return file


@pytest.fixture(scope="module")
def html(page: Path) -> str:
    """The page without scripts."""
    return re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.DOTALL)


def kinds_of(*folders: Path) -> list[str]:
    return [section.title.partition(":")[0] for section in sections_of(folders)]


def test_every_kind_of_results_has_a_section(results: Path) -> None:
    one_player = ["train", "compare", "study", "tune", "bound", "optimum", "replay"]
    assert kinds_of(results) == [*one_player, "compare", "tune", "compare"]
    for section in sections_of([results]):
        assert section.settings
        types = {type(block.content) for block in section.blocks}
        assert {pd.DataFrame, go.Figure} <= types


def test_tables_have_the_numbers_of_the_files(results: Path, html: str) -> None:
    cells = {unescape(cell) for cell in re.findall(r"<td>(.*?)</td>", html)}
    standing = json.loads((results / "a" / "comparison.json").read_text())["standings"][0]
    difference = standing["difference"]
    interval = f"[{difference['low']:+.2f}, {difference['high']:+.2f}]"
    assert f"{standing['true_draw_density']['mean']:.2f}" in cells
    assert f"{difference['mean']:+.2f} {interval}" in cells
    assert "+100.50" in cells
    assert "<th>oracle - bound</th>" in html
    for band in json.loads((results / "teams" / "comparison.json").read_text())["bands"]:
        if band["wait"]["mean"] is not None:
            assert format(Estimate(**band["wait"]), ".2f") in cells
    for claim in json.loads((results / "b" / "verdict.json").read_text())["claims"]:
        assert {claim["text"], claim["verdict"]} <= cells


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("a/comparison.txt", "turnover 0.1, draw_margin 1.0\n"),
        ("b/summary.md", "equal_variance matching. "),
        ("b/verdict.md", "equal_variance matching. "),
        ("c/tuning.md", "num_opponents 3, horizon 12, seed 0, tau 0.1\n"),
        ("d/bound.txt", "seed 0, beta 2.0; "),
        ("e/optimum.txt", "beta 2.0, draw_margin 1.0\n"),
        ("runs/seed0/comparison/comparison.txt", "horizon 12, seed 0\n"),
    ],
)
def test_texts_name_the_options_that_are_not_the_defaults(
    results: Path, file: str, options: str
) -> None:
    assert f", {options}" in (results / file).read_text()


def test_the_page_works_offline_and_on_any_screen(html: str) -> None:
    addresses = re.findall(r'(?:src|href)="(.*?)"', html)
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "url(" not in html
    assert 'content="width=device-width, initial-scale=1"' in html
    assert "color-scheme: light dark" in html
    assert "@media (prefers-color-scheme: dark)" in html
    # Tables scroll in their own box, but for settings and versions; no figure has a fixed width.
    details = html.count("<summary>Settings") + html.count("<summary>Versions")
    assert html.count("<table") == html.count('<div class="scroll">') + details
    assert not re.search(r"(?<!max-)width: ?\d+px", html)


def test_a_name_has_one_colour_per_page() -> None:
    bands = []
    lines = []
    sections = []
    for name in ("mine", "kg <b>", "mine"):
        curve = charts.Curve(name, x=[0, 1], y=[0, 1], low=[0, 0], high=[1, 1])
        figure = charts.new_figure("x", "y", [curve])
        assert figure.layout.showlegend  # by default Plotly shows none for one name
        band, line = figure.data
        bands.append(band)
        lines.append(line)
        sections.append(pages.Section("title", "", {}, [pages.Block("title", figure)]))
    pages.page_text(sections)
    mine, kg, again = (line.line for line in lines)
    assert mine.color == again.color != kg.color
    assert mine.dash == again.dash != kg.dash
    assert lines[1].name == "kg &lt;b&gt;"
    for band, line in zip(bands, lines, strict=True):
        assert band.fillcolor == f"rgba{(*hex_to_rgb(line.line.color), 0.18)}"


def test_points_have_intervals() -> None:
    estimate = Estimate(2.0, 0.5, 1.0, 4.0)
    values = [charts.NamedValue(name, "top, equal", estimate) for name in ("kg", "oracle")]
    figure = charts.points("q minus that of kg <b>", values, level=(0.0, "kg <b>"))
    assert figure.layout.xaxis.title.text == "q minus that of kg &lt;b&gt;"
    assert figure.layout.annotations[0].text == "kg &lt;b&gt;"
    kg, oracle = figure.data
    assert kg.x[0] == 2.0
    assert kg.error_x.array[0] == 2.0
    assert kg.error_x.arrayminus[0] == 1.0
    assert tuple(kg.customdata[0]) == (1.0, 4.0)  # for the hover text
    assert oracle.visible == "legendonly"


def test_a_chart_of_many_points_is_higher() -> None:
    def height(count: int) -> float | None:
        values = []
        for number in range(count):
            estimate = Estimate(2.0, 0.5, 1.0, 4.0)
            values.append(charts.NamedValue("kg", str(number), estimate))
        return charts.points("q", values).layout.height

    assert height(2) is None  # that of the other figures
    assert height(80) - height(50) == 30 * charts.POINT


def test_a_curve_of_one_value_is_a_point() -> None:
    figure = charts.new_figure(
        "x", "y", [charts.Curve("one", [1], [2]), charts.Curve("two", [1, 2], [2, 3])]
    )
    assert [trace.mode for trace in figure.data] == ["markers", "lines"]


def test_equal_results_give_equal_pages(results: Path, page: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.html"
    assert run_command(["report", str(results), "--out", str(again), "--quiet"]) == DONE
    assert again.read_bytes() == page.read_bytes()
    assert not (tmp_path / "again.tex").exists()


def test_each_folder_is_shown_once(results: Path) -> None:
    (once,) = sections_of([results / "runs"])
    assert once.title == "train: seed0, seed1"
    assert once.blocks[-2].title == "Final comparison: differences to kg"
    end = results / "runs" / "seed0" / "comparison"
    assert kinds_of(results / "runs", end) == ["train", "compare"]
    # Other results below a run are shown.
    saved = results / "runs" / "seed0" / "saved"
    shutil.copytree(results / "a", saved)
    assert kinds_of(results / "runs") == kinds_of(results / "runs", saved) == ["train", "compare"]
    shutil.rmtree(saved)
    assert kinds_of(results / "a", results / "a", results / "runs" / "seed0") == [
        "train",
        "compare",
    ]


def test_trees_may_have_links_equal_names_and_files_of_others(
    results: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        shutil.copytree(results / "a", tmp_path / name / "compare")
        (tmp_path / name / "loop").symlink_to(tmp_path / name)
    (tmp_path / "one" / "compare" / "judge.json").write_text('{"name": "of another program"}')
    (tmp_path / "one" / "report.json").write_text("[]")
    (tmp_path / "linked").symlink_to(results)
    titles = [section.title for section in sections_of([tmp_path])]
    assert f"compare: compare ({tmp_path / 'one' / 'compare'})" in titles
    assert f"compare: compare ({tmp_path / 'two' / 'compare'})" in titles
    assert len(set(titles)) == len(titles) == len(kinds_of(results)) + 2


def test_the_latex_summary_has_settings_and_says_what_intervals_are(
    results: Path, page: Path
) -> None:
    summary = page.with_suffix(".tex").read_text()
    for section in sections_of([results]):
        settings = ", ".join(f"{name} {value}" for name, value in section.settings.items())
        assert latex.escaped(settings) in summary
    study, *_ = re.findall(r"caption\{(True q per.*?)\}", summary)
    assert study == r"True q per episode, minus that of pe. $\pm$ is half of a 95 \% interval."
    tables = re.findall(r"\\caption(.*?)\\label(.*?)end{table}", summary, re.DOTALL)
    for caption, cells in tables:
        assert (r"$\pm$" in caption) == (r"$\pm$" in cells)


def test_the_latex_summary_is_balanced(page: Path) -> None:
    summary = page.with_suffix(".tex").read_text()
    without_escapes = re.sub(r"\\[\\{}%&$#_]", "", summary)
    assert without_escapes.count("{") == without_escapes.count("}")
    assert summary.count(r"\begin{tabular}") >= 10
    labels = re.findall(r"\\label\{(.*?)\}", summary)
    assert summary.count(r"\caption{") == len(labels) == len(set(labels)) == 10
    assert summary.count(r"\begin{table}") == summary.count(r"\end{table}")
    assert summary.count(r"\begin{tabular}") == summary.count(r"\end{tabular}")


# A table of many policies.
FIRST = "middle rank, informative prior"
WIDE = "-10.35 ± 10.48"
MANY = [f"kg:multiplier={number}" for number in range(12)]
TABULAR = re.compile(r"\\begin\{tabular\}\{@\{\}(\w+)@\{\}\}(.*?)\\end", re.DOTALL)


def table(names: list[str], cell: str, first: str = FIRST) -> str:
    row = {"cell": first} | dict.fromkeys(names, cell)
    return latex.latex_table(pages.Block("True q minus that of kg", pd.DataFrame([row, row])))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50 % of a_b & {x}", r"50 \% of a\_b \& \{x\}"),
        ("a\\b", r"a\textbackslash{}b"),
        # At the start of a row, LaTeX reads these as options of the preceding line.
        ("[a]", "{[}a]"),
        ("*", "{*}"),
        ("#$~^|±", r"\#\$\textasciitilde{}\textasciicircum{}\textbar{}$\pm$"),
        ("-0.3 [-1.2, +0.5]", "$-$0.3 {[}$-$1.2, +0.5]"),
        ("seed 3, ppo-2, 2026-11-22", "seed 3, ppo-2, 2026-11-22"),
    ],
)
def test_special_characters_are_escaped(text: str, expected: str) -> None:
    assert latex.escaped(text) == expected
    assert f"cell & {expected} " in table([text], "1")


def test_wide_tables_are_split() -> None:
    tabulars = TABULAR.findall(table(MANY, WIDE))
    assert len(tabulars) > 1
    columns: list[str] = []
    for layout, content in tabulars:
        lines = [line for line in content.splitlines() if " & " in line]
        heading, *rows = [line.removesuffix(r" \\").split(" & ") for line in lines]
        assert len(heading) == len(layout)
        for row in rows:
            assert len(row) == len(layout)
            assert row[0] == FIRST
        columns += heading[1:]
    assert columns == MANY


def test_bad_input_is_explained_in_one_line(results: Path, tmp_path: Path, typed: Any) -> None:
    def refusal(*words: object) -> str:
        return str(typed(["report", *map(str, words)]).refusal)

    assert "--out folder of matchenv train, compare" in refusal(tmp_path)
    assert "missing contains no results" in refusal(tmp_path / "missing")
    assert "must end in .html" in refusal(results / "a", "--out", tmp_path / "a.pdf")
    damaged = {"a": "comparison.json", "c": "tuning.csv", "runs": "seed1/evaluations.json"}
    for name, file in damaged.items():
        shutil.copytree(results / name, tmp_path / name)
        (tmp_path / name / file).write_text("{")
        line = refusal(tmp_path / name)
        assert str(tmp_path / name) in line
        assert "run its command again" in line or f"{Path(file).name} must be JSON" in line
    (tmp_path / "a" / "comparison.json").write_text('{"checksum": "1"}')
    assert "run its command again" in refusal(tmp_path / "a")
    (tmp_path / "a" / "comparison.json").write_text("{}")
    assert "contains no results" in refusal(tmp_path / "a")
    shutil.copytree(results / "b", tmp_path / "b")
    windows = tmp_path / "b" / "windows.csv"
    windows.write_bytes(windows.read_bytes()[:-9])
    assert "its last line is not complete" in refusal(tmp_path / "b")
    windows.unlink()
    assert "windows.csv" in refusal(tmp_path / "b")
    assert not list(tmp_path.glob("**/report.html"))


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(params=[1280, 390], ids=["laptop", "phone"])
def tab(page: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Open the page in Chromium; neither errors nor network requests are allowed."""
    api = pytest.importorskip("playwright.sync_api")
    paths = [path for path in map(shutil.which, BROWSERS) if path is not None]
    if not paths:
        pytest.skip("no Chromium on this machine")
    complaints: list[str] = []
    requests: list[str] = []
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=paths[0], args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": request.param, "height": 900})
        tab.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(page.as_uri())
        tab.wait_for_selector("#s1c0 .xaxislayer-above", state="attached")
        yield tab
        browser.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


@pytest.mark.slow
def test_sorting_layout_and_colour_scheme(tab: Any) -> None:
    column = (
        "[...document.querySelectorAll('#s1 > .scroll:last-of-type tbody tr')]"
        ".map((row) => parseFloat(row.cells[3].textContent))"
    )
    heading = tab.locator("#s1 > .scroll:last-of-type th:nth-child(4) button")
    heading.click()
    rising = tab.evaluate(column)
    assert len(rising) > 1
    assert rising == sorted(rising)
    heading.click()
    assert tab.evaluate(column) == sorted(rising, reverse=True)
    for scheme, paper, ink in (
        ("light", "rgb(255, 255, 255)", "rgb(27, 31, 36)"),
        ("dark", "rgb(13, 17, 23)", "rgb(230, 237, 243)"),
    ):
        tab.emulate_media(color_scheme=scheme)
        letters = "getComputedStyle(document.querySelector('#s1c0 .ytick text')).fill"
        tab.wait_for_function(f"{letters} === '{ink}'")
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    width = tab.viewport_size["width"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    overlaps = tab.evaluate(
        """[...document.querySelectorAll("figure:has(.main-svg)")].filter((figure) =>
             figure.offsetParent &&
             figure.querySelector(".main-svg").getBoundingClientRect().bottom >
             figure.getBoundingClientRect().bottom + 1).length"""
    )
    assert overlaps == 0
    numbers = "document.querySelectorAll('#s1 > .scroll:last-of-type td.number').length"
    assert tab.evaluate(numbers) > 0


@pytest.mark.slow
def test_the_explorer_follows_its_slider(tab: Any) -> None:
    explorer = tab.locator(".explorer").first
    assert explorer.locator(".panels figure").count() == 4
    slider = explorer.locator("input")
    slider.fill("0")
    assert explorer.locator("output").inner_text() == "game 0 of 12"
    slider.fill("12")
    assert explorer.locator("output").inner_text() == "game 12 of 12"
    content = json.loads(explorer.locator("script").inner_text())
    captions = explorer.locator("figcaption").all_inner_texts()
    for caption, policy in zip(captions, content["policies"], strict=True):
        name, total = caption.split(" total true q ")
        assert name == policy["name"]
        assert float(total) == pytest.approx(sum(policy["q"]), abs=0.006)
    assert explorer.locator("svg:not([aria-label])").count() == 0


def test_the_explorer_replays_an_episode_of_the_comparison(results: Path) -> None:
    (section,) = sections_of([results / "a"])
    (explorer,) = (b.content for b in section.blocks if isinstance(b.content, Explorer))
    played = {policy["name"]: policy for policy in explorer.content["policies"]}
    assert set(played) == {"pe", "kg", "drawchance", "oracle"}
    assert all(policy["skill"] == played["kg"]["skill"] for policy in played.values())
    with np.load(results / "a" / "episodes.npz") as table:
        totals = {}
        for policy in played:
            totals[policy] = table["true_draw_density"][table["policy"] == policy]
    first, *others = totals.values()
    distances = np.zeros(3)
    for other in others:
        difference = other - first
        if difference.std() > 0.0:
            distances += ((difference - difference.mean()) / difference.std()) ** 2
    typical = np.argmin(distances)
    assert f"episode {typical}" in explorer.note
    for name, policy in played.items():
        assert sum(policy["q"]) == pytest.approx(totals[name][typical], rel=1e-3)
        assert len(policy["changes"]) == len(policy["opponent"]) == 12
        # Every game changes the belief about player 0 and the opponent, or too little to be seen.
        assert policy["changes"][0][0] == 0
        assert policy["opponent"][0] in policy["changes"][0][::3]


def test_comparisons_with_code_or_of_other_environments_have_no_explorer(
    results: Path, tmp_path: Path
) -> None:
    for folder in ("queue_compare", "runs/seed0/comparison"):
        for section in sections_of([results / folder]):
            contents = [block.content for block in section.blocks]
            if section.title.startswith("compare: queue"):
                assert not any(isinstance(content, Explorer) for content in contents)
    shutil.copytree(results / "a", tmp_path / "a")
    (tmp_path / "a" / "episodes.npz").unlink()
    (section,) = sections_of([tmp_path / "a"])
    assert not any(isinstance(block.content, Explorer) for block in section.blocks)


@pytest.mark.parametrize("page_colour", ["#ffffff", "#0d1117"])
def test_colours_of_charts_have_enough_contrast(page_colour: str) -> None:
    for colour in (*charts.COLOURS, charts.GREY):
        assert contrast(colour, page_colour) >= 3.0, colour


@pytest.mark.parametrize("colour", [colour for colour, _, _ in figures.LINES])
def test_colours_of_figures_have_enough_contrast(colour: str) -> None:
    assert contrast(colour, "#ffffff") >= 3.0


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2.2."""
    luminances = []
    for colour in (one, other):
        share = np.array(hex_to_rgb(colour)) / 255.0
        linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
        luminances.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


def test_graphics_have_labels(html: str) -> None:
    figures_of_page = re.findall(r"<figure([^>]*)>", html)
    assert len(figures_of_page) > 5
    assert all(re.search(r'aria-label="[^"]{10,}"', attributes) for attributes in figures_of_page)


GAMES: dict[str, Any] = {"num_opponents": 3, "horizon": 12, "rank": "top"}
EPISODES = 5


def write_run(
    path: Path, seed: int, numbers: list[float], timesteps: list[int] | None = None, **kwargs: Any
) -> RunConfig:
    """Write the folder of a run with given evaluations."""
    options = {"env_kwargs": GAMES, "evaluation_episodes": EPISODES, **kwargs}
    config = configured("ppo", seed=seed, **options)
    if timesteps is None:
        timesteps = [100 * n for n in range(len(numbers))]
    evaluations = []
    for step, number in zip(timesteps, numbers, strict=True):
        evaluation = {
            "timesteps": step,
            "episodes": EPISODES,
            "mean_return": number,
            "draw_density": number,
            "true_draw_density": number,
            "true_q_less_kg": number - 2.0,
            "true_q_less_drawchance": number + 1.0,
        }
        evaluations.append(evaluation)
    RunFolder.create(path, config).write_evaluations(seed, evaluations)
    return config


def test_runs_that_differ_only_in_their_seed_share_a_curve(tmp_path):
    """Evaluations at different times are interpolated, up to the end of the shortest run."""
    for seed in range(4):
        write_run(tmp_path / f"seed{seed}", seed, [0.0, float(seed), 4.0 * seed], [0, 100, 400])
    write_run(tmp_path / "seed4", 4, [0.0, 16.0, 99.0], [0, 400, 900])
    runs = read_runs([*sorted(tmp_path.iterdir()), tmp_path / "seed0"])
    (curves,) = curves_of(runs, "true_draw_density").values()
    assert [run.config.seed for run in runs] == [0, 1, 2, 3, 4]
    assert curves[4].to_dict() == {0: 0.0, 100: 4.0, 400: 16.0}
    # The middle half of five seeds, and all of three.
    mean, low, high = middle_of(curves)
    assert mean.tolist() == [0.0, 2.0, 8.0]
    assert low.tolist() == [0.0, 1.0, 4.0]
    assert high.tolist() == [0.0, 3.0, 12.0]
    mean, low, high = middle_of(curves.iloc[:, :3])
    assert mean.tolist() == [0.0, 1.0, 4.0]
    assert low.tolist() == [0.0, 0.0, 0.0]
    assert high.tolist() == [0.0, 2.0, 8.0]
    # A run with other settings has a curve of its own.
    config = runs[4].config
    other = replace(config, hyperparameters={**config.hyperparameters, "gamma": 0.5})
    (tmp_path / "seed4" / "config.yml").write_text(other.to_text())
    labels = curves_of(read_runs(sorted(tmp_path.iterdir())), "mean_return")
    assert list(labels) == [f"ppo ({tmp_path / name})" for name in ("seed0", "seed4")]


@pytest.mark.parametrize(
    ("rival", "policy"), [("kg", KnowledgeGradient()), ("drawchance", DrawChance())]
)
def test_a_run_that_plays_a_baseline_is_at_its_level(tmp_path, rival, policy):
    write_run(tmp_path, 7, [0.0])
    result = HeldOutGames(ONE_PLAYER, GAMES, EPISODES, 7).evaluate(policy)
    RunFolder(tmp_path).write_evaluations(7, [{"timesteps": 0, **result}])
    runs = read_runs([tmp_path])
    (curves,) = curves_of(runs, "true_q_less_kg").values()
    assert levels_of(runs, "true_q_less_kg")[rival] == pytest.approx(curves.iloc[0, 0], abs=1e-12)


def test_the_page_shows_the_difference_and_the_return(tmp_path):
    for seed in range(2):
        write_run(tmp_path / f"seed{seed}", seed, [-100.0, 5.0 + seed])
    (section,) = sections_of([tmp_path])
    difference, returned, last = section.blocks
    assert last.content["true q minus kg's"].tolist() == ["+3.00", "+4.00"]
    assert difference.content.layout.yaxis.title.text == "true q minus kg's"
    assert "all of 2 seeds" in difference.note
    band, mean, kg, drawchance = difference.content.data
    assert mean.name == band.legendgroup == "ppo"
    assert mean.y.tolist() == [-102.0, 3.5]
    assert band.y.tolist() == [-102.0, 4.0, 3.0, -102.0]
    assert kg.name == "kg"
    assert kg.y.tolist() == [0.0, 0.0]
    assert drawchance.name == "drawchance"
    assert drawchance.y.tolist() == [-3.0, -3.0]
    # A fifth of the rise from -102 to drawchance is shown, and a margin.
    margin = 0.05 * (4.0 + 22.8)
    assert difference.content.layout.yaxis.range == pytest.approx((-22.8 - margin, 4.0 + margin))
    assert returned.content.layout.yaxis.title.text == "mean return"
    assert "all of 2 seeds" in returned.note
    band, mean = returned.content.data
    assert mean.name == band.legendgroup == "ppo"
    assert mean.y.tolist() == [-100.0, 5.5]
    assert band.y.tolist() == [-100.0, 6.0, 5.0, -100.0]


def test_intervals_of_evaluations_are_shown(tmp_path):
    write_run(tmp_path, 3, [1.0, 2.0])
    evaluations = RunFolder(tmp_path).read_evaluations()
    for evaluation in evaluations:
        evaluation["standard_error"] = 0.5
        evaluation["true_q_less_kg_low"] = evaluation["true_q_less_kg"] - 0.25
        evaluation["true_q_less_kg_high"] = evaluation["true_q_less_kg"] + 0.75
    RunFolder(tmp_path).write_evaluations(3, evaluations)
    (section,) = sections_of([tmp_path])
    difference, returned, last = section.blocks
    band, line, *_ = difference.content.data
    assert line.y.tolist() == [-1.0, 0.0]
    assert band.y.tolist() == [-0.25, 0.75, -0.25, -1.25]
    assert last.content["true q minus kg's"].tolist() == ["+0.00 [-0.25, +0.75]"]
    low, high = stats.t.interval(0.95, EPISODES - 1, 2.0, 0.5)
    assert last.content["mean return"].tolist() == [f"2.00 [{low:.2f}, {high:.2f}]"]
    assert returned.content.data[0].y[1] == pytest.approx(high)


def test_final_comparisons_show_all_policies_of_the_terminal(results: Path) -> None:
    (section,) = sections_of([results / "runs"])
    table = next(block for block in section.blocks if block.title.endswith("differences to kg"))
    compared = json.loads((results / "runs/seed0/comparison/comparison.json").read_text())
    others = set(compared["policies"]) - {"pe", "kg"}  # pe stands for the run
    assert set(table.content.columns) == {"cell", "seed0", *others}
    (chart,) = (block for block in section.blocks if block.title == "Final comparison")
    assert {trace.name for trace in chart.content.data} == {"seed0", *others}


def test_leads_of_a_study_have_paired_bands(tmp_path: Path) -> None:
    words = "study --num-opponents 3 --horizon 12 --episodes 4 --prior-draws 3 --rank top bottom"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matchenv.benchmarks.study.figures.files_of", lambda *_: [])
        command = [*words.split(), "--workers", "1", "--quiet", "--out", str(tmp_path)]
        assert run_command(command) == DONE
    (section,) = sections_of([tmp_path])
    titles = [block.title for block in section.blocks[:4]]
    assert titles == [
        "drawchance minus pe, informative prior",
        "kg minus pe, informative prior",
        "drawchance minus pe, equal prior",
        "kg minus pe, equal prior",
    ]
    paired = pd.read_csv(tmp_path / "paired.csv")
    for block in section.blocks[:4]:
        policy, _, rest = block.title.partition(" minus pe, ")
        prior = rest.removesuffix(" prior")
        bands = [trace for trace in block.content.data if trace.fill]
        lines = [trace for trace in block.content.data if not trace.fill]
        for band, line in zip(bands, lines, strict=True):
            rank, _, _ = line.name.partition(", ")
            is_row = paired["cell"] == f"{prior}_{rank}"
            is_row &= (paired["policy"] == policy) & (paired["other"] == "pe")
            is_row &= (paired["games"] == "all") & (paired["measure"] == "true_draw_density")
            (row,) = paired[is_row].to_dict("records")
            # At the end it is the paired difference of the totals.
            assert line.y[-1] == pytest.approx(12 * row["difference"])
            assert band.y[11] == pytest.approx(12 * row["high"])


def test_the_page_of_a_replay_has_ratings_and_counts(results: Path) -> None:
    (section,) = sections_of([results / "f"])
    tables = {block.title: block.content for block in section.blocks}
    ratings = pd.read_csv(results / "f" / "ratings.csv")
    ratings["bound"] = ratings["mu"] - 3.0 * ratings["sigma"]
    best = ratings.sort_values("bound", ascending=False)["player"].astype(str).tolist()
    assert tables["Ratings"]["player"].tolist() == best
    content = json.loads((results / "f" / "report.json").read_text())
    system = content["systems"]["trueskill"]["wins"]
    counts = tables["Calibration of wins: counts"]
    rows = counts[counts["system"] == "trueskill"]
    assert rows["forecasts"].astype(int).tolist() == [n for n in system["count"] if n]
    chart = tables["Calibration of wins"].data[0]
    assert chart.customdata[:, 0].tolist() == system["count"]


@pytest.mark.parametrize(("events", "count"), [(0, 10), (3, 20), (50, 50)])
def test_wilson_intervals(events: int, count: int) -> None:
    low, high = wilson_interval(np.array([events / count]), np.array([count]))
    interval = stats.binomtest(events, count).proportion_ci(0.95, "wilson")
    assert low[0] == pytest.approx(interval.low, abs=1e-4)
    assert high[0] == pytest.approx(interval.high, abs=1e-4)


def test_settings_that_differ_are_those_of_each_training(tmp_path):
    write_run(tmp_path / "seed0", 0, [0.0, 1.0])
    write_run(tmp_path / "seed1", 1, [0.0, 1.0])
    write_run(tmp_path / "seed2", 2, [0.0, 1.0], hyperparameters={"gamma": 0.5})
    (section,) = sections_of([tmp_path])
    gamma = configured("ppo").hyperparameters.get("gamma", "not given")
    assert section.settings["gamma"] == (
        f"{gamma} in ppo ({tmp_path / 'seed0'}); 0.5 in ppo ({tmp_path / 'seed2'})"
    )
    assert section.settings["algorithm"] == "ppo"
    assert section.settings["horizon"] == "12"
    assert section.lead.endswith(
        "of its seed, which kg and drawchance play too. Measures are sums over an episode."
    )


def test_other_environments_show_their_own_measure(tmp_path):
    config = configured("ppo", environment="Ranking-v0", evaluation_episodes=EPISODES)
    numbers = {"mean_return": 80.0, "less_kg": -1.5, "less_information": 0.5}
    RunFolder.create(tmp_path / "ranker", config).write_evaluations(
        0, [{"timesteps": 0, "episodes": EPISODES, **numbers}]
    )
    (section,) = sections_of([tmp_path])
    assert "Ranking-v0" in section.lead
    *blocks, last = section.blocks
    titles = [chart.content.layout.yaxis.title.text for chart in blocks]
    assert titles == ["reward minus kg's", "mean return"]
    assert last.content["reward minus kg's"].tolist() == ["-1.50"]
    names = [trace.name for trace in blocks[0].content.data]
    assert names[1:] == ["ppo", "kg", "information"]
