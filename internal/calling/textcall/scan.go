package textcall

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// maxFailed bounds how often something that looks like calls and is not may
// be tried, so that reading takes linear time whatever the text.
const (
	maxFailed = 32
	maxCalls  = 256 // more is a model that repeats itself
)

const amidText = "the answer holds a tool call in the middle of text, which was taken for an example and not run; a call must be the last thing in an answer"

// A kit is what all parsers share: the options, the schemas, and what they
// found out on the way.
type kit struct {
	Options
	shapes map[string]shape
	fixed  fixes
	notes  []string
	doubt  string
	calls  []llm.Call

	malformed int // of calls
}

func newKit(o Options) *kit { return &kit{Options: o, shapes: map[string]shape{}} }

// offered is the tool that name means.
func (k *kit) offered(name string) (string, bool) {
	name = strings.TrimSpace(name)
	for _, said := range []string{name, BareName(name)} {
		for _, t := range k.Offered {
			if t.Name == said {
				return said, true
			}
		}
		if said == "" {
			continue
		}
		if meant, ok := Meant(said, k.Offered); ok {
			k.note(name + " is called " + meant)
			return meant, true
		}
	}
	return "", false
}

func (k *kit) note(s string) {
	for _, n := range k.notes {
		if n == s {
			return
		}
	}
	k.notes = append(k.notes, s)
}

func (k *kit) doubtful(format string, args ...any) {
	if k.doubt == "" {
		k.doubt = fmt.Sprintf(format, args...)
	}
}

// A scan reads one answer.
type scan struct {
	*kit
	walker
	never    map[string]bool // ends that do not come any more
	end      string          // what ends a call in the block that is read
	invented bool            // it made up a result
	unknown  bool            // a tool was called that was not offered
}

// A reading is what a scan has made of an answer so far.
type reading struct {
	visible  strings.Builder // what is not thought
	thoughts []string
	later    []string // prose behind calls
	from     int      // what is before it was dealt with
	first    int      // where the first call stood in what is visible; -1 for none
	failed   int
	token    bool // the last call stood between special tokens
	inline   bool // the last call stood in a sentence that had begun on its line
	amid     bool // prose follows a call that did not
	parted   bool // something was taken out
	unopened bool
}

func (s *scan) read() Found {
	r := &reading{first: -1}
	if len(s.Offered) > 0 {
		s.aware = s.kit
	}
	if s.Opened != "" {
		s.think(r, s.Opened)
	}
	for r.failed+s.malformed < maxFailed && len(s.calls) < maxCalls {
		m := s.next(true)
		if m == nil {
			break
		}
		at := s.i
		switch m.sort {
		case opensThought:
			s.said(r, at)
			s.i += len(m.open)
			s.think(r, m.close[0])
		case endsThought:
			if r.first >= 0 {
				s.i += len(m.open)
				continue
			}
			// A template that opens the thinking in the prompt leaves only
			// its end in the answer.
			s.said(r, at)
			r.unopened = r.unopened || !s.opened
			r.thoughts = append(r.thoughts, r.visible.String())
			r.visible.Reset()
			s.jump(at + len(m.open))
			r.from, r.parted = s.i, true
		case wraps:
			s.said(r, at)
			s.jump(at + len(m.open))
			r.from, r.parted = s.i, true
		case opensCalls:
			if r.first >= 0 {
				if s.trailing(s.s[r.from:at], true); s.invented {
					r.from, s.i = len(s.s), len(s.s) // what it calls for next rests on what it made up
					continue
				}
			}
			if len(s.Offered) == 0 || !s.block(m) {
				r.failed++
				s.i, s.inked = at+len(m.open), true
				continue
			}
			end := s.i
			s.said(r, at)
			if r.first < 0 {
				r.first = r.visible.Len()
			}
			r.token = m.token()
			line := strings.TrimSpace(s.s[r.from:at][strings.LastIndexByte(s.s[r.from:at], '\n')+1:])
			r.inline = line != "" && strings.IndexByte(".!?:", line[len(line)-1]) < 0
			r.visible.WriteString(s.s[at:end])
			s.jump(end)
			r.from = end
		case opensObjects:
			s.past = at + 1
			before := r.visible.String() + s.s[r.from:at]
			if strings.TrimSpace(before) == "" {
				s.aware = nil // the answer begins with it: see bare
				continue
			}
			if r.first >= 0 || !s.ending(before) {
				r.failed++
				continue
			}
			s.said(r, at)
			r.first, r.from = r.visible.Len(), len(s.s)
		default:
			s.i += len(m.open)
		}
	}
	s.said(r, len(s.s))
	return s.conclude(r)
}

// said takes the prose up to i. Behind a call it makes that an example, unless
// the call stands between special tokens.
func (s *scan) said(r *reading, i int) {
	part := s.s[r.from:i]
	if rest := s.trailing(part, r.first >= 0); r.first >= 0 && rest != "" {
		line, _, _ := strings.Cut(part, "\n")
		r.amid = r.amid || !r.token || r.inline && strings.TrimSpace(line) != ""
		r.later = append(r.later, rest)
	}
	r.visible.WriteString(part)
}

// think takes a thought up to its end, or to that of the answer.
func (s *scan) think(r *reading, end string) {
	inside, closed := s.until(end)
	if !closed {
		inside, s.i = s.s[s.i:], len(s.s)
	}
	before := len(s.calls)
	r.thoughts = append(r.thoughts, s.thought(inside, closed))
	if before == 0 && len(s.calls) > 0 {
		r.first = r.visible.Len()
	}
	s.jump(s.i)
	r.from, r.parted, s.opened = s.i, true, true
}

// conclude makes an answer of what was read.
func (s *scan) conclude(r *reading) Found {
	f := Found{Text: r.visible.String(), Thinking: join(r.thoughts), Calls: s.calls, Unopened: r.unopened}
	if r.amid {
		s.doubtful(amidText)
		f.Calls = nil
	}
	if s.unknown {
		f.Calls = nil
	}
	switch {
	case len(f.Calls) > 0:
		f.Text = join(append([]string{f.Text[:r.first]}, r.later...))
	case r.parted:
		f.Text = strings.TrimSpace(f.Text)
	}
	if len(f.Calls) == 0 && len(s.Offered) > 0 && r.first < 0 {
		s.calls = nil
		if before, ok := s.react(f.Text); ok {
			f.Calls, f.Text = s.calls, strings.TrimSpace(before)
		} else if s.bare(strings.TrimSpace(f.Text)) {
			f.Calls, f.Text = s.calls, ""
		}
	}
	return s.finish(f)
}

// finish adds what was noted. Without calls, repairs are of no interest.
func (s *scan) finish(f Found) Found {
	if len(f.Calls) == 0 {
		if s.doubt == "" {
			if name := s.overlooked(f.Text); name != "" {
				s.doubtful(unreadText, name)
			} else {
				s.unknownCall(strings.TrimSpace(f.Text))
			}
		}
		f.Calls, f.UnreadCall = nil, s.doubt
		return f
	}
	f.Notes = s.notes
	if s.fixed != 0 {
		f.Notes = append(f.Notes, "the arguments of a tool call were not quite JSON; repaired: "+s.fixed.String())
	}
	return f
}

// thought reads calls out of thinking and returns the rest: those of a family
// that calls there, and those that end an answer whose thinking was never
// closed, which is where models lose the end of it.
func (s *scan) thought(inside string, closed bool) string {
	always := s.Family.callsWhileThinking()
	if len(s.Offered) == 0 || !always && (closed || s.Cut) {
		return inside
	}
	had, kit := len(s.calls), *s.kit
	in := &scan{kit: s.kit, walker: walker{s: inside}}
	var kept strings.Builder
	from := 0
	for failed := 0; failed < maxFailed; {
		m := in.next(true)
		if m == nil {
			break
		}
		at := in.i
		if m.sort != opensCalls || !in.block(m) {
			failed++
			in.i, in.inked = at+len(m.open), true
			continue
		}
		if !always && from > 0 && strings.TrimSpace(inside[from:at]) != "" {
			break
		}
		kept.WriteString(inside[from:at])
		in.jump(in.i)
		from = in.i
		s.note("the model called a tool inside of its thinking")
	}
	if !always && (in.unknown || len(s.calls) > had && in.trailing(inside[from:], true) != "") {
		*s.kit = kit
		return inside
	}
	s.unknown = s.unknown || in.unknown
	return kept.String() + inside[from:]
}

// ends are the tokens that end a turn, and the ends of calls: what a model
// closes twice is no prose.
var ends = func() []string {
	list := []string{"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "</s>", "<|endoftext|>", "<|end_of_text|>", "<|end|>", "<end_of_turn>",
		"<turn|>", "<|END_OF_TURN_TOKEN|>", "<｜end▁of▁sentence｜>", "<|return|>", "<|call|>", "[e~[", "</response>", "<|eot|>", "<|eom|>", "<|assistant_end|>",
		"</function>", "</invoke>"}
	for _, m := range markers {
		if m.sort == opensCalls {
			list = append(list, m.close...)
		}
	}
	return list
}()

var results = []string{"<tool_response>", "<|tool_response>", "<start_function_response>", "<|START_TOOL_RESULT|>", "<tool_result>", "[TOOL_RESULTS]"}

// trailing is what follows the last call, without the end of a turn that a
// server let through and without results that the model made up.
func (s *scan) trailing(rest string, called bool) string {
	for called {
		rest = strings.TrimSpace(rest)
		was := len(rest)
		for _, end := range ends {
			rest = strings.TrimSuffix(strings.TrimPrefix(rest, end), end)
		}
		for _, r := range results {
			if strings.HasPrefix(rest, r) {
				s.note("the model made up the result of its call; that part was dropped")
				s.invented = true
				return ""
			}
		}
		if len(rest) == was {
			break
		}
	}
	return rest
}
