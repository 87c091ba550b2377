"""The page as the tests use it: what a person sees and does, and waiting for it."""

import asyncio
import time
from typing import Any

from playwright.async_api import ConsoleMessage, Page

PATIENCE = 300.0  # seconds
# Whether the chosen row of the outline is in sight, give or take a rounded pixel.
CHOSEN_IN_SIGHT = """(() => {
  const row = document.querySelector('#outline [aria-selected=true]')?.getBoundingClientRect();
  const outline = document.querySelector('.side .scroll').getBoundingClientRect();
  return row && row.top >= outline.top && row.bottom <= outline.bottom + 1;
})()"""
# A container has neither what the sandbox needs for root, nor a large /dev/shm.
LAUNCH = ["--no-sandbox", "--disable-dev-shm-usage"]


class Opened:
    """A page in the browser. `errors` are exceptions in it, and what it logs as an error."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.set_default_timeout(PATIENCE * 1000)
        self.errors: list[str] = []
        self.requested: list[str] = []
        self.excused: tuple[str, ...] = ()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._logged)
        page.on("request", lambda request: self.requested.append(request.url))

    def excuse(self, *texts: str) -> None:
        """Console errors with one of these texts are expected."""
        self.excused = texts

    def _logged(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(text in message.text for text in self.excused):
            self.errors.append(message.text)

    async def go(self, url: str) -> None:
        """Open an address, and wait for the whole picture: its top is drawn first, and what follows can move it."""
        await self.page.goto(url)
        shown = "policyBridge.drawn.shown > 0 || !document.getElementById('list-empty').hidden"
        whole = f"globalThis.policyBridge?.drawn.complete && ({shown})"
        await self.until(f"{whole} || !document.getElementById('empty').hidden")

    async def until(self, condition: str) -> Any:
        """Wait until an expression is true; gives its value. The page's own policy forbids playwright's way to wait."""
        end = time.monotonic() + PATIENCE
        while True:
            found = await self.page.evaluate(condition)
            if found:
                return found
            if time.monotonic() > end:
                raise AssertionError(f"never came true: {condition}\n{await self.page.inner_text('body')}")
            await asyncio.sleep(0.05)

    async def shows(self, selector: str, text: str, patience: float = PATIENCE) -> None:
        """Wait until an element has a text."""
        end = time.monotonic() + patience
        found = ""
        while time.monotonic() < end:
            found = " ".join(await self.page.locator(selector).all_inner_texts())
            if text in " ".join(found.split()):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{selector} never showed {text!r}, but: {found}")

    async def see_what_would_change(self, *, text: str = "", delete: str = "") -> None:
        """Paste manifests, or name what would be deleted, under What if."""
        await self.page.get_by_role("tab", name="What if").click()
        await self.page.fill("#changes-text", text)
        await self.page.fill("#changes-delete", delete)
        await self.page.get_by_role("button", name="See what would change").click()

    async def view(self) -> dict[str, Any]:
        """Zoom, pan, and numbers of what is drawn."""
        found: dict[str, Any] = await self.page.evaluate("policyBridge.graph.view")
        return found

    async def position(self, id: str) -> dict[str, Any] | None:  # noqa: A002 - the page's word
        """Where something is drawn, and its classes; None where it is not."""
        found: dict[str, Any] | None = await self.page.evaluate("(id) => policyBridge.graph.position(id)", id)
        return found

    async def click_node(self, id: str) -> None:  # noqa: A002 - the page's word
        """Scroll to something that is drawn, and click it."""
        await self.page.evaluate("(id) => policyBridge.graph.reveal([[id]])", id)
        at = await self.position(id)
        assert at is not None, id
        await self.page.mouse.click(at["x"], at["y"])
