"""A bridge that requires a token: the page asks for it once."""

from pathlib import Path

import pytest

from tests.web.bridges import SHOP, Bridge
from tests.web.page import Opened

RIGHT = "the-right-token-0123456789-abcdefgh"
pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]


async def test_page_asks_for_the_token_and_keeps_it(page: Opened, tmp_path: Path) -> None:
    page.excuse("401")
    token = tmp_path / "token"
    token.write_text(f"{RIGHT}\n")
    bridge = Bridge(SHOP, tmp_path / "log", "--web-token-file", str(token))
    bridge.start()
    try:
        await page.page.goto(bridge.url)
        await page.shows("#login", "This bridge requires a token")
        for _ in range(2):
            await page.page.keyboard.press("Escape")  # which would leave a page without any way to log in
            await page.until("document.getElementById('login').open")
        await page.page.fill("#login-token", "wrong")
        await page.page.get_by_role("button", name="Log in").click()
        await page.shows("#login-error", "wrong token")
        await page.page.fill("#login-token", RIGHT)
        await page.page.get_by_role("button", name="Log in").click()
        await page.shows("#counts", "39 nodes")
        await page.page.reload()
        await page.shows("#counts", "39 nodes")
        assert await page.page.locator("#login").is_hidden()
        token.write_text(f"{RIGHT[::-1]}\n")  # the cookie ends with its token
        await page.until("document.getElementById('login').open")  # an open page notices it too
        assert await page.page.locator("#banner").is_hidden()  # it does not reconnect
        await page.page.reload()
        await page.shows("#login", "This bridge requires a token")
    finally:
        bridge.stop()
