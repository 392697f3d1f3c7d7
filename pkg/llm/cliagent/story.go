package cliagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/llm"
)

const (
	maxText     = 300  // bytes of an activity's words
	maxKept     = 2000 // activities of one run that are told; a program in a circle makes millions
	maxWarnings = 50
	maxRefused  = 8
	maxSaid     = 1 << 20 // bytes of the answer
)

// A story is what a program has told so far, whatever its stream looks like. It
// is written by one goroutine at a time.
type story struct {
	emit   func(llm.Delta)
	bounds llm.Bounds
	before llm.Usage // what a cumulative count began with
	began  string    // the session that was to go on

	session, program string
	said             []string // texts since the last tool was called
	last             string   // the text before, for repeats
	usage            llm.Usage
	interim          llm.Usage // of requests so far, where only the end has the true count
	total            llm.Usage // of the session, for the next run of it
	cost             float64

	turns, calls, denied, changed int

	open     map[string]call // tools at work
	repeated circle
	kept     int
	warnings int

	changes map[string]string // by call: the file that it changes if it succeeds
	request string            // the last that was counted
	reason  string            // why the last request ended
	pending *fault            // that is final if nothing follows
	looped  bool              // it has noticed a circle of its own

	refused []string

	acted   bool // it has used a tool or changed something
	ended   bool
	fault   *fault
	stopped string // the bound that was passed
}

// A call is a tool at work.
type call struct{ name, text string }

// A fault is why a program did not do what it should.
type fault struct {
	kind    llm.ErrorKind
	message string
	status  int // HTTP, 0 if none
	hint    string
	lost    bool // the session is not known
	after   time.Duration
}

func (s *story) activity(a llm.Activity) {
	a.Text, a.Said = brief(a.Text, maxText), brief(a.Said, maxText)
	if s.kept++; s.kept == maxKept {
		a = llm.Activity{Kind: llm.Warned, Text: fmt.Sprintf("more than %d activities; the rest of this run is not told", maxKept)}
	} else if s.kept > maxKept {
		return
	}
	s.emit(llm.Delta{Activity: &a})
}

// meet takes the session's id and the program's words about itself.
func (s *story) meet(session, program string) {
	if program != "" {
		s.program = program
	}
	if session == "" || session == s.session {
		return
	}
	s.session = session
	s.activity(llm.Activity{Kind: llm.SessionOpened, ID: session, Text: s.program})
}

// say takes a text of the answer. Some programs write a text twice when their
// own connection was cut.
func (s *story) say(text string) {
	if strings.TrimSpace(text) == "" || text == s.last && len(s.said) > 0 {
		return
	}
	s.last = text
	if s.size() < maxSaid {
		s.said = append(s.said, text)
	}
	s.emit(llm.Delta{Text: text})
}

// piece continues the text that is being said.
func (s *story) piece(text string) {
	if n := len(s.said); n > 0 {
		if s.size() < maxSaid {
			s.said[n-1] += text
		}
		s.emit(llm.Delta{Text: text})
		return
	}
	if text != "" {
		s.said = append(s.said, text)
		s.emit(llm.Delta{Text: text})
	}
}

func (s *story) size() (n int) {
	for _, t := range s.said {
		n += len(t)
	}
	return n
}

func (s *story) think(text string) {
	if text != "" {
		s.emit(llm.Delta{Thinking: text})
	}
}

// words are the last words: what was said after the last call.
func (s *story) words() string {
	return strings.TrimSpace(strings.Join(s.said, "\n\n"))
}

// start notes that a tool was called. args are JSON or plain words.
func (s *story) start(id, name, args string) {
	if _, twice := s.open[id]; twice {
		return
	}
	if s.open == nil {
		s.open = map[string]call{}
	}
	text := gist(args)
	s.open[id] = call{name, text}
	s.said, s.last = nil, ""
	s.calls++
	s.acted = true
	s.activity(llm.Activity{Kind: llm.ToolStarted, ID: id, Name: name, Text: text})
	if s.repeated.add(name+"\x00"+args, s.bounds.Same) {
		s.stop("same")
	}
}

// finish notes how a call ended. It says so of a call that nobody started, too.
func (s *story) finish(id, name string, status llm.Status, code *int, output string) {
	c, ok := s.open[id]
	if !ok {
		c = call{name: name}
		s.calls++
		s.acted = true
		s.said, s.last = nil, ""
	}
	delete(s.open, id)
	if status == llm.Denied {
		s.denied++
	}
	s.activity(llm.Activity{Kind: llm.ToolFinished, ID: id, Name: c.name, Text: c.text, Status: status, Code: code, Said: firstLine(output)})
	if path := s.changes[id]; path != "" && status == llm.OK {
		s.file(path, "update")
	}
	delete(s.changes, id)
}

// later notes the file that a call changes if it succeeds.
func (s *story) later(id, path string) {
	if s.changes == nil {
		s.changes = map[string]string{}
	}
	s.changes[id] = path
}

// file notes a change of a file, by the program's own account.
func (s *story) file(path, kind string) {
	if path == "" {
		return
	}
	s.changed++
	s.acted = true
	s.activity(llm.Activity{Kind: llm.FileChanged, Name: kind, Text: path})
}

// refuse notes what was refused and why, for a program that was not told.
func (s *story) refuse(words string) {
	if len(s.refused) < maxRefused {
		s.refused = append(s.refused, brief(words, maxText))
	}
}

func (s *story) warn(format string, args ...any) {
	if s.warnings++; s.warnings <= maxWarnings {
		s.activity(llm.Activity{Kind: llm.Warned, Text: fmt.Sprintf(format, args...)})
	}
}

func (s *story) retry(format string, args ...any) {
	if s.warnings++; s.warnings <= maxWarnings {
		s.activity(llm.Activity{Kind: llm.Retried, Text: fmt.Sprintf(format, args...)})
	}
}

// turn counts a request to the model behind the program.
func (s *story) turn() {
	s.turns++
	if s.bounds.Turns > 0 && s.turns > s.bounds.Turns {
		s.stop("turns")
	}
}

// spend takes the counts so far of a program that gives them as it goes.
func (s *story) spend(u llm.Usage, cost float64) {
	s.usage, s.cost = s.usage.Add(u), s.cost+cost
	s.check()
}

func (s *story) check() {
	u := s.usage
	if u == (llm.Usage{}) {
		u = s.interim
	}
	switch {
	case s.bounds.Tokens > 0 && u.In+u.Out > s.bounds.Tokens:
		s.stop("tokens")
	case s.bounds.CostUSD > 0 && s.cost > s.bounds.CostUSD:
		s.stop("cost")
	}
}

// cumulative takes the count of a whole session.
func (s *story) cumulative(u llm.Usage) {
	s.total = u
	b := s.before
	if u.In < b.In || u.Out < b.Out {
		b = llm.Usage{} // it counts this run alone after all
	}
	s.usage = llm.Usage{In: u.In - b.In, Out: u.Out - b.Out, Cached: max(0, u.Cached-b.Cached)}
}

func (s *story) stop(bound string) {
	if s.stopped == "" && !s.ended {
		s.stopped = bound
	}
}

// end is the terminal event of a stream. A nil fault is success.
func (s *story) end(f *fault) {
	if s.ended {
		return
	}
	s.ended, s.fault = true, f
	if s.usage != (llm.Usage{}) {
		u := s.usage
		s.activity(llm.Activity{Kind: llm.Spent, Usage: &u})
	}
}

// gist is what a call was made with, in a line for people: the argument that
// says most, else all of them.
func gist(args string) string {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &m) != nil {
		return strings.Join(strings.Fields(args), " ")
	}
	for _, key := range []string{"command", "file_path", "filePath", "path", "pattern", "query", "url", "prompt"} {
		var v string
		if json.Unmarshal(m[key], &v) == nil && v != "" {
			return strings.Join(strings.Fields(v), " ")
		}
	}
	var b bytes.Buffer
	if len(m) == 0 || json.Compact(&b, []byte(args)) != nil {
		return ""
	}
	return b.String()
}

func brief(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.ToValidUTF8(s[:n], "\uFFFD") + "…"
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}
