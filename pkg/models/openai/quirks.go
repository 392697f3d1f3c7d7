package openai

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// quirks are what the models of an endpoint turned out to refuse. Servers
// name the field in their refusal; it is then left out, or renamed, and the
// request sent again at once: it is the same question. It is safe for
// concurrent use.
type quirks struct {
	mu      sync.Mutex
	refused map[string][]string // by model
	tried   map[string]bool     // models whose refusal another form did not answer
}

// fields that a request can do without, as they are named in refusals.
// max_tokens is renamed rather than left out.
var fields = []string{"temperature", "stream_options", "parallel_tool_calls", "chat_template_kwargs", "reasoning_effort", "reasoning", "tool_choice", "grammar", "max_completion_tokens", "max_tokens"}

// Quirks of the messages: the server wants reasoning back with the calls that came with it,
// and takes no message of the user right behind a result.
const (
	wantsReasoning = "conversations without reasoning_content"
	alternates     = "a user behind a tool"
)

// strictTools is the quirk of a server that does not take strict tools. With
// the name of a tool behind it, it is that of a server that does not take the
// strict schema of this one.
const strictTools = "strict"

// ofTool finds the tool that a refusal of a schema names.
var ofTool = lazyregexp.New("invalid schema for function ['\"`]?([A-Za-z0-9_-]+)")

// loose are the tools of a model whose strict schemas were refused.
func (q *quirks) loose(model string) []string {
	var out []string
	for _, f := range q.of(model) {
		if name, ok := strings.CutPrefix(f, strictTools+" "); ok {
			out = append(out, name)
		}
	}
	return out
}

func (q *quirks) of(model string) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.refused[model])
}

// learn reads a refusal and reports whether asking again without what it
// names may help: whether it names a field that was sent.
func (q *quirks) learn(c *call, err error) (field string, ok bool) {
	var e *llm.Error
	var words transport.ErrorText
	if !errors.As(err, &e) || e.Kind != llm.BadRequest && e.Kind != llm.Unsupported || !errors.As(err, &words) {
		return "", false
	}
	model, said := c.req.Model, strings.ToLower(string(words))
	switch {
	case strings.Contains(said, "reasoning_content") && c.lacksReasoning():
		return wantsReasoning, q.add(model, wantsReasoning)
	case (strings.Contains(said, "alternate") || strings.Contains(said, "after role")) && c.userBehindTool():
		return alternates, q.add(model, alternates)
	case e.Status != 400 && e.Status != 422:
		return "", false
	}
	for _, f := range append([]string{strictTools}, fields...) {
		if f == strictTools {
			if !strings.Contains(said, "invalid schema for function") && !strings.Contains(said, "strict") || !bytes.Contains(c.tools, []byte(`"strict":true`)) {
				continue
			}
			if of := ofTool.FindStringSubmatch(strings.Replace(string(words), "Invalid", "invalid", 1)); of != nil && bytes.Contains(c.tools, []byte(`"name":"`+of[1]+`"`)) {
				f += " " + of[1]
			}
		} else if !about(said, f) || !bytes.Contains(c.fields, []byte(`"`+f+`":`)) {
			continue
		}
		return f, q.add(model, f)
	}
	return "", false
}

// add notes what a model refuses and reports whether that is new.
func (q *quirks) add(model string, what ...string) (fresh bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refused == nil {
		q.refused = map[string][]string{}
	}
	for _, f := range what {
		if !slices.Contains(q.refused[model], f) {
			q.refused[model] = append(q.refused[model], f)
			fresh = true
		}
	}
	return fresh
}

// other finds another form of a request that was refused for a reason that is not known: without
// the fields that can be missing, and with what some servers want of the messages. None is left after one
// that did not help.
func (q *quirks) other(c *call, err error) (changes []string) {
	var e *llm.Error
	if !errors.As(err, &e) || !transport.Unexplained(e) || c.named(err) {
		return nil
	}
	for _, f := range fields {
		if f != "max_tokens" && f != "max_completion_tokens" && bytes.Contains(c.fields, []byte(`"`+f+`":`)) && c.m.more[f] == nil {
			changes = append(changes, f)
		}
	}
	if c.lacksReasoning() {
		changes = append(changes, wantsReasoning)
	}
	if c.userBehindTool() {
		changes = append(changes, alternates)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(changes) == 0 || q.tried[c.req.Model] {
		return nil
	}
	if q.tried == nil {
		q.tried = map[string]bool{}
	}
	q.tried[c.req.Model] = true
	return changes
}

// undo takes back what another form was tried with.
func (q *quirks) undo(model string, changes []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refused[model] = slices.DeleteFunc(q.refused[model], func(f string) bool { return slices.Contains(changes, f) })
}

// named reports whether the server names a field that the operator wants sent.
func (c *call) named(err error) bool {
	var words transport.ErrorText
	if !errors.As(err, &words) {
		return false
	}
	for name := range c.m.more {
		if strings.Contains(string(words), name) {
			return true
		}
	}
	return false
}

// lacksReasoning reports whether the conversation has calls, and the server does not get
// the reasoning that came with them.
func (c *call) lacksReasoning() bool {
	return c.m.dialect.state == "" && !slices.Contains(c.m.quirks.of(c.req.Model), wantsReasoning) &&
		slices.ContainsFunc(c.req.Messages, func(m llm.Message) bool { return len(m.Calls) > 0 })
}

// userBehindTool reports whether a message of the user is right behind a result.
func (c *call) userBehindTool() bool {
	if c.bridge {
		return false
	}
	for i := 1; i < len(c.req.Messages); i++ {
		if c.req.Messages[i].Role == llm.User && c.req.Messages[i-1].Role == llm.Tool {
			return true
		}
	}
	return false
}

// about reports whether a refusal is about a field. Ollama has words of its own
// for a model that does not think.
func about(said, field string) bool {
	return strings.Contains(said, field) || field == string(effortString) && strings.Contains(said, "does not support thinking")
}

// unable are the words of servers that cannot do what was asked, for which
// they have no code of their own.
var unable = []struct{ words, what string }{
	{"enable-auto-tool-choice", "tools"},        // vLLM
	{"requires --jinja", "tools"},               // llama.cpp
	{"tool calling", "tools"},                   // Groq, OpenRouter
	{"tool use", "tools"},                       // OpenRouter
	{"function calling", "tools"},               // Gemini, LM Studio
	{"response_format", "format"},               // all that refuse it
	{"json_schema", "format"},                   // OpenAI's older models
	{"json schema", "format"},                   // Ollama
	{"structured output", "format"},             // vLLM, OpenRouter
	{"guided decoding", "format"},               // vLLM
	{"grammar", "format"},                       // llama.cpp
	{"failed to initialize samplers", "format"}, // llama.cpp, of a grammar
}

// ofTools is a refusal that names tools, and cannot is one that says of something that the
// server does not do it: together they are the rule for words that no list has.
var (
	ofTools = lazyregexp.New(`\b(?:tools?|tool_choice|functions?)\b`)
	cannot  = lazyregexp.New(`support|unavailable|not (?:available|enabled|implemented|permitted|allowed)|disabled|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)`)
)

// asUnsupported makes the refusal of tools or of a schema one of kind Unsupported, so
// that another way can be tried.
func asUnsupported(err error, req *llm.Request) error {
	var e *llm.Error
	var words transport.ErrorText
	if !errors.As(err, &e) || !errors.As(err, &words) || e.Kind != llm.BadRequest && e.Kind != llm.Overloaded || e.Status < 400 || e.Status > 500 {
		return err
	}
	said := strings.ToLower(string(words))
	refused := len(req.Tools) > 0 && e.Kind == llm.BadRequest && ofTools.MatchString(said) && cannot.MatchString(said)
	for _, u := range unable {
		asked := u.what == "tools" && len(req.Tools) > 0 || u.what == "format" && len(req.Output) > 0
		refused = refused || asked && strings.Contains(said, u.words)
	}
	if refused {
		c := *e
		c.Kind = llm.Unsupported
		return &c
	}
	return err
}
