// Package textcall reads what models really emit: tool calls that a server
// handed over as plain text, because a template, a model or a parser let them
// through, and thinking that stands in the middle of an answer.
//
//	r := textcall.New(textcall.Options{Offered: req.Tools})
//	for chunk := range answer {
//		show(r.Write(chunk))
//	}
//	found, rest := r.Close(false)
//
// It reads the formats of the model families named by the [Family] constants,
// all of them at once unless Options name some: what a model was trained on is rarely
// what its template says. It is strict about what is a call, because an answer
// may talk about one: a call ends the answer, stands outside of code, and
// names a tool that was offered. It is lenient about how a call is spelled,
// except that it never completes one: what stops in the middle is a call
// marked Malformed, which nobody runs.
package textcall

import (
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// Options say how an answer is to be read. The zero value reads thinking and
// finds no calls.
type Options struct {
	Family  Family
	Offered []llm.ToolSpec
	Cut     bool // the answer ran out of room
	// Opened is the end tag of a thought that the prompt has opened already, as
	// [OpensThought] finds it; "" for none.
	Opened string
}

// A Found is an answer read again: what it said before the calls, what it
// thought, and the calls. Ids are there only where the model wrote some.
type Found struct {
	Text     string
	Thinking string
	Calls    []llm.Call
	// Notes say in sentences what had to be repaired.
	Notes []string
	// UnreadCall explains to the model why text that looks like a call was not
	// read as one; "" if nothing does.
	UnreadCall string
	// Unopened says that the thinking came with its end only: the prompt opened
	// it.
	Unopened bool
}

// Read reads a whole answer. Text is as it came unless something was taken
// out of it. The time it takes grows linearly with the text.
func Read(text string, o Options) Found {
	s := &scan{kit: newKit(o), walker: walker{s: text}}
	if harmonic(text) {
		return s.harmony()
	}
	return s.read()
}

func join(parts []string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}
