"""Bytes that are almost what a decoder expects: pieces that have broken decoders, spliced into valid input."""

from collections.abc import Sequence

from hypothesis import strategies as st

PIECES = (
    *(b"[", b"{", b"]", b"}", b'"', b"\\", b":", b",", b"null", b"-1", b"1e400", b"\xff", b"\\ud800", b"\x00", b"\n"),
    *(b'{"a":' * 300, b"[" * 300, b"]" * 300, b"&a ", b"*a", b"---\n", b"- ", b"? ", b"<<: ", b"!!binary ", b"/", b"#"),
    *(b"@frontend", b'"metadata":', b'"name":', b'"object":', b'"items":', b"0x", b"2020-01-01", b"'", b"%", b"\t"),
    *(b"!!value ", b"!!int ", b"!!timestamp ", b"!!set ", b"!!omap ", b"!!python/name:os ", b"&a {<<: *a}", b"%25"),
    *(b"<<: [*a, *a]", b"%2F", b"~1", b"..", b"\xef\xbb\xbf", b"12:30:45", b"0o7", b".inf", b"\xed\xa0\x80"),
)
_PLACES = st.integers(0, 1 << 14)
_CUTS = st.sampled_from([0, 0, 1, 2, 8, 64])  # how many bytes a piece replaces


def spliced(inputs: st.SearchStrategy[bytes], more: Sequence[bytes] = (), most: int = 8) -> st.SearchStrategy[bytes]:
    """Return a strategy for inputs with up to `most` pieces, or pieces of `more`, at random places."""
    pieces = st.sampled_from((*PIECES, *more)) | st.binary(max_size=8)
    return st.builds(_splice, inputs, st.lists(st.tuples(_PLACES, _CUTS, pieces), max_size=most))


def _splice(data: bytes, splices: list[tuple[int, int, bytes]]) -> bytes:
    for place, cut, piece in splices:
        start = place % (len(data) + 1)
        data = data[:start] + piece + data[start + cut :]
    return data
