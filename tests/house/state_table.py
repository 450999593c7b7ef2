"""The table of states as ARCHITECTURE.md shows it. `python -m tests.house.state_table` prints it for pasting."""

from operations.core.states import FINAL, TRANSITIONS, Event, State

BEGIN, END = "<!-- states:begin -->", "<!-- states:end -->"


def rows() -> list[tuple[str, str, str]]:
    """From, event, to: in the order in which states and events are defined."""
    states, events = list(State), list(Event)
    moves = sorted(TRANSITIONS.items(), key=lambda move: (states.index(move[0][0]), events.index(move[0][1])))
    return [(before.value, event.value, after.value) for (before, event), after in moves]


def table() -> str:
    """The moves as a Markdown table."""
    lines = ["| from | event | to |", "| --- | --- | --- |"]
    return "\n".join(lines + [f"| `{before}` | `{event}` | `{after}` |" for before, event, after in rows()])


def diagram() -> str:
    """The moves as a Mermaid diagram; events between the same two states share one arrow."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for before, event, after in rows():
        arrows.setdefault((before, after), []).append(event)
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {State.NOT_STARTED.value}"]
    lines += [f"    {before} --> {after}: {', '.join(events)}" for (before, after), events in arrows.items()]
    lines += [f"    {state.value} --> [*]" for state in State if state in FINAL]
    return "\n".join([*lines, "```"])


def section() -> str:
    """What stands between the two marks."""
    return f"{table()}\n\n{diagram()}"


if __name__ == "__main__":
    print(f"{BEGIN}\n{section()}\n{END}")
