package reference

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/parts"
)

// settings describes the keys of the configuration. NAME, MODEL and HEADER stand for names that
// the user chooses.
var settings = withParts([]word{
	{"agent", "The agent of `adroit run \"a sentence\"`, which names none. Without it: `assistant`"},
	{"model", "What `-m` is if it is left out, as provider/model. Without it: Ollama if it answers, else the first of OpenAI, Anthropic, Gemini and OpenRouter whose key is set"},
	{"mode", "How far a job goes unasked: `plan` changes nothing and runs none of the project's code, tests included; `edits` changes files and asks about commands and publishing, `auto` also runs commands if a sandbox confines them"},
	{"approve", "How questions are answered: `edits` by a person, `ask` too, who is asked about every change of a file as well, `all` with yes, `none` with no. What `permissions` deny stays denied"},
	{"permissions", "Rules with `agent`, `tool`, `path` or `command`, `do` (`allow`, `ask`, `deny`) and `why`; deny is stronger than ask, ask than allow, in any order. Each simple command of a script is judged by itself; a `*` at the end of `command` stands for operands and for options known to be harmless. See [permissions](permissions.md)"},
	{"test.DIRECTORY", "The command that runs the tests of the project in this directory (`~/shop: make check`), for `run_tests` and with it for builder, debugger, fixer, worker and validate; `\"*\"` is all other projects. `--test` goes before; a trusted project's `.adroit/validation.yaml` goes before `*`"},
	{"limits.turns", "Answers of the model in one run"},
	{"limits.tokens", "Tokens in one run, in and out"},
	{"limits.cost_usd", "US dollars in one run; needs the model's price"},
	{"limits.time", "Time spent working in one run, as in 30m; waiting for a person does not count"},
	{"limits.wait", "How long one request waits for a server that loads its model, is overloaded or limits the rate (HTTP 429, 503, 529), as in 10m; the run shows that it waits. With fallbacks the next model is asked instead"},
	{"endpoints.NAME.base_url", "An OpenAI-compatible server, whose models are NAME/…; required for each endpoint"},
	{"endpoints.NAME.key_env", "The environment variable with its key"},
	{"endpoints.NAME.headers.HEADER", "Sent with every request; never shown"},
	{"endpoints.NAME.dialect", "What the server makes of the protocol: `openai`, `azure`, `openrouter`, `mistral`, `groq`, `deepseek`, `ollama`, `llamacpp`, `vllm`, `gemini`, `lmstudio`, `compatible`, or `anthropic` for the Messages API; guessed from the address if left out. `adroit models check` says which it is and where it differs"},
	{"endpoints.NAME.api_version", "Of Azure's addresses; 2024-10-21 if left out"},
	{"endpoints.NAME.one_call", "Ask for one call of a tool at a time, where the dialect can"},
	{"endpoints.NAME.body.FIELD", "Sent with every request, beside and over what adroit sends; not model, messages, tools, stream or response_format"},
	{"endpoints.NAME.idle_timeout", "The longest silence, as in 10m; five minutes if left out. A server on this machine or in its network is waited for before its first byte as long as it lives, unless this or timeout is set"},
	{"endpoints.NAME.timeout", "The longest answer, as in 1h; thirty minutes if left out"},
	{"calling.MODEL", "How models whose provider/model matches (`*` stands for any text) call tools: `auto` (the first that works of the others), `native`, `constrained` (each answer held to a schema) or `text`. The longest pattern decides; `--calling` and an agent's own `calling` go before"},
	{"ollama.keep_alive", "How long Ollama keeps a model loaded after its last answer, as in 30m; below zero: always. Without it the server decides (5m). If this is too short, a job that waited for a slow test loads its model again and reads its whole prompt anew"},
	{"cli.NAME.command", "A command-line agent, whose model is cli/NAME: the program and its first arguments. claude, codex, gemini and opencode need no entry; one of these names replaces the program. See [command-line agents](models.md#command-line-agents-as-models)"},
	{"cli.NAME.format", "How it is driven and its stream is read: `claude`, `codex`, `gemini`, `opencode`, `jsonl` (as the next keys say) or `acp`; NAME itself if left out"},
	{"cli.NAME.env", "Names of variables that it gets besides PATH, HOME, proxies and those of its format"},
	{"cli.NAME.args.read", "Of `jsonl`: its arguments if it may only read"},
	{"cli.NAME.args.write", "If it may change files"},
	{"cli.NAME.args.run", "If it may run commands, too; those of `write` if left out"},
	{"cli.NAME.args.model", "For cli/NAME:MODEL, with `{model}`"},
	{"cli.NAME.args.session", "To go on with a session, with `{session}`; without it each turn says the whole conversation again"},
	{"cli.NAME.args.system", "With `{system}`; without it the agent's words precede the prompt"},
	{"cli.NAME.args.prompt", "With `{prompt}`; the prompt alone if left out. One that is longer than an argument may be comes on the standard input instead"},
	{"cli.NAME.fields.TERM", "Where a line has what: the path of its own for one of `type`, `session`, `text`, `id`, `name`, `args`, `status`, `output`, `code`, `path`, `change`, `in`, `out`, `cached`, `cost`, `error`, `http`"},
	{"cli.NAME.types.TYPE", "What a line of its type is: `session`, `message`, `thinking`, `turn`, `tool.started`, `tool.finished`, `file.changed`, `usage`, `warning`, `retry`, `done` or `failed`"},
	{"cli.NAME.idle", "How long it may give no sign of life, as in 10m, while none of its tools is at work"},
	{"cli.NAME.same", "After how many identical calls in a row it is ended; 12 if left out"},
	{"models.NAME.model", "A role: a word such as `cheap` or `strong` that may stand wherever provider/model does, and the model it stands for. `NAME: provider/model` says the same in short. `default` is the role of requests that name no model; tools that ask a model get `cheap` if there is one; see [models](models.md)"},
	{"models.NAME.fallbacks", "Models to go on with, in this order, when the one before does not answer: nobody listens, overloaded or refused for its rate after all retries, unknown"},
	{"models.NAME.hedge", "After how long without a word the same is asked a second time beside it, as in 20s; the first answer wins and both are paid for"},
	{"fallbacks.MODEL", "The same for models whose provider/model matches (`*` stands for any text), if no role says otherwise. The longest pattern decides"},
	{"prices.MODEL.in", "US dollars per million tokens read by models whose provider/model matches (`*` stands for any text); the longest pattern decides. Common models have a built-in price, dated in `adroit config`, which any pattern here replaces. Zeros say that a model is free"},
	{"prices.MODEL.out", "US dollars per million tokens written"},
	{"prices.MODEL.cached", "US dollars per million tokens read from the provider's cache; the price of `in` if left out"},
	{"edit_formats.MODEL", "The form in which models whose provider/model matches (`*` stands for any text) write edits: `edit` (the two texts), `blocks` (search/replace), `patch` or `whole` (short files whole). The longest pattern decides; without one adroit knows what some families do best, and the others get `edit`"},
	{"windows.MODEL", "Tokens of the context window of models whose provider/model matches (`*` stands for any text); the longest pattern decides. Without it servers are asked, and where they do not state it adroit guesses by the family; see [models](models.md#context-windows)"},
	{"results.bytes", "Bytes of one result that a model is shown at once, by head and tail; read_result reads the rest. Small windows get less; -1: no bound"},
	{"diagnostics", "Whether the language server of a changed file, if it is installed, says after each change what that broke: `on` or `off`"},
	{"language_servers.NAME.command", "A language server that uses its standard input and output; the name of a built-in one (gopls, typescript, pyright) replaces it"},
	{"language_servers.NAME.files", "Patterns of the file names it serves, such as `*.rs`"},
	{"conventions.bytes", "Bytes of a trusted project's AGENTS.md that a prompt takes, and of each one below the top; -1: none"},
	{"mcp_projects", "What servers of a project's own `.mcp.json` may have, by directory and name: `variables` that `${NAME}` may stand for there, `net`, `workspace` (read or write). By their own file they have none of it"},
	{"mcp_servers", "MCP servers by name, each with `command` and `args`, or `url` and `headers`; `env`; what its program is granted in the sandbox: `net`, `read` and `write` (paths), `workspace` (read or write), or `sandbox: off`; `tools` (names that are offered, with wildcards), `agents` (that have them unnamed), `timeout` of a call, `start_timeout` (30s; 2m for what is downloaded first), `disabled`. `${NAME}` is a variable, `${file:PATH}` the content of a file, `${workspace}` the directory of the job. `adroit mcp add` keeps such entries in `mcp.json` beside this file"},
	{"triggers", "What starts jobs by itself while `adroit serve` runs, by name: at a time, by changed files, by signed requests or after other jobs; see [triggers](serve.md#triggers)"},
	{"notices", "Who is notified of jobs while `adroit serve` runs, by name: by webhook, mail or a command; see [notices](serve.md#notices)"},
	{"hooks", "Programs that run before and after the calls of tools, or at the end of a run as a notice, each with `when` (before, after or ended), `tools` (names, with wildcards; none: all), or with ended `status` (done, waiting, failed, …; none: all), `command` (the program and its arguments), `timeout` (30s; ended: 5s) and `on_error` (continue or block); see [hooks](agents.md#hooks)"},
	{"secrets.deny", "Names of files that no tool may touch, beside the built-in ones: `*.tfvars`, `config/prod.yaml`"},
	{"secrets.allow", "Names of the built-in list that tools may use after all, git's excepted"},
	{"secrets.known", "Fingerprints of findings that are no secrets, as git_commit prints them"},
	{"sandbox.level", "How commands are confined: `auto` the best this machine can do, `full`, `bubblewrap`, `landlock`, `seatbelt` or `off`; see [the sandbox](sandbox.md)"},
	{"sandbox.net", "`private`: commands have a loopback of their own; `open`: the network of this machine, and the record says so"},
	{"sandbox.show", "Paths in the home directory that commands may read, beside tool chains"},
	{"sandbox.write", "Directories that commands may change, beside the workspace"},
	{"sandbox.limits.memory_mb", "Memory of a command and its children in MB; -1: no limit"},
	{"sandbox.limits.file_mb", "Size of a file that a command writes in MB; -1: no limit"},
	{"sandbox.limits.processes", "Processes and threads of a command; -1: no limit"},
	{"sandbox.limits.cpu_seconds", "Processor time of one process of a command in seconds; -1: no limit"},
	{"sandbox.limits.free_mb", "What a command leaves free, in MB, on each disk that it may write to: it is stopped when less is left, and none is started below an eighth of it; -1: no limit"},
	{"network.allow", "What tools reach beside public addresses: prefixes (`10.1.0.0/16`), addresses, or hosts with or without a port (`searx.lan`, `127.0.0.1:8080`). It is about tools such as web_fetch; for commands see `sandbox.net`"},
	{"network.timeout", "Of one request with its redirects and its answer"},
	{"network.max_body", "Size of an answer in MB, unpacked; what is larger is an error"},
	{"network.redirects", "How many are followed; each is judged as the first address was. -1: none"},
	{"data_dir", "Where jobs are kept; a leading ~/ is the home directory"},
	{"retention", "How long jobs are kept after their end, as 30d, 2w or 12h: a run removes the older ones, with what `jobs undo` needs of them. Without it jobs stay until `jobs rm` or `jobs prune`"},
	{"log.level", "What is logged for operators: `error`, `warn`, `info` (begin and end of jobs), `debug` (each step), or `off`; `ADROIT_LOG` goes before. See [operating](production.md)"},
	{"log.format", "`text` or `json`, a line each"},
	{"log.file", "The file that lines are appended to; standard error if left out. A leading ~/ is the home directory"},
	{"coordinator.memory", "Where `adroit fix` looks for what was done about the same failure before: `project` (the directory), `user` (all projects) or `off`, which keeps nothing either. `project` if left out; see [fix](fix.md)"},
	{"coordinator.compare.WHAT", "Assigns jobs by their id to the sides of a comparison, which `adroit fix stats` counts apart: `memory: [on, off]`, `strategy: [NAME, default]`"},
	{"engine", "What runs the workflows of jobs: `local`, this program, or `temporal`, for more than one machine; see [operating](production.md). `--engine` goes before"},
	{"temporal.address", "The frontend of the Temporal cluster, as `host:port`. TEMPORAL_ADDRESS is used if it is left out"},
	{"temporal.namespace", "The namespace of jobs in it. TEMPORAL_NAMESPACE is used if it is left out"},
	{"temporal.tls.enabled", "Whether the connection uses TLS, as it does anyway with any of the settings below or with an API key; `TEMPORAL_TLS=true` does the same"},
	{"temporal.tls.ca", "The file with the authorities of the cluster's certificate; those of the system if left out. TEMPORAL_TLS_SERVER_CA_CERT_PATH is used if it is left out"},
	{"temporal.tls.cert", "The file with the certificate of this machine, if the cluster asks for one. TEMPORAL_TLS_CLIENT_CERT_PATH is used if it is left out"},
	{"temporal.tls.key", "The file with its key. TEMPORAL_TLS_CLIENT_KEY_PATH is used if it is left out"},
	{"temporal.tls.server_name", "The name in the cluster's certificate, if it is not that in the address. TEMPORAL_TLS_SERVER_NAME is used if it is left out"},
	{"temporal.api_key_file", "The file with the API key of the cluster, which only its user may read. TEMPORAL_API_KEY, which has the key itself, is used if it is left out"},
	{"temporal.key_file", "The file with the keys that encrypt prompts, results and questions on their way through Temporal; `adroit worker key` makes it. All hosts have the same; see [operating](production.md#safe)"},
	{"temporal.store", "The directory for payloads of more than 128 KB, which all hosts share. Without it, what has more than 1 MB fails as too_big"},
	{"temporal.labels", "What this machine has as a host, in words of your own: `adroit run --label` takes a host that has all that it names"},
	{"jobs.at_once", "How many jobs of the data directory run at once, in all processes; the others are queued and start by themselves, the oldest first. `--at-once` goes before. If left out, the limit of open files bounds them; see [operating](production.md)"},
})

// withParts puts what parts say of their settings before those of the data directory, in the
// order of the page.
func withParts(list []word) []word {
	order := []string{"research", "transcription", "publish", "github"}
	all := parts.All()
	slices.SortStableFunc(all, func(a, b adroit.Part) int { return slices.Index(order, keyOf(a)) - slices.Index(order, keyOf(b)) })
	var own []word
	for _, p := range all {
		if p.Section == nil {
			continue
		}
		for _, s := range p.Section().Settings() {
			own = append(own, word{keyOf(p) + "." + s.Key, s.About})
		}
	}
	i := slices.IndexFunc(list, func(w word) bool { return w.name == "data_dir" })
	return slices.Insert(list, i, own...)
}

// keyOf returns the key of a part's section, or "" if it has none.
func keyOf(p adroit.Part) string {
	if p.Section == nil {
		return ""
	}
	return p.Section().Key()
}

// named lists the placeholders for the keys of a map, by the map's key.
var named = map[string]string{"endpoints": "NAME", "language_servers": "NAME", "prices": "MODEL", "models": "NAME", "fallbacks": "MODEL", "edit_formats": "MODEL", "windows": "MODEL", "calling": "MODEL", "body": "FIELD", "headers": "HEADER", "feeds": "NAME", "calendars": "NAME", "links": "NAME", "properties": "NAME", "webhooks": "NAME", "cli": "NAME", "fields": "TERM", "types": "TYPE", "test": "DIRECTORY", "compare": "WHAT"}

func TestConfig(t *testing.T) {
	structs := map[string]*ast.StructType{}
	each(t, []string{"pkg/config"}, func(n ast.Node) {
		if s, ok := n.(*ast.TypeSpec); ok {
			if body, ok := s.Type.(*ast.StructType); ok {
				structs[s.Name.Name] = body
			}
		}
	})
	kinds := map[string]string{}
	keys := keysOf(structs, kinds, "Config", "")
	for _, p := range parts.All() {
		if p.Section != nil {
			keys = append(keys, keysOfSection(reflect.TypeOf(p.Section()).Elem(), kinds, p.Section().Key())...)
		}
	}
	complete(t, "setting", settings, keys)

	home := t.TempDir()
	defaults := show(t, map[string]string{"HOME": home})
	var b strings.Builder
	b.WriteString("| key | type | default | |\n|---|---|---|---|\n")
	for _, w := range settings {
		value := strings.ReplaceAll(defaults[w.name].Value, home, "~")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", w.name, plain(kinds[w.name]), value, cell(w.about))
	}
	example, err := os.ReadFile("../../../docs/config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "\n## Example\n\n```yaml\n%s```\n", example)
	hold(t, "config.md", b.String())
	dirtest.Golden(t, *update, "../../../configs/schemas/config.schema.json", configSchema(t, kinds))
}

// configSchema returns the JSON Schema of the configuration, with which editors complete its keys.
// It is never stricter than the program: a value that has several forms has no type.
func configSchema(t *testing.T, kinds map[string]string) []byte {
	type m = map[string]any
	object := func() m { return m{"properties": m{}, "additionalProperties": false} }
	doc := object()
	for _, w := range settings {
		at := doc
		keys := strings.Split(w.name, ".")
		for i, part := range keys {
			in := at["properties"].(m)
			any := strings.ToUpper(part) == part // NAME, MODEL: the user's word
			next, ok := in[part].(m)
			if any {
				next, ok = at["additionalProperties"].(m)
			}
			if !ok {
				if next = object(); i == len(keys)-1 {
					next = m{}
				}
			}
			if any {
				at["additionalProperties"] = next
			} else {
				in[part] = next
			}
			at = next
		}
		at["description"] = strings.ReplaceAll(w.about, "`", "")
		switch kinds[w.name] {
		case "int":
			at["type"] = "integer"
		case "float64":
			at["type"] = "number"
		case "bool":
			at["type"] = "boolean"
		}
	}
	for _, p := range parts.All() {
		if p.Section != nil {
			doc["properties"].(m)[p.Section().Key()].(m)["$comment"] = p.Name
		}
	}
	doc["title"] = "The configuration of adroit."
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// TestConfigSchema validates the example, and copies with typing errors, against the schema that
// ships.
func TestConfigSchema(t *testing.T) {
	raw, err := os.ReadFile("../../../configs/schemas/config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(raw)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../../docs/config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for text, right := range map[string]bool{
		string(example): true, "{}": true, "models: {cheap: ollama/a, strong: {model: openai/b}}": true, "limits: {turns: 5, time: 30m}": true,
		"limts: {turns: 5}": false, "limits: {turn: 5}": false, "limits: {turns: many}": false, "endpoints: {lab: {base_uri: x}}": false,
	} {
		value, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if faults := s.Validate(value); (len(faults) == 0) != right {
			t.Errorf("%.60s: %v", text, faults)
		}
	}
}

// TestExample loads the example as the program does, and demands that it
// sets every key there is.
func TestExample(t *testing.T) {
	path, err := filepath.Abs("../../../docs/config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := show(t, map[string]string{"HOME": t.TempDir(), "ADROIT_CONFIG": path})
	for _, w := range settings {
		key := strings.NewReplacer("NAME", "lab", "MODEL", "lab/some-model", "HEADER", "X-Team", "FIELD", "seed", "TERM", "text", "TYPE", "answer", "WHAT", "memory", "DIRECTORY", "~/shop").Replace(w.name)
		if strings.HasPrefix(key, "prices.") {
			key = key[:strings.LastIndex(key, ".")]
		}
		if s, ok := got[key]; !ok || s.From != "file "+path {
			t.Errorf("%s: %+v, want it from the example", key, s)
		}
	}
	if p := got["prices.lab/some-model"].Value; !strings.Contains(p, "in 0.5, out 1.5, cached 0.05") {
		t.Errorf("the price of the example is read as %q", p)
	}
}

type value struct{ Key, Value, From string }

func show(t *testing.T, env map[string]string) map[string]value {
	t.Helper()
	var list []value
	if err := json.Unmarshal(run(t, env, "config", "show", "--json"), &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]value{}
	for _, v := range list {
		out[v.Key] = v
	}
	return out
}

// keysOf lists the keys of a struct by its yaml tags, and notes their types.
func keysOf(structs map[string]*ast.StructType, kinds map[string]string, name, prefix string) (out []string) {
	for _, f := range structs[name].Fields.List {
		if f.Tag == nil {
			continue
		}
		key := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("yaml")
		if key == "" || key == "-" {
			continue
		}
		kind, at := f.Type, prefix+key
		if m, ok := kind.(*ast.MapType); ok {
			kind, at = m.Value, at+"."+named[key]
		}
		if id, ok := kind.(*ast.Ident); ok && structs[id.Name] != nil {
			out = append(out, keysOf(structs, kinds, id.Name, at+".")...)
			continue
		}
		out = append(out, at)
		kinds[at] = types.ExprString(kind)
	}
	return out
}

// keysOfSection is keysOf for the section of a part.
func keysOfSection(kind reflect.Type, kinds map[string]string, at string) (out []string) {
	switch kind.Kind() {
	case reflect.Map:
		return keysOfSection(kind.Elem(), kinds, at+"."+named[at[strings.LastIndex(at, ".")+1:]])
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(kind) {
			if key := f.Tag.Get("yaml"); key != "" && key != "-" {
				out = append(out, keysOfSection(f.Type, kinds, at+"."+key)...)
			}
		}
		return out
	}
	kinds[at] = kind.String()
	return []string{at}
}

// plain describes a Go type in words for people.
func plain(kind string) string {
	switch kind {
	case "int":
		return "whole number"
	case "float64":
		return "number"
	case "time.Duration":
		return "duration"
	}
	return "text"
}
