"""Text and tables of a judgement, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

from matchenv.evaluation.estimates import AHEAD, BEHIND, Estimate, Record
from matchenv.evaluation.registry import family_of
from matchenv.evaluation.tables import Column, or_dash, text_table
from matchenv.evaluation.visits import DECILES, GROUPS
from matchenv.runtime.files import number

PLACES = ("weakest", "2nd", "3rd", *(f"{k}th" for k in range(4, DECILES)), "strongest")
TITLES = dict(
    zip(GROUPS, ("all", "newcomers", "others", *(f"{k} tenth" for k in PLACES)), strict=True)
)


def _measured(heading: str, name: str, digits: int, factor: float = 1.0) -> tuple[Column, Column]:
    """Return the columns of a difference and its verdict."""

    def cell(row: Record) -> str:
        value = row[name]
        return f"{value.times(factor):+.{digits}f}" if value.known else ""

    return Column(heading, cell), Column("verdict", f"{{verdicts[{name}]}}")


def _estimate_text(value: Estimate, sign: str = "") -> str:
    if not value.known:
        return "–"
    return f"{value:{sign}.3f}"


def _played(found: Record) -> bool:
    """Return whether the quality of some matcher's games is known."""
    return any(row.match_quality.known for row in found.standings)


PLAYERS, POLICY = Column("players", lambda row: TITLES[row.group]), Column("policy", "{policy}")
GAMES = (
    PLAYERS,
    Column("participations", "{parts:,}"),
    Column("believed", "{believed:.3f}"),
    Column("in hindsight", "{hindsight:.3f}"),
    _measured("minus all", "difference", 3)[0],
    Column("verdict", "{verdict}"),
)
REWARD = _measured("true reward", "reward", 1)
CHANGES = (
    *_measured("true quality", "quality", 3),
    *_measured("wait, minutes", "wait", 2),
    *_measured("left, %", "left", 2, 100.0),
)
FIDELITY = (
    Column("measure", "{measure}"),
    Column("log", lambda row: _estimate_text(row.log)),
    Column("simulated", lambda row: _estimate_text(row.simulated)),
    Column("simulated minus log", lambda row: _estimate_text(row.difference, "+")),
)
GAINS = (POLICY, Column("compared with", "{than}"), *REWARD, *CHANGES[:2])

Tables = dict[str, tuple[Sequence[Column], Sequence[Record], str]]


def tables_of(found: Record) -> Tables:
    """Return the tables of a judgement by title: columns, rows, and a line below."""
    minutes, against = found.load.tick_minutes, found.against
    known = "the present one, " if found.has_rule else ""
    standings = (
        POLICY,
        Column("true reward", "{true_reward.mean:.1f}"),
        Column("quality", lambda row: or_dash("{:.3f}", row.match_quality.mean)),
        Column("true quality", lambda row: or_dash("{:.3f}", row.true_match_quality.mean)),
        Column("wait, minutes", lambda row: or_dash("{:.2f}", minutes * row.wait.mean)),
        Column("95 %, minutes", lambda row: or_dash("{:.1f}", minutes * number(row.long_wait))),
        Column("left", lambda row: or_dash("{:.2f} %", 100.0 * row.left.mean)),
    )
    strangers = number(found.evenness.strangers)
    tables: Tables = {
        "How even were the games? Match quality, 1 between equal known skills": (
            GAMES,
            found.evenness.groups,
            f"sides of the log that meet at random: {strangers:.3f} in hindsight; "
            f"{favourites_text(found.evenness.favourites)}",
        ),
        f"Matchers at this load, {found.runs} runs of {found.environment['horizon']} ticks of "
        f"{60.0 * minutes:.0f} s": (standings, found.standings, load_text(found.load)),
    }
    if _played(found):
        tables |= {
            f"Does {found.against} in the simulation reproduce the log?": (
                FIDELITY, found.fidelity.rows, "",
            ),
        }  # fmt: skip
        tables |= {
            f"Minus {known}{against}, on the same arrivals and luck": (
                (POLICY, *REWARD, *CHANGES), found.contests, "",
            ),
            f"Who pays, if {found.ours} were to take its place": (
                (PLAYERS, *CHANGES), found.who_pays, "",
            ),
            "How much would learning have gained? The oracle knows all skills; kg also counts what "
            "games teach": (GAINS, found.learning, ""),
        }  # fmt: skip
    return {title: table for title, table in tables.items() if table[1]}


def judgement_text(found: Record) -> str:
    """Return the conclusion and all tables."""
    model = ", ".join(f"{name} {value:.4g}" for name, value in found.parameters.items() if value)
    lines = [
        conclusion(found),
        "",
        f"{found.name}: {found.games:,} games of {found.players:,} players; {model}",
        *(f"note: {note}" for note in found.notes),
        f"[..]: {100.0 * found.confidence:.0f} % interval at these parameters; "
        "verdict: after Holm's correction over the table",
    ]
    for title, (columns, rows, below) in tables_of(found).items():
        lines += ["", title, *text_table(columns, rows), *([below] if below else [])]
    return "\n".join(lines)


def conclusion(found: Record) -> str:
    """Return the conclusion in one paragraph."""
    if found.failed:
        said, forecasts = f"{found.name} says little about its matcher", "its games"
        if found.fit is None:
            said, forecasts = "The given fit failed", "the games that it was fitted to"
        return (
            f"{said}: the fitted model forecasts {forecasts} no better than a constant. So there "
            "are no verdicts; the numbers below are those of the fitted model. Fit games that were "
            "not matched on skill, and pass that fit."
        )
    groups, ours = found.evenness.groups, found.ours
    sentences = [] if _played(found) else [
        "The runs had too few games to compare matchers: raise --horizon or --arrival-rate."
    ]  # fmt: skip
    sentences += [
        f"The games had a match quality of {groups[0].hindsight.mean:.3f}, sides that meet "
        f"at random one of {number(found.evenness.strangers):.3f}."
    ]
    sentences.append(fidelity_text(found))
    for row in found.contests:
        words = row.verdicts
        if row.policy == ours and words["quality"] and words["wait"]:  # both were measured
            sentences.append(
                f"At this load {ours} in place of {found.against} changes the quality by "
                f"{row.quality.mean:+z.3f} ({words['quality']}) and the wait by "
                f"{row.wait.mean:+z.2f} minutes ({words['wait']})."
            )
    for title, rows in (
        ("Less even than the average are the games of", [r for r in groups if r.verdict == BEHIND]),
        ("More even than the average are the games of", [r for r in groups if r.verdict == AHEAD]),
        ("Some measure would be worse for",
         [r for r in found.who_pays if BEHIND in r.verdicts.values()]),
    ):  # fmt: skip
        if rows:
            sentences.append(f"{title}: {', '.join(TITLES[row.group] for row in rows)}.")
    rewards = {row.policy: row.true_reward.mean for row in found.standings}
    sentences += [
        "Knowing all skills would change the true reward by "
        f"{100.0 * gain.reward.mean / rewards[gain.than]:+.1f} % ({gain.verdicts['reward']})."
        for gain in found.learning
        if family_of(gain.policy) == "oracle"
        and gain.verdicts["reward"] and rewards[gain.than] > 0.0
    ]  # fmt: skip
    return " ".join(sentences)


def fidelity_text(found: Record) -> str:
    """Return how well the simulated present matcher reproduces the log, in one or two sentences."""
    quality = found.fidelity.rows[0]
    if not quality.difference.known:
        return "The simulation cannot be compared with the log."
    numbers = (
        f"match quality before the games was {quality.log:.3f} in the log and "
        f"{quality.simulated:.3f} in the simulation"
    )
    if not found.fidelity.contradicted:
        if found.has_rule:
            return f"The simulated {found.against} reproduces the log: {numbers}."
        return f"The rule of the log is unknown; with {found.against}, {numbers}."
    return (
        f"The simulated {found.against} does not reproduce the log: {numbers}. So there are no "
        f"verdicts on other matchers. It may miss {'; '.join(found.fidelity.reasons)}."
    )


def favourites_text(favourites: Record) -> str:
    """Return the expected and actual scores of favourites in a line."""
    if not favourites.pairs:
        return "no game had a favourite"
    knows_more = favourites.verdict == BEHIND
    return (
        f"favourites: expected to score {100.0 * favourites.stated.mean:.1f} %, scored "
        f"{100.0 * favourites.scored.mean:.1f} %, "
        f"{favourites.difference.times(100.0):+.1f} points"
        f"{': the matcher could know more than the log' if knows_more else ''}"
    )


def load_text(load: Record) -> str:
    """Return the load in a sentence."""
    source = f"{', '.join(load.read_off)} from the log's times" if load.read_off else "as given"
    if assumed := load.get("assumed"):
        source += f"; {', '.join(assumed)} assumed"
    return (
        f"Load ({source}): {load.arrival_rate:.3g} log on per minute when a typical player does, "
        f"{100.0 * load.newcomers:.0f} % of them new; a game takes "
        f"{load.game_minutes:.3g} minutes, after it {100.0 * load.stay:.0f} % queue "
        f"again; patience {load.patience_minutes:.3g} minutes, which no log shows"
    )
