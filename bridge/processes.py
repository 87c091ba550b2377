"""Child processes."""

import contextlib
from asyncio.subprocess import Process


async def end(process: Process) -> None:
    """Kill a child that has not ended, and wait until it has."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
