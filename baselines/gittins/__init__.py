"""The Gittins index of an opponent: what theory gives for the choice among independent arms."""

from matchenv.baselines.gittins.policy import Gittins
from matchenv.baselines.gittins.table import IndexTable, index_table
from matchenv.baselines.gittins.wide import WideGittins

__all__ = ["Gittins", "IndexTable", "WideGittins", "index_table"]
