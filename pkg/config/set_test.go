package config

import (
	"strings"
	"testing"
)

// A value is set beside comments and other values, which stay as they are; what would
// be no configuration is refused.
func TestSet(t *testing.T) {
	for _, tc := range []struct{ before, key, value, want string }{
		{"", "mode", "auto", "mode: auto\n"},
		{"", "limits.time", "2h", "limits:\n  time: 2h\n"},
		{"# mine\nmode: edits # careful\nmodel: a/b\n", "mode", "auto", "# mine\nmode: auto # careful\nmodel: a/b\n"},
		{"limits:\n    # an hour\n    time: 1h\nmode: auto\n", "limits.turns", "7", "limits:\n    turns: 7\n    # an hour\n    time: 1h\nmode: auto\n"},
		{"limits:\n  time: 1h\n", "limits.time", "90m", "limits:\n  time: 90m\n"},
		{"limits:\nmode: auto\n", "limits.turns", "7", "limits:\n  turns: 7\nmode: auto\n"},
		{"windows:\n  ollama/qwen3: 8192\n", "windows.ollama/qwen2.5:7b", "32768", "windows:\n  \"ollama/qwen2.5:7b\": 32768\n  ollama/qwen3: 8192\n"},
		{"model: \"a # b\" # c\n", "model", "x/y: z", "model: \"x/y: z\" # c\n"},
		{"model:\n", "model", "a/b", "model: a/b\n"},
		{"", "fallbacks.cheap", "[a/b, c/d]", "fallbacks:\n  cheap: [a/b, c/d]\n"},
		{"", "agent", "7", "agent: 7\n"},
		{"mode: auto", "model", "a/b", "mode: auto\nmodel: a/b\n"},
	} {
		for _, spelled := range []func(string) string{
			func(s string) string { return s },
			func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
			func(s string) string { return "\ufeff" + s },
		} {
			before, want := spelled(tc.before), spelled(tc.want)
			if !strings.Contains(tc.before, "\n") {
				before, want = tc.before, tc.want // it shows no line end
			}
			got, err := Set("c.yaml", []byte(before), tc.key, tc.value)
			if err != nil || string(got) != want {
				t.Errorf("%q, %s = %s: %q, %v; want %q", before, tc.key, tc.value, got, err, want)
			}
		}
	}
	for _, tc := range []struct{ before, key, value, want string }{
		{"", "mod", "auto", `there is no setting "mod"`},
		{"", "limits", "7", "has keys of its own"},
		{"", "mode.x", "7", "has nothing below it"},
		{"", "mode", "sideways", `mode is "sideways"`},
		{"", "limits.turns", "many", "a whole number"},
		{"limits: {time: 1h}\n", "limits.turns", "7", "written in one line"},
		{"limits: {time: 1h}\n", "limits.time", "[7]", "c.yaml"},
		{"mode: [\n", "mode", "auto", "c.yaml"},
		{"model: |\n  a/b\n", "model", "c/d", "several lines"},
	} {
		if got, err := Set("c.yaml", []byte(tc.before), tc.key, tc.value); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q, %s = %s: %q, %v; want %s", tc.before, tc.key, tc.value, got, err, tc.want)
		}
	}
}
