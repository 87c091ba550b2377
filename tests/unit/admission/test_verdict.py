from bridge.admission.review import ALL_WARNINGS, LONGEST_WARNING, fitted, verdict
from bridge.model.placement import Decision


def test_an_object_without_a_decision_is_admitted_unchanged() -> None:
    judged = verdict([Decision()], (), "")
    assert (judged.outcome, judged.denied, judged.annotations, judged.warnings) == ("allowed", None, {}, ())


def test_errors_deny_whatever_else_there_is() -> None:
    judged = verdict(
        [Decision({"a": "1"}, ("no", "never"), ("careful",)), Decision(errors=("nor here",))], ("away",), ""
    )
    assert judged.denied == (403, "Forbidden", "no; never; nor here")
    assert (judged.outcome, judged.annotations, judged.warnings) == ("denied", {}, ("careful",))


def test_a_decision_that_was_not_made_denies() -> None:
    judged = verdict([Decision({"a": "1"})], ("placement: OPA is unavailable",), "")
    assert judged.outcome == "failed-closed"
    assert judged.denied == (
        503,
        "ServiceUnavailable",
        "no decision could be made, and requests are denied while policies exist: placement: OPA is unavailable",
    )


def test_where_it_does_not_deny_it_is_reported_and_what_was_decided_counts() -> None:
    judged = verdict([Decision({"a": "1"})], ("rules: OPA is unavailable",), "because no policy exists")
    assert (judged.outcome, judged.denied, judged.annotations) == ("failed-open", None, {"a": "1"})
    reason = "because no policy exists: rules: OPA is unavailable"
    assert judged.warnings == (f"policy-bridge: admitted without a decision, {reason}",)


def test_warnings_are_one_line_each_and_as_long_as_the_api_server_takes() -> None:
    assert fitted(["two\nlines\t \x07bell"]) == ("two lines bell",)
    (long,) = fitted(["x" * 1000])
    assert len(long) == LONGEST_WARNING
    assert long.endswith("…")


def test_of_too_many_warnings_the_first_are_shown_with_the_number_of_the_others() -> None:
    shown = fitted([f"{number}: {'x' * 200}" for number in range(40)])
    assert sum(map(len, shown)) <= ALL_WARNINGS
    assert shown[-1] == f"and {40 - len(shown) + 1} more warnings"
