"""What types deliver nothing, told in the log: once, and in one line those that have the same reason."""

from __future__ import annotations

import asyncio

import structlog

_TOGETHER = 0.5  # seconds: an API server that goes takes all types with it, each with some words of its own at first

log = structlog.get_logger(__name__)


class Troubles(dict[str, str]):
    """Why a subject (a type, or a file of manifests) delivers nothing at present, in words.

    `begins` and `ends` keep the dictionary, and tell the log shortly after, unless it was told the same last.
    """

    def __init__(self) -> None:
        super().__init__()
        self.serious: set[str] = set()  # those that are a warning
        self._news: dict[str, bool] = {}  # subjects of which something is to be told; whether it is a warning
        self._told: dict[str, str] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begins(self, subject: str, message: str, *, warning: bool) -> None:
        """A subject delivers nothing. To be called in a running event loop."""
        (self.serious.add if warning else self.serious.discard)(subject)
        if self.get(subject) != message:
            self[subject] = message
            self._tell_later(subject, warning=warning)

    def ends(self, subject: str) -> None:
        """A subject delivers again, or was in no trouble."""
        self.serious.discard(subject)
        if self.pop(subject, None):
            self._tell_later(subject, warning=False)

    def tell(self) -> None:
        """Tell the log now."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        news, self._news = self._news, {}
        ended: list[str] = []
        reasons: dict[tuple[str, bool], list[str]] = {}
        for subject, warning in sorted(news.items()):
            message = self.get(subject)
            if message is None:
                ended += [subject] if self._told.pop(subject, None) else []
            elif self._told.get(subject) != message:
                self._told[subject] = message
                reasons.setdefault((_general(message, subject), warning), []).append(subject)
        for (message, warning), subjects in reasons.items():
            (log.warning if warning else log.info)("delivers nothing", subjects=subjects, why=message)
        if ended:
            log.info("delivers again", subjects=ended)

    def _tell_later(self, subject: str, *, warning: bool) -> None:
        self._news[subject] = warning
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_TOGETHER, self.tell)


def _general(message: str, subject: str) -> str:
    """The message as it holds for other subjects, too."""
    return message.replace(f" serve {subject}:", " serve it:")
