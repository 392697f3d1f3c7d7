package textcall

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/llm"
)

// agentTools resemble the tools of real agents.
var agentTools = []llm.ToolSpec{
	{Name: "read_file", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"from":{"type":"integer"}},"required":["path"]}`)},
	{Name: "write_file", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`)},
	{Name: "search", Input: json.RawMessage(`{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"},"limit":{"type":"integer"}},"required":["pattern"]}`)},
	{Name: "shell", Input: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer"}},"required":["command"]}`)},
	{Name: "list_files", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
	{Name: "finish", Input: json.RawMessage(`{"type":"object","properties":{"summary":{"type":"string"}},"required":["summary"]}`)},
	{Name: "git_status", Input: json.RawMessage(`{"type":"object","properties":{}}`)},
}

type argument struct {
	key string
	v   any
}

// writers write a call as the families do.
var writers = map[string]func(name string, args []argument) string{
	"hermes":       inJSON("<tool_call>\n", "arguments", "\n</tool_call>"),
	"granite":      inJSON("<|tool_call|>[", "arguments", "]"),
	"granite 20b":  inJSON("<function_call> ", "arguments", ""),
	"longcat":      inJSON("<longcat_tool_call>", "arguments", "</longcat_tool_call>"),
	"jamba":        inJSON("<tool_calls>[", "arguments", "]</tool_calls>"),
	"nemotron":     inJSON("<TOOLCALL>[", "arguments", "]</TOOLCALL>"),
	"llama":        inJSON("<|python_tag|>", "parameters", "<|eom_id|>"),
	"command":      inJSON("<|START_ACTION|>[", "parameters", "]<|END_ACTION|>"),
	"mistral":      inJSON("[TOOL_CALLS] [", "arguments", "][/TOOL_CALLS]"),
	"gigachat":     inJSON("function call<|role_sep|>\n", "arguments", ""),
	"gigachat 3.1": inJSON("<|function_call|>", "arguments", ""),
	"internlm":     inJSON("<|action_start|><|plugin|>", "parameters", "<|action_end|>"),
	"object":       inJSON("", "arguments", ""),
	"fence":        inJSON("```json\n", "arguments", "\n```"),
	"mistral new":  func(n string, a []argument) string { return "[TOOL_CALLS]" + n + "[ARGS]" + asJSON(a) },
	"kimi": func(n string, a []argument) string {
		return "<|tool_calls_section_begin|><|tool_call_begin|>functions." + n + ":0<|tool_call_argument_begin|>" + asJSON(a) + "<|tool_call_end|><|tool_calls_section_end|>"
	},
	"deepseek": func(n string, a []argument) string {
		return "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>" + n + "<｜tool▁sep｜>" + asJSON(a) + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
	},
	"apertus": func(n string, a []argument) string {
		return `<|tools_prefix|>[{"` + n + `": ` + asJSON(a) + `}]<|tools_suffix|>`
	},
	"qwen-coder":   inTags("<tool_call>\n<function=%s>\n", "<parameter=%s>\n%s\n</parameter>\n", "</function>\n</tool_call>"),
	"seed":         inTags("<seed:tool_call>\n<function=%s>\n", "<parameter=%s>%s</parameter>\n", "</function>\n</seed:tool_call>"),
	"minimax m2":   inTags("<minimax:tool_call>\n<invoke name=\"%s\">\n", "<parameter name=\"%s\">%s</parameter>\n", "</invoke>\n</minimax:tool_call>"),
	"minimax m3":   inTags("]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"%s\">", "]<]minimax[>[<%[1]s>%[2]s]<]minimax[>[</%[1]s>", "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"),
	"deepseek v4":  inTags("<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"%s\">\n", "<｜DSML｜parameter name=\"%s\">%s</｜DSML｜parameter>\n", "</｜DSML｜invoke>\n</｜DSML｜tool_calls>"),
	"glimmer":      inTags("<atem:function_calls>\n<atem:invoke name=\"%s\">\n", "<atem:parameter name=\"%s\">%s</atem:parameter>\n", "</atem:invoke>\n</atem:function_calls>"),
	"minicpm5":     inTags("<function name=\"%s\">", "<param name=\"%s\">%s</param>", "</function>"),
	"glm":          inTags("<tool_call>%s\n", "<arg_key>%s</arg_key>\n<arg_value>%s</arg_value>\n", "</tool_call>"),
	"hunyuan 3":    inTags("<tool_calls><tool_call>%s<tool_sep>", "<arg_key>%s</arg_key><arg_value>%s</arg_value>", "</tool_call></tool_calls>"),
	"hunyuan 4":    inTags("<tool_calls:opensource><tool_call:opensource>%s", "<arg_key:opensource>%s</arg_key:opensource><arg_value:opensource>%s</arg_value:opensource>", "</tool_call:opensource></tool_calls:opensource>"),
	"longcat keys": inTags("<longcat_tool_call>%s\n", "<longcat_arg_key>%s</longcat_arg_key>\n<longcat_arg_value>%s</longcat_arg_value>\n", "</longcat_tool_call>"),
	"cline":        inTags("<%s>\n", "<%[1]s>%[2]s</%[1]s>\n", "</%s>"), // no family's; read as a doubt
	"lfm2":         inPython("<|tool_call_start|>[", "]<|tool_call_end|>"),
	"llama 4":      inPython("<|python_start|>[", "]<|python_end|>"),
	"olmo 3":       inPython("<function_calls>", "</function_calls>"),
	"pythonic":     inPython("[", "]"),
	"python line":  inPython("", ""),
	"harmony": func(n string, a []argument) string {
		return "<|channel|>commentary to=functions." + n + " <|constrain|>json<|message|>" + asJSON(a) + "<|call|>"
	},
	"react": func(n string, a []argument) string { return "Action: " + n + "\nAction Input: " + asJSON(a) },
	"gemma": func(n string, a []argument) string {
		var in []string
		for _, x := range a {
			if s, ok := x.v.(string); ok {
				in = append(in, x.key+":<escape>"+s+"<escape>")
				continue
			}
			in = append(in, fmt.Sprint(x.key, ":", x.v))
		}
		return "<start_function_call>call:" + n + "{" + strings.Join(in, ",") + "}<end_function_call>"
	},
}

func asJSON(args []argument) string {
	v := &value{Kind: '{'}
	for _, a := range args {
		b, _ := json.Marshal(a.v)
		v.Keys, v.Kids = append(v.Keys, a.key), append(v.Kids, &value{Raw: string(b)})
	}
	return string(v.Append(nil))
}

func inJSON(open, key, end string) func(string, []argument) string {
	return func(name string, args []argument) string {
		return open + `{"name": "` + name + `", "` + key + `": ` + asJSON(args) + `}` + end
	}
}

func inTags(open, each, end string) func(string, []argument) string {
	return func(name string, args []argument) string {
		out := fmt.Sprintf(open, name)
		for _, a := range args {
			out += fmt.Sprintf(each, a.key, fmt.Sprint(a.v))
		}
		if strings.Contains(end, "%s") {
			end := fmt.Sprintf(end, name)
			return out + end
		}
		return out + end
	}
}

func inPython(open, end string) func(string, []argument) string {
	return func(name string, args []argument) string {
		var in []string
		for _, a := range args {
			b, _ := json.Marshal(a.v)
			in = append(in, a.key+"="+string(b))
		}
		return open + name + "(" + strings.Join(in, ", ") + ")" + end
	}
}

// spoil changes the text around a call. Words of the call itself stay.
func spoil(r *rand.Rand, text string) (string, string) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	switch r.IntN(9) {
	case 0:
		word := pick("tool_call", "function", "invoke", "parameter", "arg_key", "python_tag", "TOOL_CALLS", "tools_prefix", "action_start", "arguments")
		return "renamed " + word, strings.ReplaceAll(text, word, pick("zap", "tool_request", "call_function", "x:call"))
	case 1:
		name := pick("action", "tool_use", "call", "zap", "execute")
		return "wrapped in " + name, "<" + name + ">\n" + text + "\n</" + name + ">"
	case 2:
		if n := strings.LastIndex(text, "</"); n > 0 {
			return "without its last end", text[:n]
		}
	case 3:
		if n := strings.IndexByte(text, '>'); n > 0 && strings.HasPrefix(text, "<") && strings.Count(text, "<") > 1 {
			return "without its first tag", text[n+1:]
		}
	case 4:
		return "with text before", "I will look.\n" + text
	case 5:
		return "with text on the line before", "I will look: " + text
	case 6:
		return "with text behind", text + "\nThen I wait."
	case 7:
		return "behind a thought", "I think, therefore.</think>" + text
	}
	return "as it is", text
}

// No answer that contains something like a call of an offered tool is ignored: the call is read as
// it was meant, or marked malformed, or a doubt is reported. Nothing else is ever called, however
// the answer was cut into chunks.
func TestNoCallIsLostInSilence(t *testing.T) {
	seed := testenv.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(of ...any) any { return of[r.IntN(len(of))] }
	read, doubted := 0, 0
	for range 300 {
		for label, write := range writers {
			tool := agentTools[r.IntN(len(agentTools))]
			var in shape
			if err := json.Unmarshal(tool.Input, &in); err != nil {
				t.Fatal(err)
			}
			args, want := []argument{}, map[string]any{}
			for _, key := range []string{"path", "pattern", "command", "content", "summary", "from", "limit", "timeout"} {
				prop, ok := in.Properties[key]
				if !ok {
					continue
				}
				v := pick("a.txt", "go test ./...", "two\nlines", "é < b & {c}", "x, y: [1]")
				if prop.Type[0] == "integer" {
					v = pick(1, 20)
				}
				args, want[key] = append(args, argument{key, v}), v
			}
			text := write(tool.Name, args)
			var how []string
			for range 1 + r.IntN(2) {
				var did string
				did, text = spoil(r, text)
				how = append(how, did)
			}
			if len(args) == 0 && label == "python line" && strings.Contains(fmt.Sprint(how), "on the line before") {
				continue // prose names functions so
			}
			if strings.Count(text, tool.Name) == 0 || len(args) == 0 && (label == "cline" || strings.Contains(fmt.Sprint(how), "renamed") || strings.Contains(fmt.Sprint(how), "without")) {
				continue // a bare name in an unknown tag is no call
			}
			f := Read(text, Options{Offered: agentTools})
			n, m := r.IntN(len(text)+1), r.IntN(len(text)+1)
			n, m = min(n, m), max(n, m)
			o := Options{Offered: agentTools}
			if whole, cut := shown(o, text), shown(o, text[:n], text[n:m], text[m:]); whole != cut {
				t.Errorf("seed %d: %s, %s, split at %d and %d: %s\nwant %s", seed, label, how, n, m, cut, whole)
			}
			switch {
			case len(f.Calls) == 0 && f.UnreadCall == "":
				t.Errorf("seed %d: %s, %s: passed over in silence:\n%s", seed, label, how, text)
			case len(f.Calls) == 0:
				doubted++
				continue
			}
			for _, c := range f.Calls {
				if c.Malformed != "" {
					continue
				}
				read++
				var got map[string]any
				if err := json.Unmarshal(c.Args, &got); err != nil {
					t.Fatal(err)
				}
				if c.Name != tool.Name || !reflect.DeepEqual(plainly(got), plainly(want)) {
					t.Errorf("seed %d: %s, %s: %s%s, want %s %v from\n%s", seed, label, how, c.Name, c.Args, tool.Name, want, text)
				}
			}
			if t.Failed() {
				return
			}
		}
	}
	if read < doubted/2 {
		t.Errorf("%d calls were read and %d doubted", read, doubted)
	}
	t.Logf("%d read, %d doubted", read, doubted)
}

func plainly(args map[string]any) map[string]string {
	out := map[string]string{}
	for k, v := range args {
		out[k] = fmt.Sprint(v)
	}
	return out
}
