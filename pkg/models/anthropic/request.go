package anthropic

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// defaultAnswer is the most tokens of an answer, which the protocol wants to
// know, unless the request says so.
const defaultAnswer = 16_384

// params is a request in the SDK's type.
func (m *model) params(req *llm.Request) (sdk.MessageNewParams, error) {
	p := sdk.MessageNewParams{Model: req.Model, MaxTokens: int64(cmp.Or(req.Options.MaxTokens, defaultAnswer))}
	refused := func(field string) bool { return m.quirks.refused(req.Model, field) }
	if !refused("cache_control") {
		p.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	for i := range req.Messages {
		if msg := &req.Messages[i]; msg.Role == llm.System {
			p.System = append(p.System, sdk.TextBlockParam{Text: msg.Text})
		} else {
			p.Messages = join(p.Messages, message(msg))
		}
	}
	thinks := req.Options.Effort != "" && !refused(effort)
	if thinks {
		p.OutputConfig.Effort = sdk.OutputConfigEffort(req.Options.Effort)
		if !refused("adaptive") {
			p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{}
		}
	}
	if t := req.Options.Temperature; t != nil && p.Thinking.OfAdaptive == nil && !refused("temperature") {
		p.Temperature = param.NewOpt(*t)
	}
	var err error
	if p.Tools, err = m.tools(req); err != nil {
		return p, err
	}
	switch {
	case len(p.Tools) == 0:
	case len(req.Tools) == 0:
		p.ToolChoice.OfNone = &sdk.ToolChoiceNoneParam{}
	case req.RequireCall && p.Thinking.OfAdaptive == nil && !refused("tool_choice"):
		p.ToolChoice.OfAny = &sdk.ToolChoiceAnyParam{}
	}
	if len(req.Output) > 0 && !refused("format") {
		down, err := m.schemas.Down(schema.Strict, req.Output)
		if err != nil {
			return p, err
		}
		if err := json.Unmarshal(down, &p.OutputConfig.Format.Schema); err != nil {
			return p, err
		}
	}
	return p, nil
}

// tools are those that may be called, or that the prompt had before and that
// may not be called now.
func (m *model) tools(req *llm.Request) ([]sdk.ToolUnionParam, error) {
	list := req.Tools
	if len(list) == 0 {
		list = req.HiddenTools
	}
	var out []sdk.ToolUnionParam
	for _, s := range list {
		about, input, err := m.schemas.Parameters(schema.Common, s.Description, s.Input)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", s.Name, err)
		}
		tool := sdk.ToolParam{Name: s.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](json.RawMessage(input))}
		if about != "" {
			tool.Description = param.NewOpt(about)
		}
		out = append(out, sdk.ToolUnionParam{OfTool: &tool})
	}
	return out, nil
}

// message is one message, which is a part of a turn.
func message(m *llm.Message) sdk.MessageParam {
	if m.Role == llm.Tool {
		block := sdk.NewToolResultBlock(callID(m.CallID), cmp.Or(m.Text, "(no output)"), m.Failed)
		for _, i := range m.Images {
			if len(i.Data) > 0 {
				image := sdk.NewImageBlockBase64(i.Type, base64.StdEncoding.EncodeToString(i.Data)).OfImage
				block.OfToolResult.Content = append(block.OfToolResult.Content, sdk.ToolResultBlockParamContentUnion{OfImage: image})
			}
		}
		return sdk.NewUserMessage(block)
	}
	if m.Role == llm.User {
		text := m.Text
		if strings.TrimSpace(text) == "" { // which the server refuses
			text = "(no text)"
		}
		var blocks []sdk.ContentBlockParamUnion // images first, as the server wants them
		for _, i := range m.Images {
			if len(i.Data) > 0 {
				blocks = append(blocks, sdk.NewImageBlockBase64(i.Type, base64.StdEncoding.EncodeToString(i.Data)))
			}
		}
		return sdk.NewUserMessage(append(blocks, sdk.NewTextBlock(text))...)
	}
	blocks := thoughts(m.State)
	if strings.TrimSpace(m.Text) != "" || len(m.Calls)+len(blocks) == 0 {
		// The last text of a conversation may not end in white space.
		blocks = append(blocks, sdk.NewTextBlock(cmp.Or(strings.TrimRight(m.Text, " \t\r\n"), "(no text)")))
	}
	for _, c := range m.Calls {
		blocks = append(blocks, sdk.NewToolUseBlock(callID(c.ID), transport.Object(c.Args), transport.CallName(c.Name)))
	}
	return sdk.NewAssistantMessage(blocks...)
}

// join appends a message. What one side says in several messages is one turn:
// the results of calls must all be in the turn that follows them.
func join(list []sdk.MessageParam, m sdk.MessageParam) []sdk.MessageParam {
	if n := len(list); n > 0 && list[n-1].Role == m.Role {
		list[n-1].Content = append(list[n-1].Content, m.Content...)
		return list
	}
	return append(list, m)
}

// thoughts are the signed thinking blocks of a message, which the server wants
// back unchanged.
func thoughts(s *llm.ProviderState) (blocks []sdk.ContentBlockParamUnion) {
	if s == nil || s.Dialect != stateDialect || s.Field != stateField {
		return nil
	}
	var list []thought
	if json.Unmarshal(s.Value, &list) != nil {
		return nil
	}
	for _, t := range list {
		if t.Data != "" {
			blocks = append(blocks, sdk.NewRedactedThinkingBlock(t.Data))
		} else if t.Signature != "" {
			blocks = append(blocks, sdk.NewThinkingBlock(t.Signature, t.Thinking))
		}
	}
	return blocks
}

// callID is the id of a call in the form that the server takes; ids of other
// providers may have other characters.
func callID(id string) string {
	return transport.CallName(id)
}

const effort = "effort"

// fields are those that a request can do without, as refusals name them. Models
// differ in what they take: older ones know no adaptive thinking, newer ones no
// temperature.
var fields = []string{"temperature", "adaptive", effort, "cache_control", "tool_choice", "format"}

// quirks records the fields that an endpoint has refused for a model. It is safe for
// concurrent use.
type quirks struct {
	mu   sync.Mutex
	list map[string][]string // by model
	// tried are models whose refusal for an unknown reason was answered with another form.
	tried map[string]bool
}

func (q *quirks) refused(model, field string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Contains(q.list[model], field)
}

// learn reads a refusal and reports whether asking again without what it names
// may help: whether it names a field that was sent.
func (q *quirks) learn(model string, sent []byte, err error) (field string, ok bool) {
	var e *llm.Error
	var words transport.ErrorText
	if !errors.As(err, &e) || !errors.As(err, &words) || e.Status != 400 || e.Kind != llm.BadRequest && e.Kind != llm.Unsupported {
		return "", false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	said := strings.ToLower(string(words))
	for _, f := range fields {
		if !strings.Contains(said, f) || !bytes.Contains(sent, []byte(`"`+f+`"`)) || slices.Contains(q.list[model], f) {
			continue
		}
		if q.list == nil {
			q.list = map[string][]string{}
		}
		q.list[model] = append(q.list[model], f)
		return f, true
	}
	return "", false
}

// other gives up all fields that were sent and can be missing, once for a model, after a refusal for a
// reason that is not known. undo takes that back.
func (q *quirks) other(model string, sent []byte, err error) (undo func()) {
	var e *llm.Error
	if !errors.As(err, &e) || !transport.Unexplained(e) {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	before, tried := q.list[model], q.tried[model]
	now := slices.Clone(before)
	for _, f := range fields {
		if bytes.Contains(sent, []byte(`"`+f+`"`)) && !slices.Contains(now, f) {
			now = append(now, f)
		}
	}
	if tried || len(now) == len(before) {
		return nil
	}
	if q.tried == nil {
		q.tried = map[string]bool{}
	}
	if q.list == nil {
		q.list = map[string][]string{}
	}
	q.tried[model], q.list[model] = true, now
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.list[model] = before
	}
}

type model struct {
	end     transport.Endpoint
	quirks  quirks
	schemas schema.Cache
}
