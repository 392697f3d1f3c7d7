//lint:file-ignore SA1019 the suite asks for what revision 2026-07-28 deprecates

package serve_test

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
)

// Tools of the suite whose result asks the client for input (revision 2026-07-28).

// accepted is the form that a person has filled in, nil for none.
func accepted(in sdk.InputResponseMap, key string) map[string]any {
	if r, ok := in[key].(*sdk.ElicitResult); ok && r != nil && r.Action == "accept" {
		return r.Content
	}
	return nil
}

// sampled returns the text that a model of the client answered.
func sampled(in sdk.InputResponseMap, key string) (string, bool) {
	r, ok := in[key].(*sdk.CreateMessageWithToolsResult)
	if !ok || r == nil {
		return "", false
	}
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			return t.Text, true
		}
	}
	return "", true
}

func asks(message, field, kind string) *sdk.ElicitParams {
	type m = map[string]any
	return &sdk.ElicitParams{Message: message, RequestedSchema: m{"type": "object", "properties": m{field: m{"type": kind}}, "required": []string{field}}}
}

func samplesFor(text string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: say("%s", text)}}}
}

func came(format string, args ...any) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{say(format, args...)}}, nil
}

func wants(state string, requests sdk.InputRequestMap) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{InputRequests: requests, RequestState: state}, nil
}

var name = asks("What is your name?", "name", "string")

// inputTools registers them.
func inputTools(r serve.Registry) error {
	for n, run := range map[string]func(in sdk.InputResponseMap, req *sdk.CallToolRequest) (*sdk.CallToolResult, error){
		"elicitation": func(in sdk.InputResponseMap, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if who, _ := accepted(in, "user_name")["name"].(string); who != "" {
				return came("Hello, %s!", who)
			}
			return wants("", sdk.InputRequestMap{"user_name": name})
		},
		"sampling": func(in sdk.InputResponseMap, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if text, ok := sampled(in, "capital_question"); ok {
				return came("Sampling response: %s", text)
			}
			return wants("", sdk.InputRequestMap{"capital_question": samplesFor("What is the capital of France?")})
		},
		"list_roots": func(in sdk.InputResponseMap, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if roots, ok := in["client_roots"].(*sdk.ListRootsResult); ok && roots != nil {
				return came("Client exposed %d root(s)", len(roots.Roots))
			}
			return wants("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}})
		},
		"multiple_inputs": severalInputs,
		"multi_round":     rounds,
		"capabilities":    asksWhatIsThere,
	} {
		err := r.Tool("test_input_required_result_"+n, empty, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return run(req.Params.InputResponses, req)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func severalInputs(in sdk.InputResponseMap, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	who, _ := accepted(in, "user_name")["name"].(string)
	greeting, greeted := sampled(in, "greeting")
	roots, rooted := in["client_roots"].(*sdk.ListRootsResult)
	if who != "" && greeted && rooted {
		return came("%s %s, %d root(s) visible", greeting, who, len(roots.Roots))
	}
	return wants("multiple_inputs", sdk.InputRequestMap{"user_name": name, "greeting": samplesFor("Generate a greeting"), "client_roots": &sdk.ListRootsParams{}})
}

func rounds(in sdk.InputResponseMap, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	const second = "round=2;name="
	switch state := req.Params.RequestState; {
	case state == "":
		return wants("round=1", sdk.InputRequestMap{"step1": name})
	case state == "round=1":
		who, _ := accepted(in, "step1")["name"].(string)
		return wants(second+who, sdk.InputRequestMap{"step2": asks("What is your favorite color?", "color", "string")})
	default:
		return came("%s likes %v", strings.TrimPrefix(state, second), accepted(in, "step2")["color"])
	}
}

// asksWhatIsThere asks for no input that the client cannot give.
func asksWhatIsThere(in sdk.InputResponseMap, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if len(in) > 0 {
		return came("Given")
	}
	requests := sdk.InputRequestMap{}
	if c := req.ClientCapabilities(); c != nil {
		if c.Elicitation != nil {
			requests["user_name"] = name
		}
		if c.Sampling != nil {
			requests["greeting"] = samplesFor("Generate a short greeting")
		}
		if c.RootsV2 != nil {
			requests["client_roots"] = &sdk.ListRootsParams{}
		}
	}
	if len(requests) == 0 {
		return came("The client can give no input")
	}
	return wants("", requests)
}
