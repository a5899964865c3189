"""Maximum-weight matching of everyone with everyone, exactly."""

from __future__ import annotations

import numpy as np
import rustworkx
from numpy.typing import NDArray

from matchenv.envs.queue.view import NOBODY

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# rustworkx takes whole numbers: the heaviest pair gets this many, so that a matching of a million
# pairs stays within 64 bits, and a pair's weight is off by less than 1e-12 of the heaviest.
HEAVIEST = 1 << 42


def exact_matching(weights: Floats) -> Integers:
    """Who plays whom, so that the weights of the pairs have the greatest sum.

    Args:
        weights: shape (n, n), symmetric and finite; the diagonal is not read. Pairs of weight 0
            or less are never made.

    Returns:
        The partner of each, shape (n,), ``NOBODY`` for those left alone.

    Source: the blossom method of Edmonds (1965) as Galil (1986) describes it, by rustworkx;
        O(n^3).
    """
    count = len(weights)
    partners = np.full(count, NOBODY, dtype=np.int64)
    first, second = np.triu_indices(count, 1)
    weight = weights[first, second]
    worthwhile = weight > 0.0
    if not worthwhile.any():
        return partners
    first, second, weight = first[worthwhile], second[worthwhile], weight[worthwhile]
    whole = np.rint(weight * (HEAVIEST / weight.max())).astype(np.int64)
    graph: rustworkx.PyGraph[None, int] = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from([None] * count)
    graph.add_edges_from(list(zip(first.tolist(), second.tolist(), whole.tolist(), strict=True)))
    for i, j in rustworkx.max_weight_matching(graph, max_cardinality=False, weight_fn=int):
        partners[i], partners[j] = j, i
    return partners
