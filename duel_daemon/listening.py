"""Listening sockets, and in one sentence why there can be none."""

import errno
import socket
from collections.abc import Sequence

BACKLOG = 1024


class CannotListen(Exception):  # noqa: N818 - said to the operator as it stands
    """Why a port could not be opened, in one sentence."""


def listen(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """Listening sockets on these addresses, or on all, IPv4 and IPv6."""
    listeners = []
    for host in hosts or ("0.0.0.0", "::"):
        try:
            listeners += _listen_on(host, port)
        except UnicodeError:  # a label of a host name is too long, or empty
            for listener in listeners:
                listener.close()
            raise CannotListen(_why(socket.gaierror(), host, port)) from None
        except OSError as exc:
            if not hosts and host == "::" and exc.errno != errno.EADDRINUSE:
                continue  # a machine without IPv6
            for listener in listeners:
                listener.close()
            raise CannotListen(_why(exc, host, port)) from None
    return listeners


def _listen_on(host: str, port: int) -> list[socket.socket]:
    found = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
    )
    listeners: list[socket.socket] = []
    for family, kind, protocol, _, address in found:
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError:
            for opened in (*listeners, listener):
                opened.close()
            raise
        listener.setblocking(False)
        listeners.append(listener)
    return listeners


def _why(exc: OSError, host: str, port: int) -> str:
    if isinstance(exc, socket.gaierror):
        return f"{host} is no address of this machine; --host takes one, such as 127.0.0.1."
    if exc.errno == errno.EADDRINUSE:
        return f"Port {port} is in use already; try another one with --port."
    if exc.errno in (errno.EACCES, errno.EPERM):
        return f"Port {port} needs more rights than this user has; ports from 1024 on do not."
    if exc.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine; --host takes one, such as 127.0.0.1."
    return f"Cannot listen on {host} port {port}: {exc.strerror}."
