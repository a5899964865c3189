"""Sphinx configuration of the site, built by ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import matchenv

project = "matchenv"
author = "The matchenv authors"
project_copyright = author
release = matchenv.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",
]

# Pages are Markdown that GitHub renders too: links between files, $formulas$, :::directives.
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
# The README's picture is raw HTML whose links lead to GitHub.
suppress_warnings = ["myst.header"]

# Modules that import these are documented without installing them.
autodoc_mock_imports = [
    "fastapi",
    "fastapi_swagger",
    "matplotlib",
    "pandas",
    "plotly",
    "prometheus_client",
    "safetensors",
    "sb3_contrib",
    "stable_baselines3",
    "starlette",
    "torch",
    "uvicorn",
]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Floats", "Generators", "Integers")}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "matchenv"
html_baseurl = "https://matchenv.github.io/matchenv/"
html_static_path = ["static"]
html_logo = "static/logo.svg"
html_favicon = "static/logo.svg"
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "sidebar_hide_name": False,
    "source_repository": "https://github.com/matchenv/matchenv/",
    "source_branch": "main",
    "source_directory": "docs/",
}
# Do not copy prompts and outputs.
copybutton_exclude = ".linenos, .gp, .go"

# Main index entries, which the site's search shows before titles and objects of the reference.
SEARCH_TERMS = {"ranking": "ranking"}

sys.path.insert(0, str(Path(__file__).parent))
from generate import ENVIRONMENTS  # noqa: E402, docs/ is no package


def include_search_term(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the index entry of a page after its title."""
    del app
    if page in SEARCH_TERMS:
        title, text = source[0].split("\n", 1)
        source[0] = f"{title}\n\n```{{index}} ! {SEARCH_TERMS[page]}\n```\n{text}"


def leave_out_markdown(
    app: Sphinx, what: str, name: str, made: object, options: Any, lines: list[str]
) -> None:
    """Replace an environment's docstring, which is Markdown, by a link to its page."""
    del app, what, name, options
    for page, environment in ENVIRONMENTS.items():
        if made is environment:
            lines[:] = [lines[0], "", f"Documented on its own page: :doc:`/{page}`."]


def leave_out_fields(
    app: Sphinx, what: str, name: str, made: object, skip: bool, options: Any
) -> bool | None:
    """Skip the fields of named tuples, which the docstring of their class documents."""
    del app, what, name, skip, options
    return True if type(made).__name__ == "_tuplegetter" else None


def setup(app: Sphinx) -> None:
    """Register the functions above."""
    app.connect("source-read", include_search_term)
    app.connect("autodoc-process-docstring", leave_out_markdown, priority=400)
    app.connect("autodoc-skip-member", leave_out_fields)
