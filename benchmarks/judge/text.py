"""A judgement in words and tables, of the plain data in its JSON file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from matchenv.evaluation.estimates import AHEAD, BEHIND, Estimate
from matchenv.evaluation.tables import Column, text_table
from matchenv.evaluation.visits import DECILES, GROUPS
from matchenv.runtime.files import number

Row = Mapping[str, Any]

PLACES = ("weakest", "2nd", "3rd", *(f"{k}th" for k in range(4, DECILES)), "strongest")
TITLES = dict(
    zip(GROUPS, ("all", "newcomers", "others", *(f"{k} tenth" for k in PLACES)), strict=True)
)

# What the score of favourites says of the matcher, by the verdict.
FAVOURITES = {
    "ahead": "favourites do better than expected",
    "behind": "favourites do worse than expected: the matcher may know more than the log",
    "undecided": "no measurable difference",
}


def of(row: Row, name: str) -> Estimate:
    """Return one estimate of a row."""
    return Estimate.from_plain(row[name])


def _interval(name: str, digits: int, factor: float = 1.0) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        value = of(row, name)
        return value.times(factor).interval_text(digits) if value.mean == value.mean else ""

    return cell


def _ends(name: str) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        value = of(row, name)
        return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"

    return cell


def _word(name: str) -> Callable[[Row], str]:
    return lambda row: str(row["verdicts"][name])


def _share(row: Row) -> str:
    share = number(row["share"])
    return f"{100.0 * share:+.1f} %" if share == share else ""


def standing_columns(minutes: float) -> tuple[Column, ...]:
    """Return the columns of all matchers, for ticks of so many minutes."""
    return (
        Column("policy", lambda row: row["policy"]),
        Column("true reward", lambda row: f"{of(row, 'true_reward').mean:.1f}"),
        Column("quality", lambda row: f"{of(row, 'match_quality').mean:.3f}"),
        Column("true quality", lambda row: f"{of(row, 'true_match_quality').mean:.3f}"),
        Column("wait, minutes", lambda row: f"{minutes * of(row, 'wait').mean:.2f}"),
        Column("95 %, minutes", lambda row: f"{minutes * number(row['long_wait']):.1f}"),
        Column("left", lambda row: f"{100.0 * of(row, 'left').mean:.2f} %"),
    )


GAMES = (
    Column("players", lambda row: TITLES[row["group"]]),
    Column("participations", lambda row: f"{row['parts']:,}"),
    Column("believed", _ends("believed")),
    Column("in hindsight", _ends("hindsight")),
    Column("minus all", _interval("difference", 3)),
    Column("verdict", lambda row: row["verdict"]),
)

POLICY = Column("policy", lambda row: row["policy"])
REWARD = (Column("true reward", _interval("reward", 1)), Column("verdict", _word("reward")))
CHANGES = (
    Column("true quality", _interval("quality", 3)),
    Column("verdict", _word("quality")),
    Column("wait, minutes", _interval("wait", 2)),
    Column("verdict", _word("wait")),
    Column("left, %", _interval("left", 2, 100.0)),
    Column("verdict", _word("left")),
)
CONTESTS = (POLICY, *REWARD, *CHANGES)
PAYERS = (Column("players", lambda row: TITLES[row["group"]]), *CHANGES)
GAINS = (
    Column("question", lambda row: row["question"]),
    POLICY,
    Column("compared with", lambda row: row["than"]),
    Column("share", _share),
    *REWARD,
    *CHANGES[:2],
)


def judgement_text(found: Row) -> str:
    """Return the conclusion, and tables of the games, the matchers, who pays and learning.

    ``found`` is a judgement as its JSON file has it.
    """
    model = ", ".join(f"{name} {value:.4g}" for name, value in found["parameters"].items() if value)
    evenness, against, load = found["evenness"], found["against"], found["load"]
    known = "the present one, " if found["has_rule"] else ""
    lines = [
        conclusion(found),
        "",
        f"{found['name']}: {found['games']:,} games of {found['players']:,} players; {model}",
        *(f"note: {note}" for note in found["notes"]),
        "",
        "How even were the games? Match quality, 1 between equal known skills; [..]: "
        f"{100.0 * found['confidence']:.0f} % interval",
        *text_table(GAMES, evenness["groups"]),
        f"sides of the log that meet at random: {number(evenness['strangers']):.3f} in hindsight",
        favourites_text(evenness["favourites"]),
        "",
        load_text(load),
        "",
        f"Matchers at this load, {found['runs']} runs of {found['environment']['horizon']} ticks "
        f"of {60.0 * load['tick_minutes']:.0f} s",
        *text_table(standing_columns(load["tick_minutes"]), found["standings"]),
        likeness_text(found),
    ]
    tables = {
        f"Minus {known}{against}, on the same arrivals and luck": (CONTESTS, found["contests"]),
        f"Who pays, if {found['ours']} were to take its place": (PAYERS, found["who_pays"]),
        "How much would learning have gained?": (GAINS, found["learning"]),
    }
    for title, (columns, rows) in tables.items():
        if rows:
            lines += ["", title, *text_table(columns, rows)]
    return "\n".join(lines)


def conclusion(found: Row) -> str:
    """Return what the judgement comes to, in one paragraph."""
    if found["failed"]:
        return (
            f"{found['name']} says little about its matcher: the fitted model forecasts its games "
            "no better than a constant. So there are no verdicts; the numbers below are those of "
            "the fitted model. Fit games that were not matched on skill, and give that fit."
        )
    evenness, ours, against = found["evenness"], found["ours"], found["against"]
    groups = evenness["groups"]
    said = [
        f"The games had a match quality of {of(groups[0], 'hindsight').mean:.3f}, sides that meet "
        f"at random one of {number(evenness['strangers']):.3f}."
    ]
    for verdict, words in ((BEHIND, "Less"), (AHEAD, "More")):
        names = [TITLES[each["group"]] for each in groups if each["verdict"] == verdict]
        if names:
            said.append(f"{words} even than the average are the games of: {', '.join(names)}.")
    for each in found["contests"]:
        quality, wait, words = of(each, "quality"), of(each, "wait"), each["verdicts"]
        if each["policy"] == ours and words["quality"] and words["wait"]:  # both were measured
            said.append(
                f"At this load {ours} in place of {against} changes the quality by "
                f"{quality.mean:+.3f} ({words['quality']}) and the wait by "
                f"{wait.mean:+.2f} minutes ({words['wait']})."
            )
    losers = [
        TITLES[each["group"]] for each in found["who_pays"] if BEHIND in each["verdicts"].values()
    ]
    if losers:
        said.append(f"It would be worse in some way for: {', '.join(losers)}.")
    said += [
        f"Knowing all skills would change the true reward by {_share(each)} "
        f"({each['verdicts']['reward']})."
        for each in found["learning"][:1]
        if _share(each)
    ]
    return " ".join(said)


def favourites_text(favourites: Row) -> str:
    """Return what favourites were expected to score, and what they did."""
    if not favourites["pairs"]:
        return "no game had a favourite"
    stated, scored, difference = (
        of(favourites, name) for name in ("stated", "scored", "difference")
    )
    return (
        f"favourites: expected to score {100.0 * stated.mean:.1f} %, scored "
        f"{100.0 * scored.mean:.1f} %, {difference.times(100.0).interval_text(1)} points: "
        f"{FAVOURITES[favourites['verdict']]}"
    )


def likeness_text(found: Row) -> str:
    """Return how the simulated games compare with those of the log, which nothing was fitted to."""
    games = of(found["evenness"]["groups"][0], "believed").mean
    (here,) = (each for each in found["standings"] if each["policy"] == found["against"])
    return (
        f"believed quality of the games: {games:.3f} in the log, "
        f"{of(here, 'match_quality').mean:.3f} here by {found['against']}"
    )


def load_text(load: Row) -> str:
    """Return the load in a sentence."""
    source = "read off the log's times" if load["read_off"] else "as given"
    mean, between = number(load["mean_rate"]), number(load["between_minutes"])
    overall = f" ({mean:.3g} over all hours)" if mean == mean else ""
    beside = f" ({between:.1f} more pass to the next one)" if between == between else ""
    return (
        f"Load, {source}: {load['arrival_rate']:.3g} log on in a minute when a typical player does"
        f"{overall}, {100.0 * load['newcomers']:.0f} % of them new; a game takes "
        f"{load['game_minutes']:.1f} minutes{beside}, after it {100.0 * load['stay']:.0f} % queue "
        f"again; patience {load['patience_minutes']:.1f} minutes, which no log shows"
    )
