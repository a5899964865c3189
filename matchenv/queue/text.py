"""Those who wait as text."""

from __future__ import annotations

from matchenv.envs.queue.view import NOBODY, WaitingPlayers

SHOWN_CANDIDATES = 10


def describe_queue(waiting: WaitingPlayers) -> str:
    """The focal player and the nearest candidates, a line each.

    Args:
        waiting: everyone who waits in one queue.
    """
    settings, focal = waiting.settings, waiting.focal
    lines = [
        f"tick {waiting.tick} of {settings.horizon}: {waiting.mu.size} waiting, "
        f"{waiting.playing} playing"
    ]
    if focal == NOBODY:
        return f"{lines[0]}\nnobody is asked about"
    lines.append(
        f"player {waiting.player[focal]}: mu {waiting.mu[focal]:+.3f}, "
        f"sigma {waiting.sigma[focal]:.3f}, waits since {waiting.waited[focal]} ticks"
    )
    found, quality = waiting.filled, waiting.candidate_quality()
    if found.size:
        lines.append(
            f"{'action':>6} {'player':>8} {'mu':>8} {'sigma':>7} {'ticks':>6} {'quality':>8}"
        )
    lines += [
        f"{k + 1:>6} {waiting.player[j]:>8} {waiting.mu[j]:>+8.3f} {waiting.sigma[j]:>7.3f} "
        f"{waiting.waited[j]:>6} {quality[k]:>8.4f}"
        for k, j in enumerate(found[:SHOWN_CANDIDATES].tolist())
    ]
    hidden = found.size - SHOWN_CANDIDATES
    if hidden > 0:
        lines.append(f"and {hidden} more candidates, each with a larger gap")
    return "\n".join(lines)
