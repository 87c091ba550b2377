package bridge.request_test

import data.bridge.request

test_of_several_mistakes_the_first_is_told if {
	request.input_problem == "host must be a text" with input as {"host": 1, "path": 2, "method": []}
	found := request.input_problem with input as {"headers": 1, "query": [1]}
	found == "headers must be an object of texts, or of lists of texts"
}

test_a_plain_request_has_none if {
	not request.input_problem with input as {"host": "shop.example.com", "path": "/", "port": 443}
}
