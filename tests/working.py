"""What runs beside a test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def working(*runs: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """These run meanwhile, and are cancelled at the end. Raises what one of them has raised before."""
    tasks = [asyncio.create_task(run()) for run in runs]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
