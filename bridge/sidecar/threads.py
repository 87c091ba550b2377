"""Threads of a bridge: all of them start with it, because the machine may refuse one later."""

import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from bridge.http.listeners import ServeError


def start_threads() -> None:
    """Start the threads of the running event loop, which read files and look up names, and need none for processes.

    A task that needs a thread later could not get one, and would end. Raises ServeError if the machine refuses them.
    """
    count = min(32, (os.cpu_count() or 1) + 4)
    pool = ThreadPoolExecutor(count, thread_name_prefix="bridge")
    started = threading.Barrier(count + 1)
    try:
        for _ in range(count):
            pool.submit(started.wait)
    except RuntimeError as error:
        started.abort()
        raise ServeError(f"the machine refuses {count} threads ({error}): allow more processes or memory") from error
    started.wait()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(pool)
    if sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):  # later ones do this themselves
        with suppress(OSError):  # an old kernel
            os.close(os.pidfd_open(os.getpid()))
            watcher = asyncio.PidfdChildWatcher()
            watcher.attach_loop(loop)
            asyncio.set_child_watcher(watcher)
