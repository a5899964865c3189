"""Text and tables of a judgement, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from matchenv.evaluation.estimates import AHEAD, BEHIND, Estimate, Record
from matchenv.evaluation.registry import family_of
from matchenv.evaluation.tables import Column, or_dash, shortened, text_table, wrapped
from matchenv.runtime.files import number

# Letters of a policy in tables of text; pages have whole names.
LONGEST_NAME = 36

# Titles of the ``GROUPS`` of players in tables.
TITLES = {
    "all": "all",
    "newcomers": "newcomers",
    "regulars": "others",
    "decile_1": "weakest tenth",
    "decile_2": "2nd tenth",
    "decile_3": "3rd tenth",
    "decile_4": "4th tenth",
    "decile_5": "5th tenth",
    "decile_6": "6th tenth",
    "decile_7": "7th tenth",
    "decile_8": "8th tenth",
    "decile_9": "9th tenth",
    "decile_10": "strongest tenth",
}


def _difference(heading: str, name: str, digits: int, factor: float = 1.0) -> Column:
    """Return the column of a difference; empty where it is unknown."""

    def cell(row: Record) -> str:
        value = row[name]
        if not value.known:
            return ""
        return f"{value.times(factor):+.{digits}f}"

    return Column(heading, cell)


def _verdict(name: str) -> Column:
    """Return the column of the verdict on a difference."""
    return Column("verdict", f"{{verdicts[{name}]}}")


def _or_dash(name: str, form: str = "") -> Column:
    """Return the column of an estimate; a dash where it is unknown."""

    def cell(row: Record) -> str:
        value: Estimate = row[name]
        if not value.known:
            return "–"
        return f"{value:{form}.3f}"

    return Column(name, cell)


PLAYERS = Column("players", lambda row: TITLES[row.group])
POLICY = Column("policy", "{policy}")
GAMES = (
    PLAYERS,
    Column("participations", "{parts:,}"),
    Column("believed", "{believed:.3f}"),
    Column("in hindsight", "{hindsight:.3f}"),
    _difference("minus all", "difference", 3),
    Column("verdict", "{verdict}"),
)
FIDELITY = (
    Column("measure", "{measure}"),
    _or_dash("log"),
    _or_dash("simulated"),
    _or_dash("difference", "+"),
)
REWARD = (_difference("true reward", "reward", 1), _verdict("reward"))
QUALITY = (_difference("true quality", "quality", 3), _verdict("quality"))
CHANGES = (
    *QUALITY,
    _difference("wait, minutes", "wait", 2),
    _verdict("wait"),
    _difference("left, %", "left", 2, 100.0),
    _verdict("left"),
)
CONTESTS = (POLICY, *REWARD, *CHANGES)
WHO_PAYS = (PLAYERS, *CHANGES)
GAINS = (POLICY, Column("compared with", "{than}"), *REWARD, *QUALITY)

# Columns, rows and a line below.
Table = tuple[Sequence[Column], Sequence[Record], str]


def tables_of(judgement: Record) -> dict[str, Table]:
    """Return the tables of a judgement by title."""
    load = judgement.load
    against = judgement.against
    baseline = against
    if judgement.has_rule:
        baseline = f"the present one, {against}"
    strangers = number(judgement.evenness.strangers)
    tables: dict[str, Table] = {}
    tables["How even were the games? Match quality, 1 between equal known skills"] = (
        GAMES,
        judgement.evenness.groups,
        f"sides of the log that meet at random: {strangers:.3f} in hindsight; "
        f"{favourites_text(judgement.evenness.favourites)}",
    )
    title = (
        f"Matchers at this load, {judgement.runs} runs of {judgement.environment['horizon']} ticks "
        f"of {60.0 * load.tick_minutes:.0f} s"
    )
    tables[title] = (_standings(load.tick_minutes), judgement.standings, load_text(load))
    if _has_games(judgement):
        title = f"Does {against} in the simulation reproduce the log? Simulated minus log"
        tables[title] = (FIDELITY, judgement.fidelity.rows, "")
        title = f"Minus {baseline}, on the same arrivals and luck"
        tables[title] = (CONTESTS, judgement.contests, "")
        title = f"Who pays, if {judgement.ours} were to take its place"
        tables[title] = (WHO_PAYS, judgement.who_pays, "")
        title = (
            "How much would learning have gained? The oracle knows all skills; kg also counts what "
            "games teach"
        )
        tables[title] = (GAINS, judgement.learning, "")
    return {title: table for title, table in tables.items() if table[1]}


def _standings(tick_minutes: float) -> tuple[Column, ...]:
    """Return the columns of the matchers, with waits in minutes."""
    return (
        POLICY,
        Column("true reward", "{true_reward.mean:.1f}"),
        Column("quality", lambda row: or_dash("{:.3f}", row.match_quality.mean)),
        Column("true quality", lambda row: or_dash("{:.3f}", row.true_match_quality.mean)),
        Column("wait, minutes", lambda row: or_dash("{:.2f}", tick_minutes * row.wait.mean)),
        Column(
            "95 %, minutes", lambda row: or_dash("{:.1f}", tick_minutes * number(row.long_wait))
        ),
        Column("left", lambda row: or_dash("{:.2f} %", 100.0 * row.left.mean)),
    )


def _has_games(judgement: Record) -> bool:
    """Return whether the quality of some matcher's games is known."""
    return any(row.match_quality.known for row in judgement.standings)


def judgement_text(judgement: Record) -> str:
    """Return the conclusion and all tables, in lines that fit the width of tables."""
    parameters = []
    for name, value in judgement.parameters.items():
        if value:
            parameters.append(f"{name} {value:.4g}")
    lines = [
        conclusion(judgement),
        "",
        f"{judgement.name}: {judgement.games:,} games of {judgement.players:,} players; "
        f"{', '.join(parameters)}",
    ]
    lines.extend(f"note: {note}" for note in judgement.notes)
    lines.append(
        f"[..]: {100.0 * judgement.confidence:.0f} % interval at these parameters; "
        "verdict: after Holm's correction over the table"
    )
    text = []
    for line in lines:
        text.extend(wrapped(line))
    for title, (columns, rows, line_below) in tables_of(judgement).items():
        short_columns = [_shortened(column) for column in columns]
        text.extend(["", *wrapped(title), *text_table(short_columns, rows)])
        if line_below:
            text.extend(wrapped(line_below))
    return "\n".join(text)


def _shortened(column: Column) -> Column:
    """Return a column whose names of policies leave room for a column of numbers."""
    if column.heading not in ("policy", "compared with"):
        return column
    return replace(column, cell=lambda row: shortened(column.text(row), LONGEST_NAME))


def conclusion(judgement: Record) -> str:
    """Return the conclusion in one paragraph."""
    if judgement.failed:
        return _text_of_failed_fit(judgement)
    sentences = []
    if not _has_games(judgement):
        sentences.append(
            "The runs had too few games to compare matchers: raise --horizon or --arrival-rate."
        )
    groups = judgement.evenness.groups
    sentences.append(
        f"The games had a match quality of {groups[0].hindsight.mean:.3f}, sides that meet "
        f"at random one of {number(judgement.evenness.strangers):.3f}."
    )
    sentences.append(fidelity_text(judgement))
    sentences.extend(_sentences_about_ours(judgement))
    less_even = [row for row in groups if row.verdict == BEHIND]
    more_even = [row for row in groups if row.verdict == AHEAD]
    payers = [row for row in judgement.who_pays if BEHIND in row.verdicts.values()]
    for beginning, rows in (
        ("Less even than the average are the games of", less_even),
        ("More even than the average are the games of", more_even),
        ("Some measure would be worse for", payers),
    ):
        if rows:
            players = ", ".join(TITLES[row.group] for row in rows)
            sentences.append(f"{beginning}: {players}.")
    sentences.extend(_sentences_about_known_skills(judgement))
    return " ".join(sentences)


def _text_of_failed_fit(judgement: Record) -> str:
    subject = f"{judgement.name} says little about its matcher"
    games = "its games"
    if judgement.fit is None:
        subject = "The given fit failed"
        games = "the games that it was fitted to"
    return (
        f"{subject}: the fitted model forecasts {games} no better than a constant. So there "
        "are no verdicts; the numbers below are those of the fitted model. Fit games that were "
        "not matched on skill, and pass that fit."
    )


def _sentences_about_ours(judgement: Record) -> list[str]:
    """Return how our matcher would change quality and wait, where there are verdicts."""
    sentences = []
    for row in judgement.contests:
        words = row.verdicts
        if row.policy == judgement.ours and words["quality"] and words["wait"]:
            sentences.append(
                f"At this load {row.policy} in place of {judgement.against} changes the quality by "
                f"{row.quality.mean:+z.3f} ({words['quality']}) and the wait by "
                f"{row.wait.mean:+z.2f} minutes ({words['wait']})."
            )
    return sentences


def _sentences_about_known_skills(judgement: Record) -> list[str]:
    """Return what known skills would gain, where there are verdicts."""
    rewards = {row.policy: row.true_reward.mean for row in judgement.standings}
    sentences = []
    for gain in judgement.learning:
        reward = rewards[gain.than]
        word = gain.verdicts["reward"]
        if family_of(gain.policy) == "oracle" and word and reward > 0.0:
            sentences.append(
                "Knowing all skills would change the true reward by "
                f"{100.0 * gain.reward.mean / reward:+.1f} % ({word})."
            )
    return sentences


def fidelity_text(judgement: Record) -> str:
    """Return how well the simulated present matcher reproduces the log."""
    fidelity = judgement.fidelity
    against = judgement.against
    quality = fidelity.rows[0]
    if not quality.difference.known:
        return "The simulation cannot be compared with the log."
    numbers = (
        f"match quality before the games was {quality.log:.3f} in the log and "
        f"{quality.simulated:.3f} in the simulation"
    )
    if fidelity.contradicted:
        return (
            f"The simulated {against} does not reproduce the log: {numbers}. So there are no "
            f"verdicts on other matchers. It may miss {'; '.join(fidelity.reasons)}."
        )
    if judgement.has_rule:
        return f"The simulated {against} reproduces the log: {numbers}."
    return f"The rule of the log is unknown; with {against}, {numbers}."


def favourites_text(favourites: Record) -> str:
    """Return the expected and actual scores of favourites in a line."""
    if not favourites.pairs:
        return "no game had a favourite"
    line = (
        f"favourites: expected to score {100.0 * favourites.stated.mean:.1f} %, scored "
        f"{100.0 * favourites.scored.mean:.1f} %, "
        f"{favourites.difference.times(100.0):+.1f} points"
    )
    if favourites.verdict == BEHIND:
        line += ": the matcher could know more than the log"
    return line


def load_text(load: Record) -> str:
    """Return the load in a sentence."""
    source = "as given"
    if load.read_off:
        source = f"{', '.join(load.read_off)} from the log's times"
    if load.assumed:
        source += f"; {', '.join(load.assumed)} assumed"
    return (
        f"Load ({source}): {load.arrival_rate:.3g} log on per minute when a typical player does, "
        f"{100.0 * load.newcomers:.0f} % of them new; a game takes "
        f"{load.game_minutes:.3g} minutes, after it {100.0 * load.stay:.0f} % queue "
        f"again; patience {load.patience_minutes:.3g} minutes, which no log shows"
    )
