"""Content at URLs: each failure is one error, with the reason."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from bridge.sources import downloads
from bridge.sources.downloads import UrlError, read_url


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/torn":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"half")
            return
        token = self.headers.get("Authorization", "")
        self.send_response(200 if self.path == "/page" else 404)
        self.end_headers()
        self.wfile.write(f"content {token}".encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Pages) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


def test_content_is_read_with_the_headers(server: str) -> None:
    assert read_url(f"{server}/page", {"Authorization": "Bearer t"}) == b"content Bearer t"


def test_answer_with_an_error_has_the_status(server: str) -> None:
    with pytest.raises(UrlError, match="the server answered 404 Not Found") as found:
        read_url(f"{server}/missing")
    assert found.value.status == 404


def test_server_that_does_not_answer_is_an_error_without_a_status() -> None:
    with pytest.raises(UrlError, match="refused") as found:
        read_url("http://127.0.0.1:1/page")
    assert found.value.status == 0


@pytest.mark.parametrize("url", ["http://", "http://127.0.0.1:port/x", "http://a b/"])
def test_url_without_a_valid_address_is_an_error(url: str) -> None:
    with pytest.raises(UrlError):
        read_url(url)


def test_content_that_ends_early_is_an_error(server: str) -> None:
    with pytest.raises(UrlError, match="ends early"):
        read_url(f"{server}/torn")


def test_content_above_the_bound_is_an_error(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "MOST_OF_INPUT", 3)
    with pytest.raises(UrlError, match="larger than"):
        read_url(f"{server}/page")
