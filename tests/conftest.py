"""What every test gets: a bound in time, and failures that can be read.

pytest-timeout wrecks trio's run loop, so async tests are bounded from inside (trio.fail_after)
and plain ones by SIGALRM. pytest-trio wraps each failure in exception groups; groups of one are
unwrapped here so that a failing test shows its own traceback.
"""

import functools
import inspect
import os
import signal
from collections.abc import Iterator
from types import FrameType

import pytest
import trio

# Some tests call make; it must not take itself for a part of the make that runs the tests.
for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
    os.environ.pop(name, None)

# Where the tests run in the background of a shell, SIGINT is ignored, and so it would be by the
# clients that they start: Ctrl-C could not end them.
signal.signal(signal.SIGINT, signal.default_int_handler)

REAL_SECONDS = 60  # no test needs nearly as long; a hanging one fails by itself
VIRTUAL_SECONDS = 10_000_000  # under a virtual clock time is free


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            virtual = "autojump_clock" in item.fixturenames or "mock_clock" in item.fixturenames
            item.obj = _bounded(item.obj, VIRTUAL_SECONDS if virtual else REAL_SECONDS)


def _bounded(test, seconds):  # type: ignore[no-untyped-def]
    @functools.wraps(test)
    async def bounded(*args, **kwargs):  # type: ignore[no-untyped-def]
        with trio.fail_after(seconds):
            return await test(*args, **kwargs)

    return bounded


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    def hung(signum: int, frame: FrameType | None) -> None:
        pytest.fail(f"the test did not end within {2 * REAL_SECONDS} s")

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(2 * REAL_SECONDS)
    try:
        return (yield)
    except BaseExceptionGroup as group:
        raise _innermost(group) from None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _innermost(exc: BaseException) -> BaseException:
    while isinstance(exc, BaseExceptionGroup) and len(exc.exceptions) == 1:
        exc = exc.exceptions[0]
    return exc
