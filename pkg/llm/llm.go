// Package llm is the vocabulary shared by everything that talks to a language
// model: messages, requests, responses and the one-method [Model] interface.
//
// It knows no provider. The adapters below it (openai, ollama, script) turn
// these values into a provider's wire format and back; the executor above it
// builds requests and reads responses.
package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/text/match"
)

// Options are a request's knobs. The zero value leaves all to the provider.
type Options struct {
	Temperature *float64 `json:"temperature,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"` // of the answer; 0 means the adapter's default
	Window      int      `json:"window,omitempty"`     // context window in tokens, for providers that let the client set it
	Effort      Effort   `json:"effort,omitempty"`     // of thinking, for models that let it be set
}

// A Request asks a model for the next message. Model is the name without its
// provider prefix. Output, if set, is a JSON Schema that the answer's text
// must satisfy.
type Request struct {
	Model    string          `json:"model"`
	Messages []Message       `json:"messages"`
	Tools    []ToolSpec      `json:"tools,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"`
	Options  Options         `json:"options,omitzero"`

	// RequireCall asks for a call of one of Tools: the caller would refuse an
	// answer without one. A hint; adapters without such a field ignore it.
	RequireCall bool `json:"must,omitempty"`
	// HiddenTools replace Tools in a request that may not call any. Adapters
	// still send them, which keeps the prompt unchanged for the server's cache,
	// and forbid calls where they can; calls that come are dropped by the caller.
	HiddenTools []ToolSpec `json:"-"`

	// TextTools are tools that the prompt describes and that the answer's text
	// may call, in <tool_call> tags. Adapters that can constrain a text to that
	// do so.
	TextTools []ToolSpec `json:"-"`

	// Compacted counts the assistant messages that compaction removed from
	// Messages. Only scripted models read it.
	Compacted int `json:"-"`

	// History keeps the encoded form of Messages from one request of a
	// conversation to the next, so that each message is encoded once. May be
	// nil. The owner of the conversation passes the same History as long as
	// Messages only grows.
	History *EncodedHistory `json:"-"`
}

// A Stop is the reason why a model stopped, derived from the answer itself: the reasons
// that providers report are unreliable. It is "bound" for an external agent that reached
// one of its limits: see [Work.Stopped].
type Stop string

const (
	StopEnd    Stop = "end"    // it finished its answer
	StopCalls  Stop = "calls"  // it wants tools to be run
	StopLength Stop = "length" // it ran out of room; calls that were cut are Malformed
	StopFilter Stop = "filter" // the provider withheld the answer
)

// Known reports whether s is one of those that there are.
func (s Stop) Known() bool {
	return slices.Contains([]Stop{StopEnd, StopCalls, StopLength, StopFilter, "bound"}, s)
}

// A Response is a complete answer. An adapter never returns a Response for a
// stream that ended early: that is an [Error] of kind Cut.
type Response struct {
	Message Message `json:"message"`
	Usage   Usage   `json:"usage"`
	Stop    Stop    `json:"stop,omitempty"`
	Model   string  `json:"model,omitempty"` // as the provider names it
	// Notes are sentences for the operator about repairs and about parts of
	// the request that could not be sent.
	Notes []string `json:"notes,omitempty"`
	// Repairs are the Notes about calls that differ from what the model wrote.
	// They are fit to show to the model.
	Repairs []string `json:"repairs,omitempty"`
	// UnreadCall explains to the model why text that looks like a call was not
	// read as one. There are no calls then.
	UnreadCall string `json:"doubt,omitempty"`
	// Work is set by an external agent.
	Work *Work `json:"work,omitempty"`
}

// A Delta is a piece of an answer on its way.
type Delta struct {
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	// Waiting is the server's activity before it answers, such as loading the model;
	// there is no text then.
	Waiting string `json:"waiting,omitempty"`
	// Activity is an action of an external agent; there is no text then.
	Activity *Activity `json:"activity,omitempty"`
}

// A Model answers requests. What Generate returns is durable; what it passes
// to emit is a courtesy to watchers and may be lost. emit may be
// nil. Generate is safe for concurrent use, honours ctx, does not retry (the
// engine does) and returns errors of type *[Error] for everything a provider
// may do wrong.
type Model interface {
	Generate(ctx context.Context, req *Request, emit func(Delta)) (*Response, error)
}

// Func adapts a function to a Model.
type Func func(context.Context, *Request, func(Delta)) (*Response, error)

// Generate calls f.
func (f Func) Generate(ctx context.Context, req *Request, emit func(Delta)) (*Response, error) {
	return f(ctx, req, emit)
}

// Named returns m with the name of the model to ask for, whatever a request
// names. An [Model] loses its access to directories: it only answers.
func Named(m Model, name string) Model {
	return Func(func(ctx context.Context, req *Request, emit func(Delta)) (*Response, error) {
		named := *req
		named.Model = name
		return m.Generate(ctx, &named, emit)
	})
}

// An Activity is one action of an external agent, as the agent reports it: not
// verified.
type Activity struct {
	Kind   string `json:"activity"`
	ID     string `json:"id,omitempty"`   // of the call or the session
	Name   string `json:"name,omitempty"` // of the tool
	Text   string `json:"text,omitempty"`
	Output string `json:"said,omitempty"` // first line of a tool's output
	Code   *int   `json:"code,omitempty"` // exit code of a command
	Status string `json:"status,omitempty"`
	Usage  *Usage `json:"usage,omitempty"`
}

// Work sums up what an external agent did for one answer, as reported by the
// agent.
type Work struct {
	Session string  `json:"session,omitempty"` // resumes it
	Program string  `json:"program,omitempty"` // with its version, if reported
	Turns   int     `json:"turns,omitempty"`   // requests to the model behind it
	Calls   int     `json:"calls,omitempty"`   // of its tools
	Denied  int     `json:"denied,omitempty"`  // of them
	CostUSD float64 `json:"cost_usd,omitempty"`
	Changed int     `json:"changed,omitempty"` // files
	// Refused lists the permissions that were refused, with the reasons. The
	// agent itself learns only of the refusal.
	Refused []string `json:"refused,omitempty"`
	// Stopped names the limit that ended the work early: turns, tokens, cost,
	// time or same. The answer is then the text so far.
	Stopped string `json:"stopped,omitempty"`
}

// DroppedCall is the note on an answer whose tool call the server discarded: a
// call of an unknown tool, or one it could not parse. The text of the call is
// lost; reporting that to the model helps.
const DroppedCall = "the server dropped a malformed tool call"

// Dropped reports whether the provider lost a call that the model made. Such an answer
// does not end the turn.
func (r *Response) Dropped() bool { return slices.Contains(r.Notes, DroppedCall) }

// An Effort is the amount of thinking before an answer. Empty leaves it to the model.
// Adapters translate it to their server's parameters; one that a model does not support
// is left out and noted in the [Response].
type Effort string

const (
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
)

// Known reports whether e is empty or one of those that there are.
func (e Effort) Known() bool {
	return slices.Contains([]Effort{"", EffortLow, EffortMedium, EffortHigh}, e)
}

// Prices has the prices of models, by provider/model or by a pattern in which * stands
// for any text. The longest pattern decides. An entry of zeros is a model that is known
// to be free.
type Prices map[string]Price

// Of gives the price of a model; ok is false if nobody knows it.
func (p Prices) Of(model string) (price Price, ok bool) { return match.Pick(p, model) }

// Price is the price of a model, in USD per million tokens. The zero value is free.
// Cached input tokens cost Cached, or In if Cached is zero.
type Price struct {
	In     float64 `json:"in,omitempty"`
	Out    float64 `json:"out,omitempty"`
	Cached float64 `json:"cached,omitempty"`
	// Date is the date of the provider's price list, as 2026-10-16; "" if the operator
	// has set the price.
	Date string `json:"as_of,omitempty"`
}

// Old reports whether the price is one of more than so many months ago.
func (p Price) Old(now time.Time, months int) bool {
	at, err := time.Parse(time.DateOnly, p.Date)
	return err == nil && at.AddDate(0, months, 0).Before(now)
}

// Cost returns the cost of u in USD.
func (p Price) Cost(u Usage) float64 {
	cached := p.Cached
	cached = cmp.Or(cached, p.In)
	return (float64(u.In-u.Cached)*p.In + float64(u.Cached)*cached + float64(u.Out)*p.Out) / 1e6
}

// A ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"` // JSON Schema 2020-12, free of $ref
	// Brief reports that the description and the schema are shorter than the tool's own.
	// It is for code that writes prompts; adapters do not send it.
	Brief bool `json:"brief,omitempty"`
}

// Usage counts tokens. Cached is the part of In that the provider served from
// its cache. Adapters never report negative counts.
type Usage struct {
	In     int `json:"in"`
	Out    int `json:"out"`
	Cached int `json:"cached,omitempty"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.In + v.In, u.Out + v.Out, u.Cached + v.Cached}
}
