"""The reasons of verdicts, as docs/reference/reasons.md explains them: the page is part of the package."""

import re
from dataclasses import dataclass

from bridge.files import reasons_page

DOCS = "https://github.com/policy-bridge/policy-bridge/blob/main/docs"
PAGE = f"{DOCS}/reference/reasons.md"
_ROW = re.compile(r"^\| `(\w+)`(?: of a \w+)? \| (.+) \| (.+) \|$")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: what it is about (a heading of the page), its meaning, and what to do, as Markdown without links."""

    name: str
    about: str
    meaning: str
    fix: str

    @property
    def url(self) -> str:
        """Return the address of its section of the page."""
        return f"{PAGE}#{self.about.lower().replace(',', '').replace(' ', '-')}"


def explained_reasons() -> list[Reason]:
    """Return all reasons in the order of the page; a name that has two meanings is there twice."""
    found = []
    about = ""
    for line in reasons_page().read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            about = line.removeprefix("## ")
        elif row := _ROW.match(line):
            name, meaning, fix = (_LINK.sub(r"\1", cell) for cell in row.groups())
            found.append(Reason(name, about, meaning, fix))
    return found
