package cliagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/llm"
)

const (
	maxText     = 300  // bytes of an activity's words
	maxKept     = 2000 // activities of one run that are passed on; a looping program makes millions
	maxWarnings = 50
	maxRefused  = 8
	maxAnswer   = 1 << 20 // bytes of the answer
)

// A run collects what a program's stream reports, whatever its format. It is
// written by one goroutine at a time.
type run struct {
	emit        func(llm.Delta)
	limits      extagent.Limits
	usageBefore llm.Usage // the cumulative count at the start
	began       string    // the session to resume

	session, program string
	texts            []string // texts since the last tool was called
	last             string   // the text before, for repeats
	usage            llm.Usage
	interim          llm.Usage // of requests so far, where only the end has the true count
	total            llm.Usage // of the session, for the next run of it
	cost             float64

	turns, calls, denied, changed int

	open     map[string]call // tools at work
	loops    loopDetector
	kept     int
	warnings int

	changes map[string]string // by call: the file that it changes if it succeeds
	request string            // the last that was counted
	reason  string            // why the last request ended
	pending *fault            // that is final if nothing follows
	looped  bool              // the program detected a loop of its own

	refused []string

	acted   bool // it has used a tool or changed something
	ended   bool
	fault   *fault
	stopped string // the limit that was exceeded
}

// A call is a tool at work.
type call struct{ name, text string }

// A fault is an error that the program reported.
type fault struct {
	kind    llm.ErrorKind
	message string
	status  int // HTTP, 0 if none
	hint    string
	lost    bool // the session is not known
	after   time.Duration
}

func (s *run) activity(a llm.Activity) {
	a.Text, a.Output = brief(a.Text, maxText), brief(a.Output, maxText)
	if s.kept++; s.kept == maxKept {
		a = llm.Activity{Kind: extagent.Warned, Text: fmt.Sprintf("more than %d activities; the rest of this run is left out", maxKept)}
	} else if s.kept > maxKept {
		return
	}
	s.emit(llm.Delta{Activity: &a})
}

// identify records the session's id and the program's name and version.
func (s *run) identify(session, program string) {
	if program != "" {
		s.program = program
	}
	if session == "" || session == s.session {
		return
	}
	s.session = session
	s.activity(llm.Activity{Kind: extagent.SessionOpened, ID: session, Text: s.program})
}

// text records a text of the answer. Some programs write a text twice when their
// own connection was cut.
func (s *run) text(text string) {
	if strings.TrimSpace(text) == "" || text == s.last && len(s.texts) > 0 {
		return
	}
	s.last = text
	if s.size() < maxAnswer {
		s.texts = append(s.texts, text)
	}
	s.emit(llm.Delta{Text: text})
}

// piece continues the last text.
func (s *run) piece(text string) {
	if n := len(s.texts); n > 0 {
		if s.size() < maxAnswer {
			s.texts[n-1] += text
		}
		s.emit(llm.Delta{Text: text})
		return
	}
	if text != "" {
		s.texts = append(s.texts, text)
		s.emit(llm.Delta{Text: text})
	}
}

func (s *run) size() (n int) {
	for _, t := range s.texts {
		n += len(t)
	}
	return n
}

func (s *run) think(text string) {
	if text != "" {
		s.emit(llm.Delta{Thinking: text})
	}
}

// answer is the text after the last call.
func (s *run) answer() string {
	return strings.TrimSpace(strings.Join(s.texts, "\n\n"))
}

// start notes that a tool was called. args are JSON or plain words.
func (s *run) start(id, name, args string) {
	if _, twice := s.open[id]; twice {
		return
	}
	if s.open == nil {
		s.open = map[string]call{}
	}
	text := argumentSummary(args)
	s.open[id] = call{name, text}
	s.texts, s.last = nil, ""
	s.calls++
	s.acted = true
	s.activity(llm.Activity{Kind: extagent.ToolStarted, ID: id, Name: name, Text: text})
	if s.loops.add(name+"\x00"+args, s.limits.SameCalls) {
		s.stop("same")
	}
}

// finish notes how a call ended, also one whose start was not reported.
func (s *run) finish(id, name string, status string, code *int, output string) {
	c, ok := s.open[id]
	if !ok {
		c = call{name: name}
		s.calls++
		s.acted = true
		s.texts, s.last = nil, ""
	}
	delete(s.open, id)
	if status == extagent.StatusDenied {
		s.denied++
	}
	s.activity(llm.Activity{Kind: extagent.ToolFinished, ID: id, Name: c.name, Text: c.text, Status: status, Code: code, Output: spelling.FirstLine(output)})
	if path := s.changes[id]; path != "" && status == extagent.StatusOK {
		s.file(path, "update")
	}
	delete(s.changes, id)
}

// later notes the file that a call changes if it succeeds.
func (s *run) later(id, path string) {
	if s.changes == nil {
		s.changes = map[string]string{}
	}
	s.changes[id] = path
}

// file notes a change of a file, as the program reports it.
func (s *run) file(path, kind string) {
	if path == "" {
		return
	}
	s.changed++
	s.acted = true
	s.activity(llm.Activity{Kind: extagent.FileChanged, Name: kind, Text: path})
}

// refuse notes a refused permission and the reason, which the program does not get.
func (s *run) refuse(words string) {
	if len(s.refused) < maxRefused {
		s.refused = append(s.refused, brief(words, maxText))
	}
}

func (s *run) warn(format string, args ...any) {
	if s.warnings++; s.warnings <= maxWarnings {
		s.activity(llm.Activity{Kind: extagent.Warned, Text: fmt.Sprintf(format, args...)})
	}
}

func (s *run) retry(format string, args ...any) {
	if s.warnings++; s.warnings <= maxWarnings {
		s.activity(llm.Activity{Kind: extagent.Retried, Text: fmt.Sprintf(format, args...)})
	}
}

// turn counts a request to the model behind the program.
func (s *run) turn() {
	s.turns++
	if s.limits.Turns > 0 && s.turns > s.limits.Turns {
		s.stop("turns")
	}
}

// spend adds the usage that a program reports while it runs.
func (s *run) spend(u llm.Usage, cost float64) {
	s.usage, s.cost = s.usage.Add(u), s.cost+cost
	s.check()
}

func (s *run) check() {
	u := s.usage
	if u == (llm.Usage{}) {
		u = s.interim
	}
	switch {
	case s.limits.Tokens > 0 && u.In+u.Out > s.limits.Tokens:
		s.stop("tokens")
	case s.limits.CostUSD > 0 && s.cost > s.limits.CostUSD:
		s.stop("cost")
	}
}

// cumulative records the usage of a whole session.
func (s *run) cumulative(u llm.Usage) {
	s.total = u
	b := s.usageBefore
	if u.In < b.In || u.Out < b.Out {
		b = llm.Usage{} // it counts this run alone after all
	}
	s.usage = llm.Usage{In: u.In - b.In, Out: u.Out - b.Out, Cached: max(0, u.Cached-b.Cached)}
}

func (s *run) stop(bound string) {
	if s.stopped == "" && !s.ended {
		s.stopped = bound
	}
}

// end is the terminal event of a stream. A nil fault is success.
func (s *run) end(f *fault) {
	if s.ended {
		return
	}
	s.ended, s.fault = true, f
	if s.usage != (llm.Usage{}) {
		u := s.usage
		s.activity(llm.Activity{Kind: extagent.UsageReported, Usage: &u})
	}
}

// argumentSummary renders the arguments of a call in a line for people: the most
// informative one, else all of them.
func argumentSummary(args string) string {
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

// maxPeriod is the longest loop that is detected: the same call, or the same
// two or three calls in turn.
const maxPeriod = 3

// A loopDetector counts how often the last calls were repeated in a row.
type loopDetector struct {
	recent []string // the newest last
	runs   [maxPeriod + 1]int
}

// add records a call and reports a loop: same identical calls in a row, or as
// many repetitions of a pattern of two or three calls.
func (c *loopDetector) add(call string, same int) bool {
	closed := false
	for p := 1; p <= maxPeriod; p++ {
		if len(c.recent) >= p && c.recent[len(c.recent)-p] == call {
			c.runs[p]++
		} else {
			c.runs[p] = 0
		}
		// Calls that repeat with period p, the first p of them included.
		if same > 0 && c.runs[p]+p >= same*p {
			closed = true
		}
	}
	c.recent = append(c.recent, call)
	if len(c.recent) > maxPeriod {
		c.recent = c.recent[1:]
	}
	return closed
}
