package edit

import "testing"

func TestFor(t *testing.T) {
	own := map[string]Format{"lab/*": BlockFormat, "lab/q*": WholeFormat, "openai/gpt-5-mini": Edit, "*/Mixed*Case": PatchFormat}
	for model, want := range map[string]Format{
		"ollama/qwen3:8b": Edit, "ollama/qwen2.5-coder:7b-instruct": WholeFormat, "router/qwen/qwen-2.5-coder-32b": WholeFormat,
		"openai/gpt-5.2": PatchFormat, "openai/gpt-5-mini": Edit, "openai/gpt-4o": Edit, "ollama/gpt-oss:20b": PatchFormat,
		"ollama/qwen3:14b": Edit, "ollama/qwen3:4b": WholeFormat, "ollama/qwen3-coder:30b": Edit, "lab/x": BlockFormat, "lab/qq": WholeFormat,
		"lab/mixed-CASE": PatchFormat, "x/mixed-and-case": PatchFormat, "": Edit,
	} {
		if got := formatFor(model, own); got != want {
			t.Errorf("%s: %s, want %s", model, got, want)
		}
	}
}
