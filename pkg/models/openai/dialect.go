package openai

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Dialect describes how a server differs from the protocol. It is data, so
// that another server needs a line here and no code.
type Dialect struct {
	Name  string
	About string   // where it differs, for people
	hosts []string // where it lives: a host, or what it ends with
	port  string   // on the machine at hand

	// silent: its list of models states no windows, so nobody asks for it.
	silent bool

	keyHeader  string // in place of a bearer token
	deployment bool   // the model is part of the path, with the API's version behind it

	// newModels are patterns of models that want max_completion_tokens and a
	// developer in place of the system, and take no temperature.
	newModels []string
	// usageByDefault: counts come without stream_options, which are refused.
	usageByDefault bool
	// thoughtsInTotal: the tokens of thoughts, which are paid for, are counted in the
	// total only.
	thoughtsInTotal bool
	// idLength is the length that the id of a call must have, 0 for any.
	idLength int
	// bridge: a user message may not follow a tool result.
	bridge bool
	// state is the field of an answer with calls, or of its calls, that the
	// server wants back with it.
	state string
	// Parallel: the server knows parallel_tool_calls.
	Parallel bool

	// Must is the tool_choice that requires a call; "": the server has none.
	// StrictTools: the server can hold arguments to a strict schema.
	Must        string
	StrictTools bool

	// Grammar: the server takes a grammar for text with calls in it.
	Grammar bool

	// effortField is the form in which requests carry the effort.
	effortField effortField

	// Format is the form in which requests carry the schema of an answer.
	Format format
	// Alone: tools and a schema exclude each other.
	Alone bool
	// WithFormat goes along with a schema. Mostly it turns thinking off,
	// which would come first and escape the schema.
	WithFormat map[string]any
}

// A format is a form in which a request carries the schema of the answer.
type format string

const (
	formatSchema format = "schema" // response_format json_schema
	formatStrict format = "strict" // the same, strict
	formatObject format = "object" // any JSON object: the schema is not enforced
)

// Holds reports whether answers are held to a schema, so that tools can be
// called that way.
func (d *Dialect) Holds() bool { return d.Format != formatObject }

// schemaDialect is the schema language of the format.
func (d *Dialect) schemaDialect() *schema.Dialect {
	if d.Format == formatStrict {
		return schema.Strict
	}
	return schema.Grammar
}

// isNew reports whether model is one of newModels.
func (d *Dialect) isNew(model string) bool {
	model = path.Base(model)
	return slices.ContainsFunc(d.newModels, func(p string) bool { ok, _ := path.Match(p, model); return ok })
}

// compatible is the dialect of a server that is not known.
const compatible = "compatible"

// dialects lists those that are known, the most general last.
func dialects() []Dialect {
	reasoning := []string{"o1*", "o3*", "o4*", "gpt-5*", "gpt-6*"}
	still := map[string]any{"chat_template_kwargs": map[string]any{"enable_thinking": false}}
	return []Dialect{
		{Name: "openai", silent: true, effortField: effortString, Must: "required", StrictTools: true, hosts: []string{"api.openai.com"}, newModels: reasoning, Parallel: true, Format: formatStrict,
			About: "strict schemas; newer models take max_completion_tokens, a developer message and no temperature"},
		{Name: "azure", silent: true, effortField: effortString, Must: "required", StrictTools: true, hosts: []string{".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"}, newModels: reasoning, Parallel: true, Format: formatStrict,
			keyHeader: "api-key", deployment: true,
			About: "as openai, with the deployment and the API's version in the address"},
		{Name: "openrouter", effortField: effortObject, Must: "required", hosts: []string{"openrouter.ai"}, Parallel: true, Format: formatStrict, state: "reasoning_details",
			WithFormat: map[string]any{"provider": map[string]any{"require_parameters": true}},
			About:      "wants its reasoning_details back; only providers that heed a schema are asked for one"},
		{Name: "mistral", Must: "any", hosts: []string{"api.mistral.ai"}, usageByDefault: true, idLength: 9, bridge: true, Parallel: true, Format: formatStrict, Alone: true,
			About: "ids of nine characters, no user right after a tool, refuses fields it does not know"},
		{Name: "groq", effortField: effortString, Must: "required", hosts: []string{"api.groq.com"}, Parallel: true, Format: formatSchema, Alone: true,
			About: "tools and a schema exclude each other; a call it cannot parse is an error that holds the call"},
		{Name: "deepseek", silent: true, hosts: []string{"api.deepseek.com"}, Format: formatObject, state: reasoningContent,
			About: "wants its reasoning back with calls; any JSON object in place of a schema"},
		{Name: "gemini", silent: true, effortField: effortString, Must: "required", hosts: []string{"generativelanguage.googleapis.com", ".aiplatform.googleapis.com"}, Format: formatSchema, state: extraContent, thoughtsInTotal: true,
			About: "Gemini's own compatible endpoint; wants the signatures of its calls back"},
		{Name: "ollama", effortField: effortString, port: "11434", Format: formatSchema, Alone: true, WithFormat: map[string]any{"reasoning_effort": "none"},
			About: "the window cannot be set this way; models named ollama/NAME use its own protocol"},
		{Name: "llamacpp", effortField: effortTemplate, Grammar: true, Must: "required", port: "8080", Format: formatSchema, Alone: true, Parallel: true, WithFormat: still,
			About: "llama.cpp's server, with --jinja for tools"},
		{Name: "vllm", effortField: effortString, Must: "required", port: "8000", Format: formatSchema, Parallel: true, WithFormat: still,
			About: "with --enable-auto-tool-choice and --tool-call-parser for tools"},
		{Name: "lmstudio", port: "1234", Format: formatSchema, Alone: true,
			About: "LM Studio's local server"},
		{Name: compatible, effortField: effortString, Format: formatSchema, Alone: true,
			About: "any other server: what nearly all of them take"},
	}
}

// wantReasoning reports whether a server without a dialect of its own is known to want the
// reasoning of calls back.
func wantReasoning(base string) bool {
	u, err := url.Parse(base)
	return err == nil && slices.Contains([]string{"api.moonshot.ai", "api.moonshot.cn", "api.kimi.com", "api.z.ai", "open.bigmodel.cn", "api.minimax.io", "api.minimaxi.com",
		"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"}, strings.ToLower(u.Hostname()))
}

// Known gives the dialect of that name.
func Known(name string) (Dialect, bool) {
	list := dialects()
	i := slices.IndexFunc(list, func(d Dialect) bool { return d.Name == name })
	if i < 0 {
		return Dialect{}, false
	}
	return list[i], true
}

// Guess returns the dialect for an address. A port counts on this machine
// only, where servers use their default.
func Guess(base string) Dialect {
	list := dialects()
	other := list[len(list)-1]
	if base == "" {
		return list[0]
	}
	base, _ = transport.Address(base)
	u, err := url.Parse(base)
	if err != nil {
		return other
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(u.Path, "/openai/deployments/") { // a gateway before Azure, or one that serves its paths
		return list[slices.IndexFunc(list, func(d Dialect) bool { return d.deployment })]
	}
	local := host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
	for _, d := range list {
		for _, h := range d.hosts {
			if host == strings.TrimPrefix(h, ".") || strings.HasSuffix(host, "."+strings.TrimPrefix(h, ".")) {
				return d
			}
		}
		if local && d.port != "" && u.Port() == d.port {
			return d
		}
	}
	return other
}

// An effortField is the field of a request that sets how much to think, "" for
// a server without one.
type effortField string

const (
	effortString   effortField = "reasoning_effort"
	effortObject   effortField = "reasoning"            // an object with effort in it
	effortTemplate effortField = "chat_template_kwargs" // what the model's template makes of it
)

// value returns the value of the field.
func (t effortField) value(e llm.Effort) any {
	switch t {
	case effortObject:
		return map[string]any{"effort": e}
	case effortTemplate:
		return map[string]any{"reasoning_effort": e, "enable_thinking": e != llm.EffortLow}
	}
	return e
}

// Effort returns why a model of the dialect takes no effort, "" if it does.
func (d *Dialect) Effort(model string) string {
	switch {
	case d.effortField == "":
		return "the server has no field for it"
	case len(d.newModels) > 0 && !d.isNew(model):
		return "the model is not one that thinks"
	}
	return ""
}

// noThinking reports whether thinking is turned off for the sake of a schema.
func (d *Dialect) noThinking() bool {
	_, template := d.WithFormat[string(effortTemplate)]
	_, effort := d.WithFormat[string(effortString)]
	return template || effort
}

// effortOmitted returns the reason why the effort of a request is not sent, "" if it is
// or the request has none.
func (m *model) effortOmitted(req *llm.Request) string {
	d := &m.dialect
	why := d.Effort(req.Model)
	switch {
	case req.Options.Effort == "":
		return ""
	case why != "":
	case slices.Contains(m.quirks.of(req.Model), string(d.effortField)):
		why = "the server refuses " + string(d.effortField)
	case m.format(req) && d.noThinking():
		why = "thoughts would come before the answer that a schema holds"
	default:
		return ""
	}
	return "effort " + string(req.Options.Effort) + " is left out: " + why
}
