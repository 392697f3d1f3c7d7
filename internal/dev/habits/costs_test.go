package habits

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/turn"
)

func edits(path string, pairs ...string) raw {
	var list []map[string]any
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, map[string]any{"old": pairs[i], "new": pairs[i+1]})
	}
	return raw{"edit_file", text(map[string]any{"path": path, "edits": list})}
}

func reads(args map[string]any) raw { return raw{"read_file", text(args)} }

// costs are five tasks as a capable model does them, with bounds for the requests, and the bytes
// of all requests together. The bounds are the costs of November 2026 plus 3 %.
var costs = []struct {
	job   job
	turns [][]raw
	bytes int
}{
	{
		job: job{
			name: "a fault in 100 lines", prompt: "sum.sh counts the first number twice. Repair it.",
			files: map[string]string{"sum.sh": long(100, "sum=$1\nfor n in \"$@\"; do sum=$((sum + n)); done\necho $sum\n"), "test.sh": "test \"$(sh sum.sh 1 2 3)\" = 6 || { sh sum.sh 1 2 3; exit 1; }\n"},
			right: map[string]string{"sum.sh": long(100, "sum=0\nfor n in \"$@\"; do sum=$((sum + n)); done\necho $sum\n")},
		},
		turns: [][]raw{{reads(map[string]any{"path": "sum.sh"})}, {edits("sum.sh", "sum=$1", "sum=0"), done}},
		bytes: 18_700,
	},
	{
		job: job{
			name: "a fault in 1,000 lines", prompt: "sum.sh counts the first number twice. Repair it.",
			files: map[string]string{"sum.sh": long(1000, "sum=$1\nfor n in \"$@\"; do sum=$((sum + n)); done\necho $sum\n"), "test.sh": "test \"$(sh sum.sh 1 2 3)\" = 6 || { sh sum.sh 1 2 3; exit 1; }\n"},
			right: map[string]string{"sum.sh": long(1000, "sum=0\nfor n in \"$@\"; do sum=$((sum + n)); done\necho $sum\n")},
		},
		turns: [][]raw{{{"search", `{"pattern":"sum="}`}}, {reads(map[string]any{"path": "sum.sh", "from": 990, "lines": 20})}, {edits("sum.sh", "sum=$1", "sum=0"), done}},
		bytes: 22_100,
	},
	{
		job: job{
			name: "a flag with a test", prompt: "Give greet.sh a flag -l that prints in lower case, with a test.",
			files: map[string]string{"greet.sh": "echo \"Hello ${1:-World}\"\n", "test.sh": "test \"$(sh greet.sh Ann)\" = 'Hello Ann' || exit 1\n"},
			right: map[string]string{"greet.sh": "lower=\nif test \"$1\" = -l; then lower=yes; shift; fi\ntext=\"Hello ${1:-World}\"\nif test $lower; then echo \"$text\" | tr A-Z a-z; else echo \"$text\"; fi\n",
				"test.sh": "test \"$(sh greet.sh Ann)\" = 'Hello Ann' || exit 1\ntest \"$(sh greet.sh -l Ann)\" = 'hello ann' || exit 1\n"},
		},
		turns: [][]raw{
			{reads(map[string]any{"path": "greet.sh"}), reads(map[string]any{"path": "test.sh"})},
			{
				edits("greet.sh", "echo \"Hello ${1:-World}\"", "lower=\nif test \"$1\" = -l; then lower=yes; shift; fi\ntext=\"Hello ${1:-World}\"\nif test $lower; then echo \"$text\" | tr A-Z a-z; else echo \"$text\"; fi"),
				edits("test.sh", "= 'Hello Ann' || exit 1\n", "= 'Hello Ann' || exit 1\ntest \"$(sh greet.sh -l Ann)\" = 'hello ann' || exit 1\n"), done,
			},
		},
		bytes: 14_400,
	},
	{
		job: job{
			name: "a small feature", prompt: "Add count.sh, which counts the words of its arguments, and have all.sh call it.",
			files: map[string]string{"all.sh": "# calls the others\n", "test.sh": "test \"$(sh all.sh a b c)\" = 3 || exit 1\n"},
			right: map[string]string{"count.sh": "echo $#\n", "all.sh": "# calls the others\nsh count.sh \"$@\"\n"},
		},
		turns: [][]raw{
			{reads(map[string]any{"path": "all.sh"}), reads(map[string]any{"path": "test.sh"})},
			{{"write_file", `{"path":"count.sh","content":"echo $#\n"}`}, edits("all.sh", "# calls the others\n", "# calls the others\nsh count.sh \"$@\"\n"), done},
		},
		bytes: 14_400,
	},
	{
		job: job{
			name: "a repair that is wrong at first", prompt: "calc.sh prints the wrong sum: sh calc.sh 2 3 has to print 5. Repair it.",
			files: map[string]string{"calc.sh": calc, "test.sh": check}, right: map[string]string{"calc.sh": repaired},
		},
		turns: [][]raw{{reads(map[string]any{"path": "calc.sh"})}, {edits("calc.sh", wrong, "echo $((a * b))"), done}, {edits("calc.sh", "a * b", "a + b"), done}},
		bytes: 22_300,
	},
}

var done = raw{"finish", `{"summary":"It is done, and the tests pass."}`}

// long returns a script of so many lines that does what body does.
func long(lines int, body string) string {
	return strings.Repeat("# This line says nothing that matters here.\n", lines-strings.Count(body, "\n")) + body
}

// TestCosts bounds the cost of a small task with the builder: exactly the requests that the model
// needs, the bytes of them all, at most 2,000 tokens in the first, and each request as the
// beginning of the next.
func TestCosts(t *testing.T) {
	for _, c := range costs {
		t.Run(c.job.name, func(t *testing.T) {
			s, got := runScript(t, &c.job, c.turns)
			for _, f := range got.faults() {
				t.Error(f)
			}
			if got.requests != len(c.turns) {
				t.Errorf("%d requests, want %d", got.requests, len(c.turns))
			}
			all := 0
			var before []json.RawMessage
			for i, body := range s.bodies {
				all += len(body)
				var req struct{ Messages, Tools []json.RawMessage }
				if err := json.Unmarshal([]byte(body), &req); err != nil {
					t.Fatal(err)
				}
				now := append(req.Tools, req.Messages...)
				for j, m := range before {
					if j >= len(now) || string(now[j]) != string(m) {
						t.Fatalf("request %d does not begin with the one before: %s", i+1, m)
					}
				}
				before = now
			}
			if first := len(s.bodies[0]) / 4; first > 2000 {
				t.Errorf("the first request has %d tokens", first)
			}
			if all > c.bytes {
				t.Errorf("%d bytes in all, at most %d", all, c.bytes)
			}
			t.Logf("%d requests, %d bytes, %d in the first", got.requests, all, len(s.bodies[0]))
		})
	}
}

// runScript has a model answer with these calls.
func runScript(t testing.TB, j *job, turns [][]raw) (*server, result) {
	return runModel(t, habit{}, j, turn.Native, "openai", func(m *model) { m.turns = turns })
}
