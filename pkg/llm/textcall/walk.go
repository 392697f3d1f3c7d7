package textcall

import "strings"

// A sort of marker: what begins with it.
type sort byte

const (
	opensCalls sort = iota
	opensThought
	endsThought
	opensHarmony
	wraps // says nothing by itself
)

// A marker is text that begins something other than prose.
type marker struct {
	sort  sort
	open  string
	close []string
}

var markers = []marker{
	{opensCalls, "<tool_call>", []string{"</tool_call>"}},
	{opensCalls, "<tool_calls>", []string{"</tool_calls>"}},
	{opensCalls, "<TOOLCALL>", []string{"</TOOLCALL>"}},
	{opensCalls, "<|tool_call|>", []string{"<|/tool_call|>", "</|tool_call|>", "<|end_of_text|>"}},
	{opensCalls, "<|python_tag|>", []string{"<|eom_id|>", "<|eot_id|>"}},
	{opensCalls, "<|START_ACTION|>", []string{"<|END_ACTION|>"}},
	{opensCalls, "<|action_start|>", []string{"<|action_end|>"}},
	{opensCalls, "<|tool_call_start|>", []string{"<|tool_call_end|>"}},
	{opensCalls, "<|python_start|>", []string{"<|python_end|>"}},
	{opensCalls, "<function_calls>", []string{"</function_calls>"}},
	{opensCalls, "<seed:tool_call>", []string{"</seed:tool_call>"}},
	{opensCalls, "<minimax:tool_call>", []string{"</minimax:tool_call>"}},
	{opensCalls, "<｜DSML｜function_calls>", []string{"</｜DSML｜function_calls>"}},
	{opensCalls, "<start_function_call>", []string{"<end_function_call>"}},
	{opensCalls, "<|tool_call>", []string{"<tool_call|>"}},
	{opensCalls, "<｜tool▁calls▁begin｜>", []string{"<｜tool▁calls▁end｜>"}},
	{opensCalls, "<｜tool_calls_begin｜>", []string{"<｜tool_calls_end｜>"}},
	{opensCalls, "<|tool_calls_section_begin|>", []string{"<|tool_calls_section_end|>"}},
	{opensCalls, "<|open|>tools<|sep|>", []string{"<|close|>tools<|sep|>"}},
	{opensCalls, "[TOOL_CALLS]", nil},
	{opensCalls, "functools[", nil},
	// Items that small models write without what should be around them.
	{opensCalls, "<function=", []string{"</tool_call>"}},
	{opensCalls, "<|tool_call_begin|>", []string{"<|tool_calls_section_end|>"}},
	{opensCalls, "<｜tool▁call▁begin｜>", []string{"<｜tool▁calls▁end｜>"}},
	{opensCalls, "<|open|>call ", []string{"<|close|>tools<|sep|>"}},

	{opensThought, "<think>", []string{"</think>"}},
	{opensThought, "<thinking>", []string{"</thinking>"}},
	{opensThought, "<thought>", []string{"</thought>"}},
	{opensThought, "<seed:think>", []string{"</seed:think>"}},
	{opensThought, "[THINK]", []string{"[/THINK]"}},
	{opensThought, "<|START_THINKING|>", []string{"<|END_THINKING|>"}},
	{opensThought, "<|channel>thought", []string{"<channel|>"}},
	{opensThought, "◁think▷", []string{"◁/think▷"}},
	{opensThought, "<|open|>think<|sep|>", []string{"<|close|>think<|sep|>"}},
	{endsThought, "<|close|>think<|sep|>", nil},
	{endsThought, "</think>", nil},
	{endsThought, "</seed:think>", nil},
	{endsThought, "[/THINK]", nil},
	{endsThought, "◁/think▷", nil},

	{wraps, "<|open|>response<|sep|>", nil},
	{wraps, "<|close|>response<|sep|>", nil},
	{wraps, "<|close|>message<|sep|>", nil},
	{wraps, "<|end_of_msg|>", nil},

	{opensHarmony, "<|channel|>", nil},
	{opensHarmony, "<|start|>assistant", nil},
}

// keeps reports whether the marker is also the beginning of an item.
func (m *marker) keeps() bool {
	switch m.open {
	case "<function=", "<|tool_call_begin|>", "<｜tool▁call▁begin｜>", "functools[", "<|open|>call ":
		return true
	}
	return false
}

// body is where what m opens begins, when m begins at i.
func (m *marker) body(i int) int {
	switch {
	case m.open == "functools[":
		return i + len("functools")
	case m.keeps():
		return i
	}
	return i + len(m.open)
}

// begins is the set of the markers' first bytes.
var begins = func() (set [256]bool) {
	for _, m := range markers {
		set[m.open[0]] = true
	}
	return set
}()

// A walker goes through text from marker to marker. What it decides at a
// place never depends on how much of the text behind it is known: when that
// matters it waits.
type walker struct {
	s     string
	i     int
	inked bool // the line has had something other than space
	ticks int  // the line's backticks so far
	fence bool // inside of a fenced block
}

// next moves to the next marker outside of code. Nil means that all of the
// text was walked, or, unless it is the whole text, as far as can be told.
func (w *walker) next(whole bool) *marker {
	for w.i < len(w.s) {
		rest := w.s[w.i:]
		c := rest[0]
		switch {
		case c == '\n':
			w.inked, w.ticks = false, 0
		case c == '`' && !w.inked:
			if len(rest) < 3 && strings.Trim(rest, "`") == "" && !whole {
				return nil
			}
			w.inked = true
			if strings.HasPrefix(rest, "```") {
				w.fence = !w.fence
				w.i += 3
				continue
			}
			w.ticks++
		case c == '`':
			w.ticks++
		case begins[c] && !w.fence && w.ticks%2 == 0:
			m, wait := w.at(rest, whole)
			if m != nil {
				return m
			}
			if wait {
				return nil
			}
			w.inked = true
		case c != ' ' && c != '\t' && c != '\r':
			w.inked = true
		}
		w.i++
	}
	return nil
}

// at is the marker at the start of rest; wait says that it cannot be told yet.
func (w *walker) at(rest string, whole bool) (found *marker, wait bool) {
	for k := range markers {
		m := &markers[k]
		if !strings.HasPrefix(rest, m.open) {
			wait = wait || !whole && strings.HasPrefix(m.open, rest)
			continue
		}
		switch m.sort {
		case opensThought, opensHarmony:
			if w.inked {
				continue // prose may name a tag
			}
		case endsThought:
			after := rest[len(m.open):]
			if after == "" && !whole {
				return nil, true
			}
			if w.inked && after != "" && m.open[:2] != "<|" && !strings.ContainsRune("\r\n{[<", rune(after[0])) {
				continue
			}
		}
		if m.open == "functools[" && w.inked {
			continue
		}
		found = m
		break
	}
	if found != nil {
		return found, false
	}
	return nil, wait
}

// jump goes on at i, as at the start of a line.
func (w *walker) jump(i int) {
	w.i, w.inked, w.ticks, w.fence = i, false, 0, false
}

func (w *walker) has(prefix string) bool { return strings.HasPrefix(w.s[w.i:], prefix) }

func (w *walker) take(prefix string) bool {
	if !w.has(prefix) {
		return false
	}
	w.i += len(prefix)
	return true
}

// skip moves over white space and the characters of also.
func (w *walker) skip(also string) {
	for w.i < len(w.s) && (strings.IndexByte(" \t\r\n", w.s[w.i]) >= 0 || strings.IndexByte(also, w.s[w.i]) >= 0) {
		w.i++
	}
}

// until moves behind the next end and returns what is before it.
func (w *walker) until(end string) (string, bool) {
	n := strings.Index(w.s[w.i:], end)
	if n < 0 {
		return "", false
	}
	inside := w.s[w.i : w.i+n]
	w.i += n + len(end)
	return inside, true
}
