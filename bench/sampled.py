"""The daemon, sampled: `sampled.py OUTPUT [SETTING ...]` runs it until SIGTERM and writes a table.

A timer of the process's own CPU time interrupts it; what it was doing counts for the innermost
frame that belongs to a room. Unlike a tracing profiler this does not make small functions look
expensive. The kernel's work counts for whoever called it.
"""

import collections
import json
import pathlib
import re
import signal
import sys
from types import FrameType

SAMPLE_SECONDS = 0.001
SIGUSR_START = signal.SIGUSR1  # samples count from here on

# The shares and their rooms. All other rooms are the house; what is no room of ours or trio's or
# the log's counts for whoever called it.
ROOMS = {
    "rules": "numbers survey events duel match",
    "dialogue": "narrator rulebooks terms textwidth scoreboard retelling",
    "wire": "wire protocols commands",
    "journal": "journal ledger kept memory store archivist records",
    "limits": "limits",
    "log": "logs",
    "socket": "peer ears",
}
SHARE_OF = {room: share for share, rooms in ROOMS.items() for room in rooms.split()}
PACKAGES = {"trio": "trio", "outcome": "trio", "sortedcontainers": "trio", "logging": "log"}
OURS = re.compile(r"duel_daemon[/.](\w+)")  # also in "<attrs generated init duel_daemon.duel.Turn>"
OTHERS = re.compile(r"/(trio|outcome|sortedcontainers|logging)/")

counts: collections.Counter[tuple[str, str]] = collections.Counter()


def share_of(filename: str) -> str | None:
    ours = OURS.search(filename)
    if ours:
        return SHARE_OF.get(ours[1], "house")
    other = OTHERS.search(filename)
    return PACKAGES[other[1]] if other else None


def sample(signum: int, frame: FrameType | None) -> None:
    while frame is not None:
        code = frame.f_code
        share = share_of(code.co_filename)
        if share is not None:
            counts[share, f"{pathlib.Path(code.co_filename).name}:{code.co_qualname}"] += 1
            return
        frame = frame.f_back
    counts["other", ""] += 1


def main() -> None:
    from duel_daemon import cli  # noqa: PLC0415 - sampling is set up first

    output = pathlib.Path(sys.argv[1])
    signal.signal(signal.SIGPROF, sample)
    signal.signal(SIGUSR_START, lambda *_: counts.clear())
    signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)
    try:
        cli.main(sys.argv[2:])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        rows = [[share, function, count] for (share, function), count in counts.items()]
        output.write_text(json.dumps(rows))


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
    main()
