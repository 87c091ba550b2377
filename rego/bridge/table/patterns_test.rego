package bridge.table_test

import data.bridge.table

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
		not table.excess(pattern)
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
		table.excess(pattern)
	}
}
