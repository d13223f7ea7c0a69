"""Run in the daemon's place by a real systemd: tries what the unit forbids.

How each try went is written into the state directory: a value, or the name of an error. What
is to be expected is in test_units. Arguments are the names of what not to try.
"""

import ctypes
import errno
import json
import mmap
import os
import resource
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
state = Path(os.environ["STATE_DIRECTORY"])
status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines())


def called(name: str, *arguments: int) -> object:
    """A function of the C library that Python has no name for."""
    result = getattr(libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def is_read_only(path: str) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def mode_of_a_new_file() -> str:
    path = state / "new"
    path.write_text("")
    return oct(path.stat().st_mode & 0o777)


def set_user_id_bit() -> None:
    path = state / "suid"
    path.write_text("")
    path.chmod(0o4755)


def limit(which: int) -> list[int]:
    return list(resource.getrlimit(which))


def family(number: int) -> str:
    with socket.socket(
        number, socket.SOCK_RAW if number == socket.AF_PACKET else socket.SOCK_DGRAM
    ):
        return "allowed"


TRIES: dict[str, Callable[[], object]] = {
    "CapabilityBoundingSet": lambda: int(status["CapBnd"], 16),
    "NoNewPrivileges": lambda: int(status["NoNewPrivs"]),
    "DynamicUser": os.getuid,
    "LimitCORE": lambda: limit(resource.RLIMIT_CORE),
    "LimitNOFILE": lambda: limit(resource.RLIMIT_NOFILE),
    "LockPersonality": lambda: called("personality", 8),
    "MemoryDenyWriteExecute": lambda: mmap.mmap(
        -1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    ).close(),
    "PrivateDevices": lambda: sorted(os.listdir("/dev")),
    "PrivateMounts": lambda: os.readlink("/proc/self/ns/mnt"),
    "PrivateTmp": lambda: os.path.exists("/tmp/marker"),
    "PrivateUsers": lambda: Path("/proc/self/uid_map").read_text().split()[2],
    "ProcSubset": lambda: os.path.exists("/proc/meminfo"),
    "ProtectClock": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
    "ProtectControlGroups": lambda: is_read_only("/sys/fs/cgroup"),
    "ProtectHome": lambda: os.listdir("/home"),
    "ProtectHostname": lambda: socket.sethostname("probe"),
    "ProtectKernelLogs": lambda: called("klogctl", 10, 0, 0),  # the size of the kernel's log
    "ProtectKernelModules": lambda: os.listdir("/usr/lib/modules"),
    "ProtectProc": lambda: os.path.exists("/proc/1"),
    "ProtectSystem": lambda: [is_read_only(path) for path in ("/", "/usr", "/etc", "/var")],
    "RemoveIPC": lambda: Path("/dev/shm/duel-probe").write_text("to be removed"),
    "RestrictAddressFamilies": lambda: family(socket.AF_NETLINK),
    "RestrictAddressFamilies, allowed": lambda: [
        family(each) for each in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
    ],
    "RestrictNamespaces": lambda: called("unshare", 0x10000000),  # a user namespace
    "RestrictSUIDSGID": set_user_id_bit,
    "StateDirectory": lambda: str(state),
    "StateDirectoryMode": lambda: oct(state.stat().st_mode & 0o777),
    "SystemCallFilter": lambda: os.nice(1),  # which anybody may, without the filter
    "UMask": mode_of_a_new_file,
}


def tried(name: str) -> object:
    try:
        return TRIES[name]()
    except OSError as exc:
        return f"error: {errno.errorcode[exc.errno]}"


if __name__ == "__main__":
    results = {name: tried(name) for name in TRIES if name not in sys.argv}
    (state / "probe.json").write_text(json.dumps(results))
