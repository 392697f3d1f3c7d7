package textcall

import (
	"slices"
	"strings"
)

// A sort classifies markers by what they open.
type sort byte

const (
	opensCalls sort = iota
	opensThought
	endsThought
	opensHarmony
	wraps // says nothing by itself
	opensObjects
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
	{opensCalls, "<tools>", []string{"</tools>"}}, // Qwen2.5-Coder, after the list in its prompt
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
	{opensCalls, "<｜DSML｜tool_calls>", []string{"</｜DSML｜tool_calls>"}},
	{opensCalls, "<｜DSML｜ calls>", []string{"</｜DSML｜ calls>"}},
	{opensCalls, "<atem:function_calls>", []string{"</atem:function_calls>"}},
	{opensCalls, "]<]minimax[>[<tool_call>", []string{"]<]minimax[>[</tool_call>"}},
	{opensCalls, "<function_call>", []string{"</function_call>"}},
	{opensCalls, "<longcat_tool_call>", []string{"</longcat_tool_call>"}},
	{opensCalls, "<iquest_tool_call>", []string{"</iquest_tool_call>"}},
	{opensCalls, "<dots_function_call>", []string{"</dots_function_call>"}},
	{opensCalls, "<tool_calls:opensource>", []string{"</tool_calls:opensource>"}},
	{opensCalls, "<tool_call:opensource>", []string{"</tool_call:opensource>"}},
	{opensCalls, "<|tools_prefix|>", []string{"<|tools_suffix|>"}},
	{opensCalls, "<|function_call|>", []string{"<|message_sep|>"}},
	{opensCalls, "function call<|role_sep|>", []string{"<|message_sep|>"}},
	{opensCalls, "<start_function_call>", []string{"<end_function_call>"}},
	{opensCalls, "<|tool_call>", []string{"<tool_call|>"}},
	{opensCalls, "<｜tool▁calls▁begin｜>", []string{"<｜tool▁calls▁end｜>"}},
	{opensCalls, "<｜tool_calls_begin｜>", []string{"<｜tool_calls_end｜>"}},
	{opensCalls, "<|tool_calls_section_begin|>", []string{"<|tool_calls_section_end|>"}},
	{opensCalls, "<|open|>tools<|sep|>", []string{"<|close|>tools<|sep|>"}},
	{opensCalls, "[TOOL_CALLS]", []string{"[/TOOL_CALLS]"}},
	{opensCalls, "functools[", nil},
	// Items that small models write without the enclosing tag.
	{opensCalls, "<function=", []string{"</tool_call>"}},
	{opensCalls, "<|tool_call_begin|>", []string{"<|tool_calls_section_end|>"}},
	{opensCalls, "<｜tool▁call▁begin｜>", []string{"<｜tool▁calls▁end｜>"}},
	{opensCalls, "<|open|>call ", []string{"<|close|>tools<|sep|>"}},
	{opensCalls, "<function name=", nil}, // MiniCPM writes nothing around it
	{opensCalls, "<invoke name=", nil},
	{opensCalls, "<atem:invoke name=", []string{"</atem:function_calls>"}},
	{opensCalls, "<｜DSML｜invoke name=", []string{"</｜DSML｜tool_calls>", "</｜DSML｜function_calls>"}},

	{opensThought, "<think>", []string{"</think>"}},
	{opensThought, "<thinking>", []string{"</thinking>"}},
	{opensThought, "<thought>", []string{"</thought>"}},
	{opensThought, "<seed:think>", []string{"</seed:think>"}},
	{opensThought, "[THINK]", []string{"[/THINK]"}},
	{opensThought, "<|START_THINKING|>", []string{"<|END_THINKING|>"}},
	{opensThought, "<|channel>thought", []string{"<channel|>"}},
	{opensThought, "<|channel>", []string{"<channel|>"}},
	{opensThought, "<mm:think>", []string{"</mm:think>"}},
	{opensThought, "<think:opensource>", []string{"</think:opensource>"}},
	{opensThought, "◁think▷", []string{"◁/think▷"}},
	{opensThought, "<|open|>think<|sep|>", []string{"<|close|>think<|sep|>"}},
	{endsThought, "<|close|>think<|sep|>", nil},
	{endsThought, "</think>", nil},
	{endsThought, "</seed:think>", nil},
	{endsThought, "[/THINK]", nil},
	{endsThought, "◁/think▷", nil},
	{endsThought, "<|END_THINKING|>", nil},
	{endsThought, "<channel|>", nil},
	{endsThought, "</mm:think>", nil},
	{endsThought, "</think:opensource>", nil},
	{endsThought, "</thinking>", nil},
	{endsThought, "</thought>", nil},

	{wraps, "<|message_sep|>", nil},
	{wraps, "<|START_TEXT|>", nil},
	{wraps, "<|END_TEXT|>", nil},
	{wraps, "<|START_RESPONSE|>", nil},
	{wraps, "<|END_RESPONSE|>", nil},
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
	return strings.HasSuffix(m.open, " name=")
}

// token reports whether the marker is a special token of its family, which
// nobody writes into an example by accident.
func (m *marker) token() bool {
	return slices.ContainsFunc([]string{"<|", "<｜", "[TOOL_CALLS]", "]<]", "function call<|"}, func(start string) bool { return strings.HasPrefix(m.open, start) })
}

// body returns the index at which the content of m begins, for a marker that begins at i.
func (m *marker) body(i int) int {
	switch {
	case m.open == "functools[":
		return i + len("functools")
	case m.keeps():
		return i
	}
	return i + len(m.open)
}

// objectMarker stands for calls written as JSON on lines of their own.
var objectMarker = &marker{sort: opensObjects}

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
	quote bool // the line is a quotation of Markdown

	opened bool // the text has an opening tag of thinking
	aware  *kit // decides which objects on a line of their own may be calls; nil for none
	past   int  // objects before this place were looked at
}

// next moves to the next marker outside of code. Nil means the end of the
// text, or, unless it is whole, of the part that is certain.
func (w *walker) next(whole bool) *marker {
	for w.i < len(w.s) {
		rest := w.s[w.i:]
		c := rest[0]
		if !w.inked && !w.fence && w.aware != nil && w.i >= w.past && strings.IndexByte("{[`", c) >= 0 {
			calls, wait := w.aware.objectAhead(rest)
			if calls {
				return objectMarker
			}
			if wait && !whole {
				return nil
			}
		}
		switch {
		case c == '\n':
			w.inked, w.ticks, w.quote = false, 0, false
		case c == '>' && !w.inked:
			w.inked, w.quote = true, true
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
		case begins[c] && !w.fence && !w.quote && w.ticks%2 == 0:
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

// at returns the marker at the start of rest; wait means that more text is needed.
func (w *walker) at(rest string, whole bool) (found *marker, wait bool) {
	for k := range markers {
		m := &markers[k]
		if !strings.HasPrefix(rest, m.open) {
			wait = wait || !whole && strings.HasPrefix(m.open, rest)
			continue
		}
		if wait {
			return nil, true // a longer marker may begin like this one
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
			if m.open[:2] != "<|" && m.open != "<channel|>" && w.mentioned(after) {
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

// mentioned reports whether the end tag of a thought at w.i, with after behind
// it, is named in prose rather than ending a thought. Templates that open the
// thought in the prompt leave only its end in the answer, mostly in the middle
// of a line.
func (w *walker) mentioned(after string) bool {
	if !w.inked || after == "" {
		return false
	}
	next := after[0]
	if strings.IndexByte("\r\n{[<", next) >= 0 {
		return false
	}
	if start := strings.TrimLeft(w.s, " \t\r\n"); w.opened || start[0] == '{' || start[0] == '[' {
		return true // the thought had its tags, or the answer is JSON
	}
	before := w.s[:w.i]
	if prev := before[len(before)-1]; prev != ' ' && prev != '\t' {
		return strings.IndexByte("\"'(", prev) >= 0 || strings.HasSuffix(before, "“") || strings.HasSuffix(before, "‘") || strings.IndexByte(",;:.)", next) >= 0
	}
	before = strings.TrimRight(before, " \t")
	sentence := strings.IndexByte(".!?", before[len(before)-1]) >= 0
	return strings.IndexByte(",;:.)\"'", next) >= 0 || (next == ' ' || next == '\t') && !sentence
}

// jump goes on at i, as at the start of a line.
func (w *walker) jump(i int) {
	w.i, w.inked, w.ticks, w.fence, w.quote = i, false, 0, false, false
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

// until moves past the next end and returns the text before it.
func (w *walker) until(end string) (string, bool) {
	n := strings.Index(w.s[w.i:], end)
	if n < 0 {
		return "", false
	}
	inside := w.s[w.i : w.i+n]
	w.i += n + len(end)
	return inside, true
}
