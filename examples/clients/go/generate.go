package main

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.5.0 -package main -generate types,client -o api.gen.go ../../../docs/reference/openapi.yaml
