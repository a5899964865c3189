"""Results of several commands in one page that needs no network: ``matchenv report``."""

from matchenv.benchmarks.report.folders import sections_of
from matchenv.benchmarks.report.latex import latex_summary
from matchenv.benchmarks.report.page import page_text

__all__ = ["latex_summary", "page_text", "sections_of"]
