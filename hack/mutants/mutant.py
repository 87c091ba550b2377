"""One small fault in one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file of the repository in which the characters from `start` to `end` become `text`."""

    path: Path  # from the root of the repository
    start: int
    end: int
    text: str
    line: int

    def applied(self, source: str) -> str:
        """Return the file's text with the fault, without a line that has become empty."""
        changed = source[: self.start] + self.text + source[self.end :]
        if self.text:
            return changed
        begin = changed.rfind("\n", 0, self.start) + 1
        end = changed.find("\n", self.start)
        return changed[:begin] + changed[end + 1 :] if not changed[begin:end].strip() else changed

    def described(self, source: str) -> str:
        """Return `FILE:LINE: <before> → <after>`, in one line."""
        before, after = (" ".join(text.split()) for text in (source[self.start : self.end], self.text))
        return f"{self.path}:{self.line}: {before} → {after or '(removed)'}"
