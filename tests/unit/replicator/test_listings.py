"""How far types are reported."""

from bridge.model.changes import Deleted, Listed, Listing, Trouble, Upserted
from bridge.model.keys import parse_key
from bridge.replicator.intake import Listings

A, B = "core/Service", "core/Namespace"


def expecting(*types: str) -> Listings:
    listings = Listings()
    listings.expect(set(types))
    return listings


def test_a_type_is_missing_until_all_of_it_is_reported() -> None:
    listings = expecting(A)
    listings.take_in(Listing(A))
    listings.take_in(Upserted(A, ()))
    assert listings.missing == {A}
    listings.take_in(Listed(A))
    assert listings.missing == set()


def test_a_type_that_is_listed_by_namespaces_is_missing_until_the_whole_is() -> None:
    listings = expecting(A)
    for change in (Listing(A), Listing(A, "shop"), Listed(A, "shop")):
        listings.take_in(change)
    assert listings.missing == {A}
    listings.take_in(Listed(A))
    assert listings.missing == set()


def test_changes_before_a_listing_do_not_complete_it() -> None:
    listings = expecting(A)
    listings.take_in(Listed(A))
    listings.take_in(Deleted(A, parse_key("core/Service/shop/cart")))
    assert listings.missing == {A}
    assert listings.begun == set()


def test_an_unavailable_type_is_not_waited_for_until_it_is_listed() -> None:
    listings = expecting(A, B)
    listings.take_in(Trouble(A, "forbidden"))
    assert listings.missing == {B}
    listings.expect({A, B})
    assert listings.missing == {B}
    listings.take_in(Listing(A))
    assert listings.missing == {A, B}


def test_silence_of_some_holds_up_while_others_answer() -> None:
    listings = expecting(A, B)
    held_up = []
    for change in (
        Trouble(A, "no answer", unknown=True),
        Listing(B),
        Listed(B),
        Trouble(B, "no answer", unknown=True),
    ):
        listings.take_in(change)
        held_up.append(listings.is_held_up_by_silence)
    assert held_up == [False, False, True, False]


def test_a_listing_that_breaks_off_is_waited_for_only_where_it_was_expected() -> None:
    listings = expecting()
    listings.take_in(Listing(A))
    listings.take_in(Trouble(A, "no answer", unknown=True))
    assert listings.missing == set()


def test_after_starting_over_everything_is_expected_again() -> None:
    listings = expecting(A)
    listings.take_in(Listing(A))
    listings.take_in(Listed(A))
    listings.start_over()
    listings.expect({A})
    assert listings.missing == {A}
    listings.expect_nothing()
    assert listings.missing == set()
