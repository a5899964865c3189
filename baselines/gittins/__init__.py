"""The Gittins index of an opponent: what theory gives for the choice among independent arms."""

from matchenv.baselines.gittins.policy import Gittins
from matchenv.baselines.gittins.table import IndexTable, index_table

__all__ = ["Gittins", "IndexTable", "index_table"]
