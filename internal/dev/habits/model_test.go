package habits

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// A job is a small task: its initial files, and the correct result.
type job struct {
	name, prompt string
	seen         string // stands in a request only if the file has been read; "" if there is none to read
	files        map[string]string
	right        map[string]string // the files that have to change
	calls        map[string]call   // that do the task, by step
}

const (
	seen     = "two numbers, as arguments (4711)"
	wrong    = "echo $((a - b))"
	right    = "echo $((a + b))"
	calc     = "# Adds " + seen + "\na=$1\nb=$2\n" + wrong + "\n"
	repaired = "# Adds " + seen + "\na=$1\nb=$2\n" + right + "\n"
	check    = `test "$(sh calc.sh 2 3)" = 5 || { echo "calc.sh 2 3 prints $(sh calc.sh 2 3), want 5"; exit 1; }` + "\n"
	usage    = "echo usage: count.sh FILE..."
)

// count returns a script of 300 lines with a fault at its end.
func count(last string) string {
	return "# Counts lines. " + seen + "\n" + strings.Repeat("# It does no more than this.\n", 290) + "test $# -gt 0 || { " + usage + "; " + last + "; }\ncat \"$@\" | wc -l\n"
}

// jobs are one line to repair, the end of a long file, and a file to make.
var jobs = []job{
	{
		name: "repair", prompt: "calc.sh prints the wrong sum: sh calc.sh 2 3 has to print 5. Repair it.", seen: seen,
		files: map[string]string{"calc.sh": calc, "test.sh": check}, right: map[string]string{"calc.sh": repaired},
		calls: map[string]call{
			"read":   {"read_file", map[string]any{"path": "calc.sh"}},
			"edit":   {"edit_file", map[string]any{"path": "calc.sh", "old": wrong, "new": right}},
			"finish": {"finish", map[string]any{"summary": "calc.sh adds now."}},
		},
	},
	{
		name: "the end of a long file", prompt: "count.sh without arguments prints how it is used, but has to end with status 2 then. Repair it.", seen: usage,
		files: map[string]string{"count.sh": count("exit 0"), "test.sh": "sh count.sh >/dev/null; test $? = 2 || { echo it ends with another status; exit 1; }\n"},
		right: map[string]string{"count.sh": count("exit 2")},
		calls: map[string]call{
			"read":   {"read_file", map[string]any{"path": "count.sh", "from": 280}},
			"edit":   {"edit_file", map[string]any{"path": "count.sh", "old": usage + "; exit 0", "new": usage + "; exit 2"}},
			"finish": {"finish", map[string]any{"summary": "count.sh ends with 2."}},
		},
	},
	{
		name: "a new file", prompt: "Make hello.sh, which prints hello.",
		files: map[string]string{"test.sh": "test \"$(sh hello.sh)\" = hello || { echo hello.sh does not print hello; exit 1; }\n"},
		right: map[string]string{"hello.sh": "echo hello\n"},
		calls: map[string]call{
			"edit":   {"write_file", map[string]any{"path": "hello.sh", "content": "echo hello\n"}},
			"finish": {"finish", map[string]any{"summary": "hello.sh prints hello."}},
		},
	},
}

// A call is one that the model means to make.
type call struct {
	name string
	args map[string]any
}

func (c call) json() string { return text(c.args) }

// text returns a value as JSON, without escaping < and >.
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

// An answer is the model's output. said has calls that are written in its text.
type answer struct {
	text, thinking string
	calls          []raw
	said           bool // text is all of it, in whatever form the mode wants
	cut            bool // it reached its token limit
}

// A situation is the model's knowledge when it answers.
type situation struct {
	step string // read, edit or finish
	try  int    // how often it has tried this step, from 0
	mode string // native, constrained or text
	dir  string // the workspace
	job  *job
	call call // that does the step
}

// proper returns the answer without any habit.
func (t situation) proper() answer { return answer{calls: []raw{{t.call.name, t.call.json()}}} }

// A model does the task, one step after the other, and sees from the conversation and the
// workspace which is next.
type model struct {
	habit habit
	job   *job
	dir   string

	turns [][]raw // the calls of its answers, in place of steps and habits
	agent string  // that it works for; "" is builder
	quiet bool    // it says in text that it is done
	goOn  bool    // an answer of no calls has those that the last result names

	tries    map[string]int
	step     string // of the last answer
	requests int
	last     answer
}

func newModel(h habit, j *job, dir string) *model {
	return &model{habit: h, job: j, dir: dir, tries: map[string]int{}}
}

func (m *model) next(body, mode string) answer {
	m.requests++
	if m.turns != nil {
		calls := m.turns[min(m.requests, len(m.turns))-1]
		if calls == nil && m.goOn {
			calls = named(body)
		}
		return answer{calls: calls}
	}
	t := situation{mode: mode, dir: m.dir, job: m.job, step: "finish"}
	if !m.done() {
		t.step = "edit"
		if !strings.Contains(body, m.job.seen) {
			t.step = "read"
		}
	}
	t.call, t.try = m.job.calls[t.step], m.tries[t.step]
	m.tries[t.step]++
	if m.step, m.last = t.step, t.proper(); m.quiet && t.step == "finish" {
		m.last = says("calc.sh adds now.")
	}
	if t.try < m.habit.kept() {
		if a, ok := m.habit.does(t); ok && !(m.quiet && t.step == "finish" && (a.said || a.calls != nil)) {
			m.last = a
		}
	}
	return m.last
}

// done reports whether the workspace is as the task wants it.
func (m *model) done() bool {
	for name, want := range m.job.right {
		if b, err := os.ReadFile(filepath.Join(m.dir, name)); err != nil || string(b) != want {
			return false
		}
	}
	return true
}
