// Package textcall reads the real output of models: tool calls that a server passed on as plain
// text, because a template, a model or a parser failed to separate them, and thinking in the
// middle of an answer.
//
//	r := textcall.New(textcall.Options{Offered: req.Tools})
//	for chunk := range answer {
//		show(r.Write(chunk))
//	}
//	found, rest := r.Close(false)
//
// It reads the formats of the model families named by the [Family] constants, all of them at once
// unless Options name some: the format that a model was trained on is rarely the one in its
// template. It is strict about what counts as a call, because an answer may talk about one: a call
// ends the answer, stands outside of code, and names a tool that was offered. It is lenient about
// how a call is spelled, but never completes one: a truncated call is marked Malformed, and nobody
// runs it.
package textcall

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// Options configure how an answer is read. The zero value reads thinking and finds no calls.
type Options struct {
	Family  Family
	Offered []llm.ToolSpec
	Cut     bool // the answer ran out of room
	// Opened is the end tag of a thought that the prompt has opened already, as
	// [OpensThought] finds it; "" for none.
	Opened string
}

// A Found is an answer after reading: the text before the calls, the thinking, and the calls. IDs
// are set only where the model wrote some.
type Found struct {
	Text     string
	Thinking string
	Calls    []llm.Call
	// Notes describe in sentences what had to be repaired.
	Notes []string
	// UnreadCall explains to the model why text that looks like a call was not
	// read as one; "" if nothing does.
	UnreadCall string
	// Unopened reports that only the end tag of the thinking was found: the prompt opened it.
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

// maxFailed bounds the attempts to read text that looks like calls and is not, so that reading
// takes linear time for any text.
const (
	maxFailed = 32
	maxCalls  = 256 // more is a model that repeats itself
)

const callInProse = "the answer holds a tool call in the middle of text, which was taken for an example and not run; a call must be the last thing in an answer"

// A kit is shared by all parsers: the options, the schemas, and their findings.
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

// offered returns the tool that name means.
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

// A reading is the state of an answer that is being scanned.
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
			s.addProse(r, at)
			s.i += len(m.open)
			s.think(r, m.close[0])
		case endsThought:
			if r.first >= 0 {
				s.i += len(m.open)
				continue
			}
			// A template that opens the thinking in the prompt leaves only
			// its end in the answer.
			s.addProse(r, at)
			r.unopened = r.unopened || !s.opened
			r.thoughts = append(r.thoughts, r.visible.String())
			r.visible.Reset()
			s.jump(at + len(m.open))
			r.from, r.parted = s.i, true
		case wraps:
			s.addProse(r, at)
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
			s.addProse(r, at)
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
			s.addProse(r, at)
			r.first, r.from = r.visible.Len(), len(s.s)
		default:
			s.i += len(m.open)
		}
	}
	s.addProse(r, len(s.s))
	return s.conclude(r)
}

// addProse adds the prose up to i to the answer. Prose after a call makes that an example, unless
// the call stands between special tokens.
func (s *scan) addProse(r *reading, i int) {
	part := s.s[r.from:i]
	if rest := s.trailing(part, r.first >= 0); r.first >= 0 && rest != "" {
		line, _, _ := strings.Cut(part, "\n")
		r.amid = r.amid || !r.token || r.inline && strings.TrimSpace(line) != ""
		r.later = append(r.later, rest)
	}
	r.visible.WriteString(part)
}

// think reads a thought up to its end tag, or to the end of the answer.
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

// conclude makes the result from a reading.
func (s *scan) conclude(r *reading) Found {
	f := Found{Text: r.visible.String(), Thinking: join(r.thoughts), Calls: s.calls, Unopened: r.unopened}
	if r.amid {
		s.doubtful(callInProse)
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

// finish adds the notes. Without calls, repairs do not matter.
func (s *scan) finish(f Found) Found {
	if len(f.Calls) == 0 {
		if s.doubt == "" {
			if name := s.possibleCall(f.Text); name != "" {
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

// thought extracts calls from thinking and returns the rest. It looks for calls in families that
// call while thinking, and at the end of an answer whose thinking was never closed, where models
// tend to forget the end tag.
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

// ends are the tokens that end a turn, and the closing tags of calls: a model that closes a call
// twice did not write prose.
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

// trailing returns the text after the last call, without an end-of-turn token that a server did
// not remove and without tool results that the model made up.
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

// harmonic reports whether text is a conversation in the form of gpt-oss.
func harmonic(text string) bool {
	t := strings.TrimSpace(text)
	if strings.HasPrefix(t, "to=") {
		// The prompt ended inside of the first header.
		head := t[:min(len(t), maxHeader)]
		return strings.Contains(head, "<|message|>") || strings.Contains(head, "<|channel|>")
	}
	return strings.HasPrefix(t, "<|channel|>") || strings.HasPrefix(t, "<|start|>assistant") ||
		strings.HasPrefix(t, "<|message|>")
}

const maxHeader = 256

// The tokens that come most often are first: each bounds the search for those
// behind it.
var harmonyEnds = []string{"<|channel|>", "<|start|>", "<|end|>", "<|call|>", "<|return|>", "<|eom|>", "<|eot|>"}

// harmony reads messages that each have a header, with a channel and perhaps
// a recipient, and a body.
func (s *scan) harmony() Found {
	var text, thoughts []string
	first := true
	for s.skip(""); s.i < len(s.s); s.skip("") {
		head, ok := s.until("<|message|>")
		if !ok {
			// A call without arguments may lack its body.
			head = s.s[s.i:]
			s.i = len(s.s)
		}
		from := s.i
		end, token := len(s.s), ""
		for _, e := range harmonyEnds {
			if s.never[e] {
				continue
			}
			n := strings.Index(s.s[from:end], e)
			switch {
			case n >= 0:
				end, token = from+n, e
			case end == len(s.s):
				s.forget(e)
			}
		}
		body := s.s[from:end]
		s.i = end
		if token != "<|start|>" && token != "<|channel|>" {
			s.i += len(token)
		}
		switch to := recipient(head); {
		case to == "self": // Muse Glimmer's thinking
			thoughts = append(thoughts, body)
		case to == "user":
			text = append(text, body)
		case to != "" && len(s.Offered) > 0:
			if name, err := s.tool(to); err == nil {
				s.harmonyCall(name, body, token != "")
				continue
			}
			thoughts = append(thoughts, body)
		case strings.Contains(head, "analysis"):
			thoughts = append(thoughts, body)
		case !ok && !first:
		default:
			text = append(text, body)
		}
		first = false
	}
	f := Found{Text: join(text), Thinking: join(thoughts), Calls: s.calls}
	if s.unknown {
		f.Calls = nil
	}
	return s.finish(f)
}

// recipient returns the addressee of a header, or "".
func recipient(head string) string {
	_, to, ok := strings.Cut(head, "to=")
	if !ok {
		return ""
	}
	return to[:word(to)]
}

// harmonyCall reads a body as arguments. Junk behind them is common there.
func (s *scan) harmonyCall(name, body string, ended bool) {
	in := &scan{kit: s.kit, walker: walker{s: body}}
	in.skip("")
	if in.has("<") {
		// Glimmer writes the call in tags as well.
		if m := in.next(true); m != nil && m.sort == opensCalls && in.block(m) {
			s.unknown = s.unknown || in.unknown
			return
		}
		in.i = 0
	}
	if in.i >= len(body) {
		if !ended {
			_ = in.broken(name, "", 0, errEnd)
			return
		}
		_ = in.add(name, "", []byte("{}"))
		return
	}
	if in.arguments(name, "", 0) == nil {
		if in.skip(""); in.i < len(body) {
			s.note("what followed the arguments of a tool call was dropped")
		}
	}
}
