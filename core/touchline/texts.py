"""The fixed texts of touchline, in one room: what people and models read word for word (DESIGN.md).

Data only. Texts with `{name}` fields are filled with `str.format` by their users; values are never templates.
"""

from __future__ import annotations

# --- run ---------------------------------------------------------------------------------------------------

NO_PR_NOTICE = (
    "Publishing disabled by --no-pr: changes stay local and uncommitted; "
    "no branch, push, PR or CI operation is performed."
)
NO_TERMINAL_HEADLESS = "No terminal to ask on: running headless."
NO_PLAN_FOUND = (
    "no plan found: give one with --plan-file, or put exactly one markdown file into docs/plans/. "
    "A plan is never invented."
)
SEVERAL_PLANS = "several plans found ({names}): say which one with --plan-file."
ASK_MAX_TURNS = "How many turns may the player use? 5 quick, 10 standard, 20 thorough"
ASK_SEVERITY = "From which severity on does a finding block? 3 strict, 5 moderate, 7 lenient"
CI_NOT_BUILT = "waiting for CI is not part of this version yet"

VERIFY_ANCHOR = (
    "VERIFY RETURNED. NEXT: decide gates, write verification run {verify_runs} to the ledger, "
    "then rerun, feed back, approve, or exhaust."
)
GATES_ANCHOR = "GATES DECIDED. BLOCKING={blocking} QUARANTINED={quarantined} DEFERRED={deferred}. NEXT: {next}."
NEXT_WORDS = {
    "RERUN_VERIFY": "verify the same tree again",
    "PLAYER_TURN": "render feedback/turn-{turn}.md from the ledger, then invoke the player with its path",
    "FULL_AUDIT": "verify the same tree once more without carry-forward",
    "PHASE_2": "finish the approved run",
    "TERMINAL:TURN_LIMIT_VERIFY": "end the run: no turn is left",
}

# --- player ------------------------------------------------------------------------------------------------

PLAYER_HEADER = """\
You are the player on turn {turn} of {max_turns} in a player-coach run.

Plan file: {plan_file}
Severity threshold: {severity}
"""
PLAYER_FROM_SCRATCH = "Implement the plan from scratch."
PLAYER_FEEDBACK = """\
Feedback file: {feedback_file}
It holds {items} blocking items, numbered 1 to {items}, the failed gates, and a list of known environment
failures that you must not investigate. Read it in full. Address every numbered item and every failed gate, or
say for each one why you could not. Answer each with a receipt in your report."""
PLAYER_ONLY_GATES = """\
Feedback file: {feedback_file}
It holds no blocking items; only the failed gates in it (G-1, G-2, ...) stand between this work and approval, and
a list of known environment failures that you must not investigate. Read it in full. Address every failed gate, or
say for each one why you could not. Answer each with a receipt in your report."""
PLAYER_CONTINUES = """\
This turn was interrupted before it ended. The work tree holds what was done so far{changed}.
Look at it first, then go on from there and end the turn as the rules say."""
PLAYER_RETRY = "The previous attempt at this turn failed ({reason}). The work tree holds what was done so far."
HEADLESS_ANSWER = (
    "Nobody can answer: this run is headless. Take the smallest reasonable assumption, write it into `concerns` of "
    "your report, and go on with the turn. Your question was: {question}"
)
PERSON_ANSWER = "Answer from a person: {answer}"
MAX_ANSWERS = 3

# --- turn --------------------------------------------------------------------------------------------------

QUESTION_CUT = "\n[cut at {limit} characters: the full text is in the task's render.log]"
NO_TRAILER = "the turn ended without a trailer"
NO_TEXT = "the turn produced no text"
NO_COMMIT_CLAIMED = "the finish trailer names no commit"
UNCHECKED_FINISH = "the finish trailer cannot be checked against git: {error}"
GUARD_OVERSTEPPED = "the executor plugin may not settle a turn without trailer and work as {kind!r}"
