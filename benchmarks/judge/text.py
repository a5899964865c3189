"""A judgement as text."""

from __future__ import annotations

from matchenv.benchmarks.judge.columns import (
    CONTESTS,
    GAINS,
    GAMES,
    PAYERS,
    Row,
    of,
    standing_columns,
)
from matchenv.evaluation.tables import text_table
from matchenv.runtime.files import number

# What the score of favourites says of the matcher, by the verdict.
FAVOURITES = {
    "ahead": "favourites do better than is believed",
    "behind": "favourites do worse than is believed: the matcher may know more than the log",
    "undecided": "no difference that this log can tell",
}


def judgement_text(found: Row) -> str:
    """Tables of the games, of the matchers, of who pays and of what learning would gain.

    Args:
        found: a judgement as ``as_plain`` gives it.
    """
    model = ", ".join(f"{name} {value:.4g}" for name, value in found["parameters"].items() if value)
    evenness, against = found["evenness"], found["against"]
    known = "the present one, " if found["has_rule"] else ""
    lines = [
        f"{found['name']}: {found['games']:,} games of {found['players']:,} players; {model}",
        *(f"note: {note}" for note in found["notes"]),
        "",
        "How even were the games? Match quality, 1 between equal known skills; [..]: "
        f"{100.0 * found['confidence']:.0f} % interval",
        *text_table(GAMES, evenness["groups"]),
        f"sides of the log that meet at random: {number(evenness['strangers']):.3f} in hindsight",
        favourites_text(evenness["favourites"]),
        "",
        load_text(found["load"]),
        "",
        f"Matchers at this load, {found['runs']} runs of {found['environment']['horizon']} ticks "
        f"of {60.0 * found['load']['tick_minutes']:.0f} s",
        *text_table(standing_columns(found["load"]["tick_minutes"]), found["standings"]),
        likeness_text(found),
    ]
    tables = {
        f"Less {known}{against}, on the same arrivals and noise": (CONTESTS, found["contests"]),
        f"Who pays, if {found['ours']} were to take its place": (PAYERS, found["who_pays"]),
        "How much would learning have gained?": (GAINS, found["learning"]),
    }
    for title, (columns, rows) in tables.items():
        if rows:
            lines += ["", title, *text_table(columns, rows)]
    return "\n".join(lines)


def favourites_text(favourites: Row) -> str:
    """What favourites were expected to score, and what they did."""
    if not favourites["pairs"]:
        return "nobody was a favourite in any game"
    stated, scored, difference = (
        of(favourites, name) for name in ("stated", "scored", "difference")
    )
    return (
        f"favourites: expected to score {100.0 * stated.mean:.1f} %, scored "
        f"{100.0 * scored.mean:.1f} %, {difference.times(100.0).interval_text(1)} points: "
        f"{FAVOURITES[favourites['verdict']]}"
    )


def likeness_text(found: Row) -> str:
    """How like the log the games are that the matcher makes here, which nobody has fitted."""
    games = of(found["evenness"]["groups"][0], "believed").mean
    (here,) = (each for each in found["standings"] if each["policy"] == found["against"])
    return (
        f"believed quality of the games: {games:.3f} in the log, "
        f"{of(here, 'match_quality').mean:.3f} here by {found['against']}"
    )


def load_text(load: Row) -> str:
    """The load in a sentence."""
    told = "read off the log's times" if load["read_off"] else "as given"
    mean = number(load["mean_rate"])
    overall = f" ({mean:.3g} over all hours)" if mean == mean else ""
    between = number(load["between_minutes"])
    beside = f" ({between:.1f} more pass to the next one)" if between == between else ""
    return (
        f"Load, {told}: {load['arrival_rate']:.3g} log on in a minute when a typical player does"
        f"{overall}, {100.0 * load['newcomers']:.0f} % of them new; a game takes "
        f"{load['game_minutes']:.1f} minutes{beside}, after it {100.0 * load['stay']:.0f} % queue "
        f"again; patience {load['patience_minutes']:.1f} minutes, which no log tells"
    )
