// Prints the effective policies of a target of a bridge: go run . BRIDGE_URL TARGET
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bridge, target string) error {
	client, err := NewClientWithResponses(bridge)
	if err != nil {
		return err
	}
	answer, err := client.GetEffectiveWithResponse(ctx, &GetEffectiveParams{Target: []string{target}})
	if err != nil {
		return err
	}
	if answer.JSONDefault != nil {
		return fmt.Errorf("%s: %s", answer.JSONDefault.Error.Code, answer.JSONDefault.Error.Message)
	}
	for _, effective := range answer.JSON200.Effective {
		for _, path := range effective.Paths {
			spec, err := json.Marshal(path.Spec)
			if err != nil {
				return err
			}
			fmt.Println(effective.PolicyKind, string(spec))
			if path.Origins == nil {
				continue
			}
			pointers := make([]string, 0, len(*path.Origins))
			for pointer := range *path.Origins {
				pointers = append(pointers, pointer)
			}
			sort.Strings(pointers)
			for _, pointer := range pointers {
				// A leaf that several policies made has a list of them.
				policy, err := (*path.Origins)[pointer].MarshalJSON()
				if err != nil {
					return err
				}
				fmt.Printf("  %s comes from %s\n", pointer, policy)
			}
		}
	}
	return nil
}
