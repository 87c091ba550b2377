"""Lines out of pieces of bytes of any size."""

from __future__ import annotations


class LineSplitter:
    r"""Joins pieces of a stream and cuts them at `\n`.

    The HTTP library's own reader of lines gives up at 512 KiB, and an object may be larger than that.
    """

    def __init__(self) -> None:
        self._begun: list[bytes] = []  # pieces of a line whose end has not come; joined once, when it comes

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that end in this piece, without their ends and without empty ones."""
        first, *others = piece.split(b"\n")
        self._begun.append(first)
        if not others:
            return []
        lines = [b"".join(self._begun), *others[:-1]]
        self._begun = [others[-1]]
        return [line for line in lines if line.strip()]
