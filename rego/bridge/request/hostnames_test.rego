package bridge.request_test

import data.bridge.request

test_a_host_is_covered_by_its_name_the_wildcards_above_it_and_by_any if {
	request.covering_hostnames("a.shop.example.com") == ["a.shop.example.com", "*.shop.example.com", "*.example.com", "*.com", "*"]
	request.covering_hostnames("localhost") == ["localhost", "*"]
	request.covering_hostnames("") == ["*"]
}

test_a_name_is_more_specific_than_a_wildcard_and_the_longer_of_two if {
	names := ["*", "*.com", "*.example.com", "a.b", "www.example.com"]
	[name | some [_, name] in sort({[request.specificity(name), name] | some name in names})] == [
		"www.example.com",
		"a.b",
		"*.example.com",
		"*.com",
		"*",
	]
}
