// Command ext-authz answers Envoy's ext_authz with the decisions of an OPA without the plugin for Envoy: it asks for the
// document of the plugin's `path` with the plugin's input, over HTTP.
//
// Its arguments are the address to listen at and the document's URL, such as
// http://127.0.0.1:8181/v1/data/envoy/authz/result.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	kind "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	status "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
)

type server struct {
	auth.UnimplementedAuthorizationServer
	document string
}

type decision struct {
	Allowed bool              `json:"allowed"`
	Status  int32             `json:"http_status"`
	Body    string            `json:"body"`
	Headers map[string]string `json:"headers"`
}

// Check decides on a request. Envoy denies it if this returns an error.
func (s *server) Check(ctx context.Context, request *auth.CheckRequest) (*auth.CheckResponse, error) {
	input, err := input(request)
	if err != nil {
		return nil, err
	}
	found, err := s.ask(ctx, input)
	if err != nil {
		return nil, err
	}
	var headers []*core.HeaderValueOption
	for name, value := range found.Headers {
		headers = append(headers, &core.HeaderValueOption{Header: &core.HeaderValue{Key: name, Value: value}})
	}
	if found.Allowed {
		ok := &auth.OkHttpResponse{Headers: headers}
		return &auth.CheckResponse{Status: &status.Status{Code: int32(codes.OK)},
			HttpResponse: &auth.CheckResponse_OkResponse{OkResponse: ok}}, nil
	}
	denied := &auth.DeniedHttpResponse{Headers: headers, Body: found.Body,
		Status: &kind.HttpStatus{Code: kind.StatusCode(found.Status)}}
	return &auth.CheckResponse{Status: &status.Status{Code: int32(codes.PermissionDenied)},
		HttpResponse: &auth.CheckResponse_DeniedResponse{DeniedResponse: denied}}, nil
}

// input returns the plugin's input: the request as JSON, and its query, parsed.
func input(request *auth.CheckRequest) (map[string]any, error) {
	text, err := protojson.Marshal(request)
	if err != nil {
		return nil, err
	}
	found := map[string]any{}
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	path, err := url.Parse(request.GetAttributes().GetRequest().GetHttp().GetPath())
	if err != nil {
		return nil, err
	}
	found["parsed_query"] = path.Query()
	return found, nil
}

func (s *server) ask(ctx context.Context, input any) (*decision, error) {
	body, err := json.Marshal(map[string]any{"input": input})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.document, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var found struct {
		Result *decision `json:"result"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&found); err != nil {
		return nil, err
	}
	if found.Result == nil {
		return nil, errors.New("the document is undefined")
	}
	return found.Result, nil
}

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	serving := grpc.NewServer()
	auth.RegisterAuthorizationServer(serving, &server{document: os.Args[2]})
	log.Fatal(serving.Serve(listener))
}
