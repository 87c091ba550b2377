package bridge.request_test

import data.bridge.request

test_usual_patterns_weigh_little if {
	every pattern in [
		`/api/v[0-9]+/(carts|orders)/[^/]+`,
		`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
		`([0-9]{1,3}\.){3}[0-9]{1,3}`,
		`(?i)bearer [A-Za-z0-9._-]{20,200}`,
		`[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z]{2,10})+`,
		`/\p{Greek}+/.*`,
		`a\{5\}|[{5}]`,
	] {
		not request.is_too_heavy(pattern)
	}
}

test_patterns_that_compile_to_much_are_too_heavy if {
	every pattern in [
		`[a-k1]{1000}`,
		`[]a-k]{1000}`,
		`[\]abcd]{900}`,
		`[[:alpha:]]{900}`,
		`[a-k1]{1,1000}`,
		`[a-k1]{500,}[a-k1]{500,}`,
		`((a{100}){100}){100}`,
		`((((ab?c){7}){7}){7}){7}`,
		`\pL{500}`,
		`\p{Greek}{500}`,
		`(?i:\pL\pN){60}`,
		`(?si)[a-z]{500}`,
		concat("", [`\pL` | some _ in numbers.range(1, 100)]),
		concat("", ["a" | some _ in numbers.range(1, 1025)]),
		`a{99999999999999999999}{99999999999999999999}b{3000}`,
	] {
		request.is_too_heavy(pattern)
	}
}

test_heaviest_routes_are_left_out_where_patterns_are_too_many if {
	few := {sprintf("/a%d[0-9]{2}", [index]) | some index in numbers.range(1, 10)}
	many := {sprintf("/b%d[a-z]{300}", [index]) | some index in numbers.range(1, 400)}
	request.overweight_routes({"r1": few, "r2": few}) == set()
	request.overweight_routes({"r1": few, "hostile": many}) == {"hostile"}
}

test_patterns_too_heavy_to_be_compiled_take_nothing_of_the_bound if {
	heavy := {sprintf("/b%d[a-k1]{1000}", [index]) | some index in numbers.range(1, 500)}
	request.overweight_routes({"hostile": heavy}) == set()
}
