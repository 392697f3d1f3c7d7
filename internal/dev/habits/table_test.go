package habits

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A habit is a weak model's usual deviation from a proper answer.
type habit struct {
	name   string
	source string // the report that shows it
	times  int    // how often it shows it at a step before it does as it is asked; 0 is twice
	shell  bool   // whether it means to use shell
	worst  bool   // whether it is tried at each job

	// does is the answer; not ok is the proper one.
	does func(t situation) (a answer, ok bool)
}

const always = 1 << 20

func (h habit) kept() int {
	if h.times == 0 {
		return 2
	}
	return h.times
}

// renamed calls tools by other names.
func renamed(names map[string]string) func(situation) (answer, bool) {
	return func(t situation) (answer, bool) {
		to, ok := names[t.call.name]
		return answer{calls: []raw{{to, t.call.json()}}}, ok
	}
}

// rekeyed gives arguments other names.
func rekeyed(names map[string]string) func(situation) (answer, bool) {
	return func(t situation) (answer, bool) {
		args := map[string]any{}
		for k, v := range t.call.args {
			if to, ok := names[k]; ok {
				k = to
			}
			args[k] = v
		}
		return answer{calls: []raw{{t.call.name, text(args)}}}, true
	}
}

// with changes the arguments of one step.
func with(step string, change func(args map[string]any)) func(situation) (answer, bool) {
	return func(t situation) (answer, bool) {
		args := maps.Clone(t.call.args)
		if t.step == step {
			change(args)
		}
		return answer{calls: []raw{{t.call.name, text(args)}}}, t.step == step
	}
}

// argued writes the arguments of each call in another way.
func argued(as func(args string) string) func(situation) (answer, bool) {
	return func(t situation) (answer, bool) {
		return answer{calls: []raw{{t.call.name, as(t.call.json())}}}, true
	}
}

// printed writes each call into the text.
func printed(as func(name, args string) string) func(situation) (answer, bool) {
	return func(t situation) (answer, bool) {
		return answer{said: true, text: as(t.call.name, t.call.json())}, true
	}
}

// at answers so at one step.
func at(step string, a answer) func(situation) (answer, bool) {
	return func(t situation) (answer, bool) { return a, t.step == step }
}

func says(s string) answer { return answer{text: s} }

// object renders a call as an object.
func object(name, args string) string {
	return fmt.Sprintf(`{"name": %s, "arguments": %s}`, text(name), args)
}

func fence(kind, body string) string {
	return "```" + kind + "\n" + strings.TrimSuffix(body, "\n") + "\n```"
}

// parameters renders arguments as elements, as some models are trained to write them.
func parameters(args string) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(args), &m); err != nil {
		panic(err)
	}
	var b strings.Builder
	for _, k := range []string{"path", "from", "old", "new", "content", "summary"} {
		if v, ok := m[k]; ok {
			fmt.Fprintf(&b, "<parameter=%s>\n%v\n</parameter>\n", k, v)
		}
	}
	return b.String()
}

// elements renders arguments as elements that bear their names.
func elements(args string) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(args), &m); err != nil {
		panic(err)
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "<%s>%v</%s>\n", k, m[k], k)
	}
	return b.String()
}

var table = []habit{
	// Names.
	{name: "names in camel case", source: "lmstudio-ai/lmstudio-bug-tracker#788", does: renamed(map[string]string{"read_file": "readFile", "edit_file": "editFile", "finish": "Finish"})},
	{name: "names of another program", source: "Gitlawb/openclaude#287", does: renamed(map[string]string{"read_file": "Read", "edit_file": "Edit"})},
	{name: "names behind functions.", source: "ollama/ollama#12064", does: renamed(map[string]string{"read_file": "functions.read_file", "edit_file": "functions.edit_file", "finish": "functions.finish"})},
	{name: "a name with a token of its template", source: "ollama/ollama#17638", does: renamed(map[string]string{"read_file": "read_file<|channel|>commentary", "edit_file": "edit_file<|channel|>json", "finish": "finish<|channel|>commentary"})},
	{name: "a tool that is not there", worst: true, source: "dnakov/anon-kode#23", does: renamed(map[string]string{"read_file": "ReadNotebook", "edit_file": "Replace", "finish": "attempt_completion"})},
	{name: "another word for finish", source: "accomplish-ai/coworker#789", does: renamed(map[string]string{"finish": "complete_task"})},

	// Arguments.
	{name: "file_path for path", source: "Gitlawb/openclaude#287", does: rekeyed(map[string]string{"path": "file_path", "old": "old_string", "new": "new_string"})},
	{name: "filename for path", source: "QwenLM/qwen-code#797", does: rekeyed(map[string]string{"path": "filename", "old": "oldstring", "new": "newstring"})},
	{name: "arguments in a string", source: "quarkiverse/quarkus-langchain4j#2642", does: argued(func(args string) string { return text(args) })},
	{name: "a number in a string", source: "earendil-works/pi#783", does: with("read", func(a map[string]any) { a["lines"] = "200" })},
	{name: "nulls for what is left out", source: "AtomicBot-ai/atomic-agent#182", does: func(t situation) (answer, bool) {
		return with(t.step, func(a map[string]any) {
			if t.step != "finish" {
				a["from"], a["all"], a["edits"] = nil, nil, nil
			}
		})(t)
	}},
	{name: "single quotes", source: "cubist38/mlx-openai-server#124", does: argued(func(args string) string { return strings.ReplaceAll(args, `"`, `'`) })},
	{name: "a comma too many", source: "Gitlawb/openclaude#287", does: argued(func(args string) string { return strings.TrimSuffix(args, "}") + ",}" })},
	{name: "a list around the arguments", source: "HKUDS/nanobot#2858", does: argued(func(args string) string { return "[" + args + "]" })},
	{name: "arguments below another name", source: "cecli-dev/cecli#536", does: argued(func(args string) string { return `{"input": ` + args + `}` })},
	{name: "arguments below properties", source: "cloudwego/eino#385", does: argued(func(args string) string { return `{"properties": ` + args + `}` })},
	{name: "line ends spelled out between arguments", source: "OpenHands/software-agent-sdk#2488", does: argued(func(args string) string {
		return `{\n  ` + strings.TrimPrefix(strings.TrimSuffix(args, "}"), "{") + `\n}`
	})},
	{name: "line ends as they are in a list in a string", source: "itayinbarr/little-coder#127", does: func(t situation) (answer, bool) {
		list := `[{\"old\": \"b=$2` + "\n" + wrong + `\", \"new\": \"b=$2` + "\n" + right + `\"}]`
		return answer{calls: []raw{{"edit_file", `{"path": "calc.sh", "edits": "` + list + `"}`}}}, t.step == "edit"
	}},
	{name: "line ends escaped twice", source: "openclaw/openclaw#110823", does: with("edit", func(a map[string]any) { a["old"], a["new"] = `b=$2\n`+wrong, `b=$2\n`+right })},
	{name: "a path with a backslash, not escaped", source: "anthropics/claude-code#87251", does: func(t situation) (answer, bool) {
		return answer{calls: []raw{{t.call.name, strings.ReplaceAll(t.call.json(), "calc.sh", `.\calc.sh`)}}}, t.step != "finish"
	}},
	{name: "no name", source: "charmbracelet/crush#3372", does: func(t situation) (answer, bool) { return answer{calls: []raw{{"", t.call.json()}}}, true }},
	{name: "no arguments", worst: true, source: "invergent-ai/surogate#142", does: argued(func(string) string { return "{}" })},
	{name: "an absolute path", source: "NousResearch/hermes-agent#106728", does: func(t situation) (answer, bool) {
		return with(t.step, func(a map[string]any) {
			if a["path"] != nil {
				a["path"] = t.dir + "/calc.sh"
			}
		})(t)
	}},
	{name: "the path of another machine", source: "Gitlawb/openclaude#287", does: func(t situation) (answer, bool) {
		return with(t.step, func(a map[string]any) {
			if a["path"] != nil {
				a["path"] = "/home/user/project/calc.sh"
			}
		})(t)
	}},
	{name: "a path in Markdown", source: "NousResearch/hermes-agent#106728", does: with("read", func(a map[string]any) { a["path"] = "`calc.sh`" })},

	// Calls that are printed.
	{name: "the bare object", source: "jundot/omlx#2565", does: printed(object)},
	{name: "a fenced object", source: "ardanlabs/kronk#950", does: printed(func(n, a string) string { return fence("json", object(n, a)) })},
	{name: "prose around the object", worst: true, source: "mudler/LocalAI#10052", does: printed(func(n, a string) string {
		return "I will look at this now. Here is the call:\n\n" + fence("json", object(n, a)) + "\n\nThen I will see."
	})},
	{name: "tool_call elements", source: "nugget/thane-ai-agent#21", does: printed(func(n, a string) string { return "<tool_call>\n" + object(n, a) + "\n</tool_call>" })},
	{name: "tools elements", source: "NousResearch/hermes-agent#83023", does: printed(func(n, a string) string { return "<tools>\n" + object(n, a) + "\n</tools>" })},
	{name: "function and parameter elements", source: "microsoft/foundry-local#1104", does: printed(func(n, a string) string {
		return "<tool_call>\n<function=" + n + ">\n" + parameters(a) + "</function>\n</tool_call>"
	})},
	{name: "elements without an end", worst: true, source: "laude-institute/headlong#131", does: printed(func(n, a string) string { return "<function=" + n + ">\n" + parameters(a) })},
	{name: "elements with the name inside", worst: true, source: "dnakov/anon-kode#23", does: printed(func(n, a string) string {
		return "<function-name>" + n + "</function-name>\n<arguments>" + a + "</arguments>"
	})},
	{name: "the list of the interface", source: "huggingface/smolagents#375", does: printed(func(n, a string) string {
		return `[{"id": "call_5", "type": "function", "function": ` + object(n, a) + `}]`
	})},
	{name: "elements named as the tool", source: "RooCodeInc/Roo-Code#10464", does: printed(func(n, a string) string {
		return "<" + n + ">\n" + elements(a) + "</" + n + ">"
	})},
	{name: "the header of its template", source: "lmstudio-ai/lmstudio-bug-tracker#942", does: printed(func(n, a string) string {
		return "<|start|>assistant<|channel|>commentary to=functions." + n + "<|constrain|>json<|message|>" + a
	})},
	{name: "what is left of its template's header", source: "NousResearch/hermes-agent#84231", does: printed(func(n, a string) string { return "to=functions." + n + " " + a })},
	{name: "the call in its thoughts", source: "QwenLM/qwen-code#6548", does: func(t situation) (answer, bool) {
		return answer{thinking: "I need this.\n<tool_call>" + object(t.call.name, t.call.json()) + "</tool_call>"}, true
	}},
	{name: "Action and Action Input", source: "OpenHands/OpenHands#6406", does: printed(func(n, a string) string {
		return "Thought: I need this.\nAction: " + n + "\nAction Input: " + a
	})},
	{name: "action and action_input", source: "Gitlawb/openclaude#557", does: printed(func(n, a string) string { return `{"action": ` + text(n) + `, "action_input": ` + a + `}` })},
	{name: "a call in Python", worst: true, source: "huggingface/smolagents#375", does: func(t situation) (answer, bool) {
		var args []string
		for _, k := range []string{"path", "from", "old", "new", "content", "summary"} {
			if v, ok := t.call.args[k]; ok {
				args = append(args, k+"="+text(v))
			}
		}
		return answer{said: true, text: fence("python", t.call.name+"("+strings.Join(args, ", ")+")")}, true
	}},
	{name: "a printed call of a tool that is not there", worst: true, source: "Bike4Mind/bike4mind#686", does: printed(func(n, a string) string {
		return fence("json", object("build_"+n, a))
	})},
	{name: "a call that is cut off", worst: true, source: "NousResearch/hermes-agent#83023", does: func(t situation) (answer, bool) {
		s := object(t.call.name, t.call.json())
		return answer{said: true, text: "<tool_call>" + s[:len(s)-4], cut: true}, true
	}},
	{name: "a result that it makes up", source: "adolfousier/opencrabs#796", does: func(t situation) (answer, bool) {
		return answer{said: true, text: "<tool_call>" + object(t.call.name, t.call.json()) + "</tool_call>\n<tool_response>\nok\n</tool_response>\nIt worked, all is done."}, true
	}},
	{name: "a call that it only quotes", source: "stacklok/mecatl#49", does: func(t situation) (answer, bool) {
		a := t.proper()
		a.text = "I could call `" + object("delete_file", `{"path": "test.sh"}`) + "`, but I will not: the test is right."
		return a, t.step == "edit"
	}},

	// Edits.
	{name: "a whole file in a fence", source: "Gitlawb/openclaude#287", does: at("edit", says("Here is calc.sh, repaired:\n\n"+fence("sh", repaired)))},
	{name: "a diff in a fence", source: "earendil-works/pi#6158", does: at("edit", says("This repairs it:\n\n"+fence("diff", "--- a/calc.sh\n+++ b/calc.sh\n@@ -4 +4 @@\n-"+wrong+"\n+"+right)))},
	{name: "a patch of another program", source: "sero-labs/sero#516", does: at("edit", says("*** Begin Patch\n*** Update File: calc.sh\n@@\n-"+wrong+"\n+"+right+"\n*** End Patch"))},
	{name: "blocks to search and replace", source: "Nano-Collective/nanocoder#604", does: at("edit", says("calc.sh\n"+fence("", "<<<<<<< SEARCH\n"+wrong+"\n=======\n"+right+"\n>>>>>>> REPLACE")))},
	{name: "the numbers of lines in old", source: "esengine/DeepSeek-Reasonix#2786", does: with("edit", func(a map[string]any) { a["old"] = "     4\t" + wrong })},
	{name: "blanks that are not there", source: "anomalyco/opencode#42908", does: with("edit", func(a map[string]any) { a["old"], a["new"] = "    "+wrong, "    "+right })},
	{name: "old from memory", source: "moonbitlang/openseek#420", does: with("edit", func(a map[string]any) { a["old"] = `echo "$((a - b))"` })},
	{name: "an edit that changes nothing", source: "moonbitlang/openseek#420", does: with("edit", func(a map[string]any) { a["new"] = wrong })},
	{name: "an old that is not unique", source: "anomalyco/opencode#15515", does: with("edit", func(a map[string]any) { a["old"], a["new"] = "a", "b" })},
	{name: "sed in a shell", source: "NousResearch/hermes-agent#106728", shell: true, does: func(t situation) (answer, bool) {
		return answer{calls: []raw{{"shell", text(map[string]any{"command": "sed -i 's/a - b/a + b/' calc.sh"})}}}, t.step == "edit"
	}},
	{name: "write_file for an edit", source: "QwenLM/qwen-code#797", does: func(t situation) (answer, bool) {
		return answer{calls: []raw{{"write_file", text(map[string]any{"path": "calc.sh", "content": repaired})}}}, t.step == "edit"
	}},

	// Loops, silence and the end.
	{name: "the same call again and again", source: "anomalyco/opencode#28596", times: 4, does: func(t situation) (answer, bool) {
		return answer{calls: []raw{{"read_file", t.job.calls["read"].json()}}}, t.step == "edit"
	}},
	{name: "the edit that it has made", source: "agentscope-ai/QwenPaw#6116", times: 4, does: func(t situation) (answer, bool) {
		return answer{calls: []raw{{"edit_file", t.job.calls["edit"].json()}}}, t.step == "finish"
	}},
	{name: "empty answers", worst: true, source: "ollama/ollama#10899", does: func(situation) (answer, bool) { return answer{}, true }},
	{name: "an empty answer at the end", source: "anomalyco/opencode#41469", times: always, does: at("finish", answer{})},
	{name: "thoughts alone", worst: true, source: "jundot/omlx#903", does: func(situation) (answer, bool) { return answer{thinking: "I should look at this first."}, true }},
	{name: "it says what it will do", source: "Fiestaboard/FiestaBoard#2042", does: func(situation) (answer, bool) { return says("I will do the next step now."), true }},
	{name: "it asks whether to go on", source: "langchain-ai/open-swe#153", does: at("edit", says("I found the fault. Shall I repair it?"))},
	{name: "it never says that it is done", source: "OpenHands/OpenHands#6406", times: always, does: at("finish", says("calc.sh adds now, and the test passes."))},
	{name: "it is done before it has begun", source: "anthropics/claude-code#75720", does: func(t situation) (answer, bool) {
		return answer{calls: []raw{{"finish", t.job.calls["finish"].json()}}}, t.step != "finish"
	}},
	{name: "it says that it cannot", source: "google-gemini/gemini-cli#2856", does: at("read", says("As a language model I cannot access files. Please show me calc.sh."))},
	{name: "much talk before each call", source: "vercel/eve#2462", times: always, does: func(t situation) (answer, bool) {
		a := t.proper()
		a.text = strings.Repeat("Let me think about what the user wants and how best to go about it. ", 20)
		return a, true
	}},
	{name: "finish in the answer with the edit, twice", source: "open-webui/computer#180", times: always, does: func(t situation) (answer, bool) {
		a := t.proper()
		if t.step == "edit" {
			f := raw{"finish", t.job.calls["finish"].json()}
			a.calls = append(a.calls, f, f)
		}
		return a, t.step == "edit"
	}},
	{name: "finish without a summary", source: "ozlabsai/field-os#192", times: always, does: at("finish", answer{calls: []raw{{"finish", "{}"}}})},
	{name: "finish as a word", source: "OpenHands/OpenHands#6406", times: always, does: at("finish", says("finish"))},
}
