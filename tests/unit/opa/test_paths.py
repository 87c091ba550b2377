from bridge.model.keys import pointer, segments_of, url_path

KEY = "core/Service/shop/cart#http"


def test_a_pointer_escapes_slashes_and_tildes_in_its_segments() -> None:
    assert pointer("index", KEY, "a~b") == "/index/core~1Service~1shop~1cart#http/a~0b"


def test_a_pointer_gives_its_segments_back() -> None:
    assert segments_of(pointer("index", KEY, "a~1b")) == ["index", KEY, "a~1b"]


def test_the_leading_slash_may_be_left_out_and_nothing_is_the_whole_document() -> None:
    assert segments_of("a/b") == ["a", "b"]
    assert segments_of("") == []


def test_a_url_path_encodes_each_segment() -> None:
    assert url_path(pointer("index", KEY, "#[0] ü")) == "index/core%2FService%2Fshop%2Fcart%23http/%23%5B0%5D%20%C3%BC"
