package textcall

import "strings"

// A Family is a kind of models that write calls in one way.
type Family string

const (
	Unknown   Family = ""
	Hermes    Family = "hermes"     // also Qwen2.5, Qwen3, Ernie
	QwenCoder Family = "qwen-coder" // Qwen3-Coder, Qwen3.5, Nemotron-3, Step 3.5
	Llama     Family = "llama"      // Llama 3
	Pythonic  Family = "pythonic"   // Llama 4, OLMo 3, LFM2
	Mistral   Family = "mistral"
	DeepSeek  Family = "deepseek"
	GLM       Family = "glm"
	Kimi      Family = "kimi"
	Harmony   Family = "harmony" // gpt-oss
	Granite   Family = "granite"
	Command   Family = "command" // Command-R, Command-A
	Gemma     Family = "gemma"
	MiniMax   Family = "minimax"
	Seed      Family = "seed"
	Wrapped   Family = "wrapped" // JSON in tags of their own: Hunyuan, Jamba, InternLM, xLAM, Phi-4
)

// inTemplate are words that only the chat templates of one family hold; the
// first that occurs decides.
var inTemplate = []struct {
	word   string
	family Family
}{
	{"<|tool_calls_section_begin|>", Kimi},
	{"<|open|>", Kimi}, // K3
	{"<minimax:tool_call>", MiniMax},
	{"<seed:tool_call>", Seed},
	{"<｜tool▁calls▁begin｜>", DeepSeek},
	{"｜DSML｜", DeepSeek},
	{"<|tool_call_start|>", Pythonic},
	{"<|python_start|>", Pythonic},
	{"<function_calls>", Pythonic},
	{"<|START_ACTION|>", Command},
	{"<start_function_call>", Gemma},
	{"<|tool_call>", Gemma},
	{"<start_of_turn>", Gemma},
	{"[TOOL_CALLS]", Mistral},
	{"<|channel|>", Harmony},
	{"<arg_key>", GLM},
	{"<function=", QwenCoder},
	{"<|start_of_role|>", Granite},
	{"<|python_tag|>", Llama},
	{"<|start_header_id|>", Llama},
	{"<tool_calls>", Wrapped},
	{"<|plugin|>", Wrapped},
	{"<tool_call>", Hermes},
}

// inName are parts of the names of models and architectures, the more
// particular ones first.
var inName = []struct {
	word   string
	family Family
}{
	{"kimi", Kimi}, {"minimax", MiniMax}, {"seed-oss", Seed}, {"seed_oss", Seed},
	{"gpt-oss", Harmony}, {"gptoss", Harmony}, {"deepseek", DeepSeek}, {"cogito", DeepSeek},
	{"qwen3-coder", QwenCoder}, {"qwen3coder", QwenCoder}, {"qwen3.5", QwenCoder}, {"qwen35", QwenCoder},
	{"nemotron-3", QwenCoder}, {"hermes", Hermes}, {"qwen", Hermes}, {"qwq", Hermes}, {"nemotron", Hermes}, {"ernie", Hermes},
	{"llama4", Pythonic}, {"llama-4", Pythonic}, {"olmo", Pythonic}, {"lfm2", Pythonic}, {"llama", Llama},
	{"glm", GLM}, {"chatglm", GLM}, {"granite", Granite}, {"command", Command}, {"cohere", Command}, {"gemma", Gemma},
	{"mistral", Mistral}, {"mixtral", Mistral}, {"devstral", Mistral}, {"magistral", Mistral}, {"codestral", Mistral},
	{"hunyuan", Wrapped}, {"jamba", Wrapped}, {"internlm", Wrapped}, {"xlam", Wrapped}, {"phi4", Wrapped}, {"phi-4", Wrapped},
}

// Detect returns a model's family, by its chat template, its name and its architecture; any of
// them may be "". The template takes precedence, since it describes how calls are written, and the
// architecture comes last: many families are built like a Llama.
func Detect(template, name, architecture string) Family {
	if strings.Contains(template, "ool") || strings.Contains(template, "<|") {
		for _, m := range inTemplate {
			if strings.Contains(template, m.word) {
				return m.family
			}
		}
	}
	for _, n := range []string{name, architecture} {
		n = strings.ToLower(n)
		for _, m := range inName {
			if strings.Contains(n, m.word) {
				return m.family
			}
		}
	}
	return Unknown
}

// callsWhileThinking reports whether the family calls tools inside of its
// thinking. For all others a call there is a thought.
func (f Family) callsWhileThinking() bool { return f == Kimi }

// OpensThought gives the end tag of the thought that a chat template opens in
// the prompt, so that an answer begins inside of it: [Options.Opened]. It is ""
// if the template does not, or leaves that to a setting.
func OpensThought(template string) string {
	if strings.Contains(template, ".Thinking") || strings.Contains(template, ".Think ") {
		return "" // the server takes the thought out of the answer itself
	}
	for _, m := range markers {
		if m.sort != opensThought {
			continue
		}
		n := strings.LastIndex(template, m.open)
		if n < 0 {
			continue
		}
		if rest := strings.TrimLeft(template[n+len(m.open):], " \t\r\n"); rest == "" || strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(rest, "{{"), "- "), ".Response") {
			return m.close[0]
		}
	}
	return ""
}
