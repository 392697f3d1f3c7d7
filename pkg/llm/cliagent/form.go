package cliagent

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// An order is one run of a program.
type order struct {
	Model   string // empty is the program's own choice
	Prompt  string
	System  string // empty in a session that has it
	Session string // to go on with, empty for a new one
	Dir     string
	Scratch string // a directory for files of this run
	May     llm.Rights
	Bounds  llm.Bounds
	Effort  llm.Effort
	Getenv  func(string) string
}

// An invocation is how a program is told an order.
type invocation struct {
	args  []string
	env   []string // KEY=value
	stdin []byte   // nil: there is nothing to read
}

// A form is what there is to know of one kind of program.
type form interface {
	// keys are the names of our variables that it gets.
	keys() []string
	invoke(o order) (invocation, error)
	// read takes in a line of its stream. What it does not know it leaves.
	read(s *story, line []byte)
	// over hears how the process ended. It ends the story of a program whose
	// stream does not, or tells why there was none.
	over(s *story, code int, stderr string)
}

// most is the longest prompt that is passed as an argument: Linux takes 128 KiB.
const most = 100 << 10

// asWord keeps a prompt from being read as a flag.
func asWord(prompt string) string {
	if strings.HasPrefix(prompt, "-") {
		return " " + prompt
	}
	return prompt
}

// opening is a prompt with the system's words before it, for programs that
// cannot add to their own.
func (o order) opening() string {
	if o.System == "" {
		return o.Prompt
	}
	return "<instructions>\n" + o.System + "\n</instructions>\n\n" + o.Prompt
}

// whole is the value of a bound for a flag; ok is false if there is none.
func whole(n int) (int, bool) { return n, n > 0 }

// decode reads as much of a line as fits into v: programs change their streams,
// and a field of another type is no reason to lose the others.
func decode(line []byte, v any) bool {
	err := json.Unmarshal(line, v)
	var other *json.UnmarshalTypeError
	return err == nil || errors.As(err, &other)
}

// quoted is s as a string of JSON, which TOML reads too.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can be
	// DEL is the one character that JSON leaves and TOML refuses.
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007F`)
}
