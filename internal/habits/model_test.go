package habits

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// The task: calc.sh subtracts where it has to add. seen is a comment of it, which a
// request holds only if the file has been read.
const (
	task     = "calc.sh prints the wrong sum: sh calc.sh 2 3 has to print 5. Repair it."
	seen     = "two numbers, as arguments (4711)"
	wrong    = "echo $((a - b))"
	right    = "echo $((a + b))"
	calc     = "# Adds " + seen + "\na=$1\nb=$2\n" + wrong + "\n"
	repaired = "# Adds " + seen + "\na=$1\nb=$2\n" + right + "\n"
	check    = `test "$(sh calc.sh 2 3)" = 5 || { echo "calc.sh 2 3 prints $(sh calc.sh 2 3), want 5"; exit 1; }` + "\n"
)

// A call is one that the model means to make.
type call struct {
	name string
	args map[string]any
}

func (c call) json() string { return text(c.args) }

// text is a value as JSON, with < and > as they are.
func text(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// A raw call has its arguments as text, which may be no JSON.
type raw struct{ name, args string }

// An answer is what the model writes. said has calls that are written in its text.
type answer struct {
	text, thinking string
	calls          []raw
	said           bool // text is all of it, in whatever form the mode wants
	cut            bool // it reached its token limit
}

// A turn is what the model knows when it answers.
type turn struct {
	step string // read, edit or finish
	try  int    // how often it has tried this step, from 0
	mode string // native, constrained or text
	dir  string // the workspace
	call call   // that does the step
}

// proper is the answer without any habit.
func (t turn) proper() answer { return answer{calls: []raw{{t.call.name, t.call.json()}}} }

// A model does the task, one step after the other, and sees from the conversation and the
// workspace which is next.
type model struct {
	habit habit
	dir   string

	tries    map[string]int
	step     string // of the last answer
	requests int
	last     answer
}

func newModel(h habit, dir string) *model { return &model{habit: h, dir: dir, tries: map[string]int{}} }

// calls are those that do the task, by step.
var calls = map[string]call{
	"read":   {"read_file", map[string]any{"path": "calc.sh"}},
	"edit":   {"edit_file", map[string]any{"path": "calc.sh", "old": wrong, "new": right}},
	"finish": {"finish", map[string]any{"summary": "calc.sh adds now."}},
}

func (m *model) next(body, mode string) answer {
	m.requests++
	t := turn{mode: mode, dir: m.dir, step: "finish"}
	if !m.done() {
		t.step = "edit"
		if !strings.Contains(body, seen) {
			t.step = "read"
		}
	}
	t.call, t.try = calls[t.step], m.tries[t.step]
	m.tries[t.step]++
	m.step, m.last = t.step, t.proper()
	if t.try < m.habit.kept() {
		if a, ok := m.habit.does(t); ok {
			m.last = a
		}
	}
	return m.last
}

// done reports whether the workspace is as the task wants it.
func (m *model) done() bool {
	b, err := os.ReadFile(filepath.Join(m.dir, "calc.sh"))
	return err == nil && string(b) == repaired
}
