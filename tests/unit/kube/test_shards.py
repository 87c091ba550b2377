"""Namespaces are divided evenly among shards, and shards among bridges."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bridge.kube.shards import find_requests, has_too_many, shard_of

BRIDGES = ("a", "b", "c", "d", "e")


def test_namespaces_are_spread_evenly_and_stay_in_their_shard() -> None:
    for count in (2, 3, 8):
        found = Counter(shard_of(f"team-{number}", count) for number in range(1_000))
        assert max(found.values()) < 1.2 * 1_000 / count
        assert min(found.values()) > 0.8 * 1_000 / count
    # Bridges of different versions agree.
    assert [shard_of(name, 8) for name in ("default", "kube-system", "shop")] == [7, 5, 2]
    assert shard_of("-", 8) == 0


def test_one_shard_has_everything() -> None:
    assert {shard_of(f"team-{number}", 1) for number in range(100)} == {0}


@given(st.lists(st.sampled_from(BRIDGES), min_size=1, max_size=64), st.sets(st.sampled_from(BRIDGES), min_size=1))
def test_bridges_that_request_and_grant_end_with_equal_parts(holders: list[str], live: set[str]) -> None:
    # A dead bridge's shards are taken by some live one.
    holders = [holder if holder in live else min(live) for holder in holders]
    for _ in range(100):
        before = list(holders)
        requesters: dict[int, str] = {}
        for me in sorted(live):
            owners = [requesters.get(shard, holder) for shard, holder in enumerate(holders)]
            requesters |= dict.fromkeys(find_requests(me, owners), me)
        for shard, requester in requesters.items():
            load = Counter(holders)  # as in the Leases: every bridge sees what the others did
            if has_too_many(holders[shard], requester, load):
                holders[shard] = requester
        if holders == before:
            break
    parts = Counter(holders)
    least = min(parts[bridge] for bridge in live)
    assert max(parts[bridge] for bridge in live) <= least + 1
    assert max(parts.values()) <= -(-len(holders) // len(live))


def test_shard_0_is_requested_last() -> None:
    assert list(find_requests("b", ["a", "a", "a", "a"])) == [3, 2]
    assert list(find_requests("b", ["a", "a"])) == [1]
    assert list(find_requests("b", ["a"])) == []


def test_a_requested_shard_counts_for_its_requester() -> None:
    assert list(find_requests("c", ["a", "a", "b", "b"])) == [3]
    assert list(find_requests("c", ["a", "a", "b", "c"])) == []
    assert list(find_requests("c", ["a", "a", "a", "b", "b", "b"])) == [5, 2]
