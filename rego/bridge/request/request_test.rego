package bridge.request_test

import data.bridge.request

test_fields_of_the_input_tell_the_protocol if {
	request.request.protocol == "HTTP" with input as {"host": "a"}
	request.request.protocol == "HTTPS" with input as {"protocol": "HTTPS"}
	request.request.protocol == "GRPC" with input as {"grpc": {"service": "s", "method": "m"}}
	request.request.protocol == "TLS" with input as {"sni": "a"}
	request.request.protocol == "TCP" with input as {"port": 1}
	request.request.protocol == "UDP" with input as {"port": 1, "protocol": "UDP"}
}

test_a_host_is_in_lower_case_and_without_port_and_last_dot if {
	request.request.host == "www.example.com" with input as {"host": "WWW.Example.com:8080"}
	request.request.host == "www.example.com" with input as {"host": "www.example.com."}
}

test_a_call_is_a_path_and_a_header_with_several_values_is_one if {
	query_input := request.request with input as {"grpc": {"service": "s", "method": "m"}, "headers": {"A": ["1", "2"], "a": "3"}}
	query_input.path == "/s/m"
	query_input.method == "POST"
	query_input.headers == {"a": "1,2,3"}
}

test_host_is_a_header_too if {
	plain := request.request with input as {"host": "a.test", "path": "/"}
	plain.headers == {"host": "a.test"}
	other := request.request with input as {"host": "A.test:80", "headers": {"a": "1"}}
	other.headers == {"a": "1", "host": "a.test"}
	own := request.request with input as {"host": "a.test", "headers": {"Host": "b.test"}}
	own.headers == {"host": "b.test"}
}

test_errors_of_a_request_are_reported if {
	wrong := [
		{"host": 1},
		{"protocol": "QUIC"},
		{"port": 0},
		{"port": 1.5},
		{"port": "80"},
		{"path": "x"},
		{"path": "/x?y=1"},
		{"grpc": {"service": "a/b", "method": "c"}},
		{"headers": {"a": 1}},
		{"query": {"a": []}},
	]
	every query_input in wrong {
		request.form_problem with input as query_input
	}
	not request.form_problem with input as {"host": "a", "path": "/", "port": 80, "headers": {"a": ["b"]}}
}

test_a_port_has_16_bits if {
	every port in [1, 65535] {
		not request.form_problem with input as {"host": "a", "port": port}
	}
	every port in [0, 65536] {
		request.form_problem == "port must be a number from 1 to 65535" with input as {"host": "a", "port": port}
	}
}

test_a_url_is_no_host if {
	every host in ["https://shop.example.com", "shop.example.com/cart", "shop.example.com?a=b", "ann@shop", "a:b", "a b"] {
		startswith(request.form_problem, "host must be a hostname: ") with input as {"host": host}
		startswith(request.form_problem, "sni must be a hostname: ") with input as {"sni": host}
	}
	every host in ["shop.example.com", "shop.example.com:8080", "10.0.0.1", "[2001:db8::1]:80", "*.example.com", ""] {
		not request.form_problem with input as {"host": host}
	}
}

test_of_several_mistakes_the_first_is_reported if {
	request.form_problem == "host must be a string" with input as {"host": 1, "path": 2, "method": []}
	found := request.form_problem with input as {"headers": 1, "query": [1]}
	found == "headers must be an object of strings, or of lists of strings"
}

test_a_plain_request_has_none if {
	not request.form_problem with input as {"host": "shop.example.com", "path": "/", "port": 443}
}

# The time and memory of a request grow with the square of its labels and segments.
test_long_host_or_path_is_a_mistake if {
	long := concat("", ["a." | some _ in numbers.range(1, 131)])
	request.form_problem == "host must have at most 260 characters" with input as {"host": long}
	request.form_problem == "sni must have at most 260 characters" with input as {"sni": long}
	path := concat("", ["/a" | some _ in numbers.range(1, 4097)])
	request.form_problem == "path must have at most 8192 characters" with input as {"path": path}
	not request.form_problem with input as {"path": substring(path, 0, 8192), "host": substring(long, 0, 253)}
}

test_a_mistake_is_explained_by_the_expected_form if {
	every row in [
		[{"host": 1}, "host must be a string"],
		[{"host": "größe.example.com"}, "host must be in ASCII: clients send other letters in Punycode (xn--)"],
		[{"sni": "größe.example.com"}, "sni must be in ASCII: clients send other letters in Punycode (xn--)"],
		[{"protocol": "FTP"}, "protocol must be one of GRPC, HTTP, HTTPS, TCP, TLS, UDP"],
		[{"port": 0}, "port must be a number from 1 to 65535"],
		[{"path": "cart"}, "path must begin with / and must not contain ?: use query for parameters"],
		[{"path": "/cart?a=b"}, "path must begin with / and must not contain ?: use query for parameters"],
		[{"grpc": {"service": "cart"}}, "grpc must have service and method, both strings without /"],
		[{"grpc": {"service": "shop/cart", "method": "Get"}}, "grpc must have service and method, both strings without /"],
		[{"grpc": {"service": "cart", "method": "shop/Get"}}, "grpc must have service and method, both strings without /"],
		[{"grpc": {"service": "shop.Cart", "method": "Get"}, "path": "/cart"}, "path of a gRPC call is /shop.Cart/Get: omit it, or correct grpc"],
		[{"headers": {"a": 1}}, "headers must be an object of strings, or of lists of strings"],
		[{"query": {"a": []}}, "query must be an object of strings, or of lists of strings"],
		[{"query": {"a": ["b", 1]}}, "query must be an object of strings, or of lists of strings"],
	] {
		request.form_problem == row[1] with input as row[0]
	}
}
