from bridge.opa.errors import OpaRejected


def test_a_rejection_tells_opas_details_with_file_and_row_in_one_line() -> None:
    error = OpaRejected(
        400,
        "invalid_parameter",
        "error(s) occurred while compiling module(s)",
        [{"code": "rego_type_error", "message": "undefined ref", "location": {"file": "x.rego", "row": 3, "col": 1}}],
    )
    assert str(error) == (
        "OPA answered 400 invalid_parameter: error(s) occurred while compiling module(s): x.rego:3: undefined ref"
    )
