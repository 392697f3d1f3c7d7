//lint:file-ignore SA1019 the suite asks for what revision 2026-07-28 deprecates

package serve_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
)

// What the conformance suite calls, as its documentation asks for it: the tools,
// resources and prompts of an "everything server". They are registered in our server,
// apart from the tools that agents are in TestConformance.

type toolRun = func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)

func media(text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

var (
	png      = media("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	wav      = media("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
	embedded = &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource"}}
)

func say(format string, args ...any) *sdk.TextContent {
	return &sdk.TextContent{Text: fmt.Sprintf(format, args...)}
}

// gives is a tool with always the same content.
func gives(content ...sdk.Content) toolRun {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: content}, nil
	}
}

// logs is a tool that logs.
func logs(lines ...string) toolRun {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, l := range lines {
			if err := req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: l}); err != nil {
				return nil, err
			}
		}
		return &sdk.CallToolResult{Content: []sdk.Content{say("logged")}}, nil
	}
}

func samples(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var in struct{ Prompt string }
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	r, err := req.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: say("%s", in.Prompt)}}})
	if err != nil {
		return nil, err
	}
	text, ok := r.Content.(*sdk.TextContent)
	if !ok {
		return nil, errors.New("no text")
	}
	return &sdk.CallToolResult{Content: []sdk.Content{say("LLM response: %s", text.Text)}}, nil
}

// elicits is a tool that asks with a form, and shows the answer.
func elicits(message, form string) toolRun {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(form)})
		if err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{say("Elicitation result: action=%s, content=%v", r.Action, r.Content)}}, nil
	}
}

func needsSampling(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
		return &sdk.CallToolResult{Content: []sdk.Content{say("sampling is there")}}, nil
	}
	data, err := json.Marshal(sdk.MissingRequiredClientCapabilityData{RequiredCapabilities: &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}}})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is required", Data: data}
}

const (
	empty     = `{"type":"object"}`
	defaults  = `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`
	enumForms = `{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`
	wide = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`
	inHeader = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`
	prompted = `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`
)

// everything registers what the suite calls.
func everything(r serve.Registry) error {
	s := r.SDK()
	tools := []struct {
		name, input string
		run         toolRun
	}{
		{"test_image_content", empty, gives(&sdk.ImageContent{Data: png, MIMEType: "image/png"})},
		{"test_audio_content", empty, gives(&sdk.AudioContent{Data: wav, MIMEType: "audio/wav"})},
		{"test_embedded_resource", empty, gives(embedded)},
		{"test_multiple_content_types", empty, gives(say("Several kinds"), &sdk.ImageContent{Data: png, MIMEType: "image/png"}, embedded)},
		{"test_tool_with_logging", empty, logs("Tool execution started", "Tool processing data", "Tool execution completed")},
		{"test_logging_tool", empty, logs("executed")},
		{"test_sampling", prompted, samples},
		{"test_elicitation_sep1034_defaults", empty, elicits("Defaults", defaults)},
		{"test_elicitation_sep1330_enums", empty, elicits("Enums", enumForms)},
		{"test_x_mcp_header", inHeader, gives(say("called"))},
		{"test_missing_capability", empty, needsSampling},
		{"test_streaming_elicitation", empty, gives(say("no request of its own"))},
		{"test_reconnection", empty, reconnects},
		{"test_trigger_tool_change", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{say("changed")}}, r.Tool("transient", empty, gives())
		}},
		{"test_trigger_prompt_change", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			s.AddPrompt(&sdk.Prompt{Description: "For the suite.", Name: "transient"}, prompt(say("x")))
			return &sdk.CallToolResult{Content: []sdk.Content{say("changed")}}, nil
		}},
	}
	for _, t := range tools {
		if err := r.Tool(t.name, t.input, t.run); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	// Our own schemas have no references and no $schema, which providers of models choke on.
	s.AddTool(&sdk.Tool{Name: "json_schema_2020_12_tool", Description: "For the suite.", InputSchema: json.RawMessage(wide)}, gives(say("called")))
	addResources(s)
	addPrompts(s)
	return inputTools(r)
}

// reconnects ends the stream of its call, so that the client has to come again.
func reconnects(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if req.Extra != nil && req.Extra.CloseSSEStream != nil {
		req.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10_000_000})
	}
	return &sdk.CallToolResult{Content: []sdk.Content{say("Reconnected")}}, nil
}

func addResources(s *sdk.Server) {
	resource := func(name, kind string, c sdk.ResourceContents) {
		s.AddResource(&sdk.Resource{Name: name, URI: "test://" + name, MIMEType: kind, Description: "For the suite."}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			own := c
			own.URI, own.MIMEType = req.Params.URI, kind
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&own}}, nil
		})
	}
	resource("static-text", "text/plain", sdk.ResourceContents{Text: "This is the content of the static text resource."})
	resource("static-binary", "image/png", sdk.ResourceContents{Blob: png})
	resource("watched-resource", "text/plain", sdk.ResourceContents{Text: "Watched resource content"})
	s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)}}}, nil
	})
}

func prompt(content ...sdk.Content) sdk.PromptHandler {
	return func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		r := &sdk.GetPromptResult{}
		for _, c := range content {
			r.Messages = append(r.Messages, &sdk.PromptMessage{Role: "user", Content: c})
		}
		return r, nil
	}
}

func addPrompts(s *sdk.Server) {
	s.AddPrompt(&sdk.Prompt{Description: "For the suite.", Name: "test_simple_prompt"}, prompt(say("This is a simple prompt for testing.")))
	s.AddPrompt(&sdk.Prompt{Description: "For the suite.", Name: "test_prompt_with_image"}, prompt(&sdk.ImageContent{Data: png, MIMEType: "image/png"}, say("Please analyze the image above.")))
	s.AddPrompt(&sdk.Prompt{Description: "For the suite.", Name: "test_prompt_with_arguments", Arguments: []*sdk.PromptArgument{{Name: "arg1", Required: true}, {Name: "arg2", Required: true}}},
		func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			a := req.Params.Arguments
			return prompt(say("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))(ctx, req)
		})
	s.AddPrompt(&sdk.Prompt{Description: "For the suite.", Name: "test_prompt_with_embedded_resource", Arguments: []*sdk.PromptArgument{{Name: "resourceUri", Required: true}}},
		func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return prompt(&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: req.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}},
				say("Please process the embedded resource above."))(ctx, req)
		})
	s.AddPrompt(&sdk.Prompt{Description: "For the suite.", Name: "test_input_required_result_prompt"}, func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if c := accepted(req.Params.InputResponses, "user_context"); c != nil {
			return prompt(say("Context: %v", c["context"]))(ctx, req)
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": asks("Context?", "context", "string")}}, nil
	})
}
