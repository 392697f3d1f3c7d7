package openai

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm/schema"
)

// A Dialect is what a server makes of the protocol: data, so that a server
// that differs needs a line here and no code.
type Dialect struct {
	Name  string
	About string   // where it differs, for people
	Hosts []string // where it lives: a host, or what it ends with
	Port  string   // on the machine at hand

	KeyHeader  string // in place of a bearer token
	Deployment bool   // the model is part of the path, with the API's version behind it

	// Newer are patterns of models that want max_completion_tokens and a
	// developer in place of the system, and take no temperature.
	Newer []string
	// UsageUnasked says that counts come by themselves, and that the wish for
	// them is refused.
	UsageUnasked bool
	// ID is the length that the id of a call must have, 0 for any.
	ID int
	// Bridge says that a user may not speak right after a tool.
	Bridge bool
	// State is the field of an answer with calls that the server wants back
	// with it.
	State string
	// Parallel says that parallel_tool_calls is known.
	Parallel bool

	// Must is the tool_choice by which an answer has to be a call; "" says
	// that the field is not known. StrictTools says that arguments are held to
	// a strict schema if a tool asks for it.
	Must        string
	StrictTools bool

	// Grammar says that the server takes a grammar for text that may call.
	Grammar bool

	// Thinks is how the server is told how much to think.
	Thinks Thinks

	// Format is how an answer is held to a schema.
	Format Format
	// Alone says that tools and a schema cannot go together.
	Alone bool
	// WithFormat goes along with a schema. Mostly it turns thinking off,
	// which would come first and escape the schema.
	WithFormat map[string]any
}

// A Format is how a server is told of the schema of an answer.
type Format string

const (
	FormatSchema Format = "schema" // response_format json_schema
	FormatStrict Format = "strict" // the same, strict
	FormatObject Format = "object" // any JSON object: the schema is not enforced
)

// Holds reports whether answers are held to a schema, so that tools can be
// called that way.
func (d *Dialect) Holds() bool { return d.Format != FormatObject }

// words is the schema language of the format.
func (d *Dialect) words() *schema.Dialect {
	if d.Format == FormatStrict {
		return schema.Strict
	}
	return schema.Grammar
}

// newer reports whether model is one of the newer ones.
func (d *Dialect) newer(model string) bool {
	model = path.Base(model)
	return slices.ContainsFunc(d.Newer, func(p string) bool { ok, _ := path.Match(p, model); return ok })
}

// Compatible is the dialect of a server that is not known.
const Compatible = "compatible"

func dialects() []Dialect {
	reasoning := []string{"o1*", "o3*", "o4*", "gpt-5*", "gpt-6*"}
	still := map[string]any{"chat_template_kwargs": map[string]any{"enable_thinking": false}}
	return []Dialect{
		{Name: "openai", Thinks: ThinksEffort, Must: "required", StrictTools: true, Hosts: []string{"api.openai.com"}, Newer: reasoning, Parallel: true, Format: FormatStrict,
			About: "strict schemas; newer models take max_completion_tokens, a developer message and no temperature"},
		{Name: "azure", Thinks: ThinksEffort, Must: "required", StrictTools: true, Hosts: []string{".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"}, Newer: reasoning, Parallel: true, Format: FormatStrict,
			KeyHeader: "api-key", Deployment: true,
			About: "as openai, with the deployment and the API's version in the address"},
		{Name: "openrouter", Thinks: ThinksObject, Must: "required", Hosts: []string{"openrouter.ai"}, Parallel: true, Format: FormatStrict, State: "reasoning_details",
			WithFormat: map[string]any{"provider": map[string]any{"require_parameters": true}},
			About:      "wants its reasoning_details back; only providers that heed a schema are asked for one"},
		{Name: "mistral", Must: "any", Hosts: []string{"api.mistral.ai"}, UsageUnasked: true, ID: 9, Bridge: true, Parallel: true, Format: FormatStrict, Alone: true,
			About: "ids of nine characters, no user right after a tool, refuses fields it does not know"},
		{Name: "groq", Thinks: ThinksEffort, Must: "required", Hosts: []string{"api.groq.com"}, Parallel: true, Format: FormatSchema, Alone: true,
			About: "tools and a schema exclude each other; a call it cannot parse is an error that holds the call"},
		{Name: "deepseek", Hosts: []string{"api.deepseek.com"}, Format: FormatObject, State: "reasoning_content",
			About: "wants its reasoning back with calls; any JSON object in place of a schema"},
		{Name: "ollama", Thinks: ThinksEffort, Port: "11434", Format: FormatSchema, Alone: true, WithFormat: map[string]any{"reasoning_effort": "none"},
			About: "the window cannot be set this way; models named ollama/NAME use its own protocol"},
		{Name: "llamacpp", Thinks: ThinksTemplate, Grammar: true, Must: "required", Port: "8080", Format: FormatSchema, Alone: true, Parallel: true, WithFormat: still,
			About: "llama.cpp's server, with --jinja for tools"},
		{Name: "vllm", Thinks: ThinksEffort, Must: "required", Port: "8000", Format: FormatSchema, Parallel: true, WithFormat: still,
			About: "with --enable-auto-tool-choice and --tool-call-parser for tools"},
		{Name: "lmstudio", Port: "1234", Format: FormatSchema, Alone: true,
			About: "LM Studio's local server"},
		{Name: Compatible, Thinks: ThinksEffort, Format: FormatSchema, Alone: true,
			About: "any other server: what nearly all of them take"},
	}
}

// Dialects lists those that are known, the most general last.
func Dialects() []Dialect { return dialects() }

// Known gives the dialect of that name.
func Known(name string) (Dialect, bool) {
	list := dialects()
	i := slices.IndexFunc(list, func(d Dialect) bool { return d.Name == name })
	if i < 0 {
		return Dialect{}, false
	}
	return list[i], true
}

// Guess tells the dialect from an address. A port counts on this machine
// only, where servers have the one they came with.
func Guess(base string) Dialect {
	list := dialects()
	other := list[len(list)-1]
	if base == "" {
		return list[0]
	}
	u, err := url.Parse(base)
	if err != nil {
		return other
	}
	host := strings.ToLower(u.Hostname())
	local := host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
	for _, d := range list {
		for _, h := range d.Hosts {
			if host == strings.TrimPrefix(h, ".") || strings.HasSuffix(host, "."+strings.TrimPrefix(h, ".")) {
				return d
			}
		}
		if local && d.Port != "" && u.Port() == d.Port {
			return d
		}
	}
	return other
}
