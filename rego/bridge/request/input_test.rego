package bridge.request_test

import data.bridge.request

test_of_several_mistakes_the_first_is_reported if {
	request.input_problem == "host must be a string" with input as {"host": 1, "path": 2, "method": []}
	found := request.input_problem with input as {"headers": 1, "query": [1]}
	found == "headers must be an object of strings, or of lists of strings"
}

test_a_plain_request_has_none if {
	not request.input_problem with input as {"host": "shop.example.com", "path": "/", "port": 443}
}

# The time and memory of a request grow with the square of its labels and segments.
test_long_host_or_path_is_a_mistake if {
	long := concat("", ["a." | some _ in numbers.range(1, 131)])
	request.input_problem == "host must have at most 260 characters" with input as {"host": long}
	request.input_problem == "sni must have at most 260 characters" with input as {"sni": long}
	path := concat("", ["/a" | some _ in numbers.range(1, 4097)])
	request.input_problem == "path must have at most 8192 characters" with input as {"path": path}
	not request.input_problem with input as {"path": substring(path, 0, 8192), "host": substring(long, 0, 253)}
}
