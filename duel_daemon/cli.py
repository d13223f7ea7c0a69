"""Command line -> settings -> trio.run; and what the operator reads."""

import contextlib
import fcntl
import gc
import logging
import os
import resource
import signal
import socket
import struct
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import trio

from duel_daemon import __version__, logs
from duel_daemon.archivist import Archivist
from duel_daemon.hall import default_terms
from duel_daemon.journal import Journal
from duel_daemon.listening import CannotListen, listen
from duel_daemon.memory import Memory
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.server import Server
from duel_daemon.service import Service
from duel_daemon.settings import (
    Check,
    Loaded,
    Settings,
    SettingsError,
    changed,
    load,
    only_live,
    state_path,
)
from duel_daemon.store import Store, StoreError, StoreTrouble

log = logging.getLogger("duel_daemon")

WRONG_USAGE = 2
CANNOT_START = 1
JOURNAL = "journal"  # the file's name, beside the results
# With thousands of players there are millions of objects, none of them garbage: looking for it as
# often as Python does by default took a third of the time at 5,000 duels.
GC_THRESHOLDS = (50_000, 50, 100)
SPARE_DESCRIPTORS = 64  # besides the connections: listeners, logs, files


def main(argv: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if argv is None else argv
    sys.exit(_main(arguments))


def _main(argv: Sequence[str]) -> int:
    try:
        loaded = _load(argv)
    except SettingsError as exc:
        print(exc, file=sys.stderr)
        return WRONG_USAGE
    if loaded.check:
        print(f"The configuration is good ({_source(loaded)}).")
        return 0
    logs.set_up(loaded.settings.log_level, os.environ)
    _raise_descriptor_limit(loaded.settings.max_connections)
    try:
        return _run(argv, loaded.settings, Service.from_environment(os.environ))
    except (CannotListen, StoreError) as exc:
        print(exc, file=sys.stderr)
        return CANNOT_START


def _run(argv: Sequence[str], settings: Settings, service: Service) -> int:
    directory = state_path(settings, os.environ)
    listeners = service.listeners or listen(settings.hosts, settings.port)
    try:
        archivist = _archivist(directory)  # whoever connects meanwhile waits in the kernel's queue
    except StoreError:
        for listener in listeners:
            listener.close()
        raise
    try:
        if sys.stderr.isatty():
            print(greeting(settings, directory), file=sys.stderr)
        journal = Journal(directory / JOURNAL if directory is not None else None)
        server = Server(settings, listeners, memory=Memory(journal, archivist), service=service)
        gc.set_threshold(*GC_THRESHOLDS)
        trio.run(_serve, argv, server)
    finally:
        archivist.close()
    return 0


def _archivist(directory: Path | None) -> Archivist:
    if directory is None:
        return Archivist(None)
    if not directory.exists():
        with contextlib.suppress(OSError):  # the store says better what is wrong
            directory.mkdir(mode=0o700, parents=True)
    open_store = partial(Store.open, directory, now=time.time)
    try:
        return Archivist(open_store())
    except StoreTrouble as exc:
        log.warning("%s Results wait until this works again.", exc)
        return Archivist(None, open=open_store)


def _load(argv: Sequence[str]) -> Loaded:
    names = ("number", "divisors", "rulebook")
    return load(argv, os.environ, tuple(BY_SLUG), checks=(Check(names, _nothing_to_play),))


def _nothing_to_play(settings: Settings) -> str | None:
    return default_terms(settings).problem(settings.max_number)


def _source(loaded: Loaded) -> str:
    return f"read from {loaded.config_path}" if loaded.config_path else "no file was read"


def _raise_descriptor_limit(connections: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_DESCRIPTORS
    if hard != resource.RLIM_INFINITY and wanted > hard:
        fit = max(0, hard - SPARE_DESCRIPTORS)
        log.warning("only %d of %d connections fit: the limit of open files", fit, connections)
        wanted = hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _serve(argv: Sequence[str], server: Server) -> None:
    on_terminal = sys.stderr.isatty()
    async with trio.open_nursery() as nursery:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
            await nursery.start(server.run)
            log.info("listening on port %d", server.settings.port)
            async for number in signals:
                if number != signal.SIGHUP or _terminal_is_gone(on_terminal):
                    break
                _reload(server, argv)
            server.stop()


def _terminal_is_gone(was_there: bool) -> bool:
    """SIGHUP also comes when the window is closed in which the daemon was started."""
    return was_there and not sys.stderr.isatty()


def _reload(server: Server, argv: Sequence[str]) -> None:
    """Reread the file: what can change while running does, the rest is named."""
    server.service.reloading()
    try:
        new = _load(argv).settings
    except SettingsError as exc:
        for problem in exc.problems:
            log.error("not reloaded: %s", problem)
        server.service.ready()
        return
    now, later = changed(server.settings, new)
    if later:
        log.warning("only a restart changes %s", ", ".join(later))
    server.reconfigure(only_live(server.settings, new))
    logs.set_level(new.log_level)
    log.info("reloaded: %s", ", ".join(now) or "nothing has changed")
    server.service.ready()


# What the operator reads on a terminal.


def greeting(settings: Settings, state: Path | None) -> str:
    addresses = [host for host in settings.hosts if host] or local_addresses()
    first, *others = [f"nc {address} {settings.port}" for address in addresses]
    lines = [
        f"duel-daemon {__version__}",
        f"Pupils type:  {first}   (or telnet instead of nc)",
        *(f"         or:  {other}" for other in others),
        f"The game:     {default_terms(settings).text}",
        f"Results:      {state or 'are not kept'}",
        "Ctrl-C stops it.",
    ]
    return "\n".join(lines)


def local_addresses() -> list[str]:
    """The IPv4 addresses of this machine that others can reach; if there are none, its own."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(sock, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # an interface without an IPv4 address
            found.append(socket.inet_ntoa(answer[20:24]))
    return [address for address in found if not address.startswith("127.")] or ["127.0.0.1"]


_SIOCGIFADDR = 0x8915  # Linux: get interface address
