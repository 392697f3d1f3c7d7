package turn

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Trimmer makes the results of earlier turns smaller. It works on a copy of
// a transcript and changes nothing but the texts of results, so that each call
// keeps its one result.
type Trimmer struct {
	Messages []llm.Message
	lookup   func(name string) (tools.Tool, bool)
	store    func(text string) string // stores a text and returns its id; "" without a result store

	Weight             int // of Messages
	uses               []toolUse
	Dropped, Shortened int
}

// A toolUse is a call with its result, and derived data.
type toolUse struct {
	call   llm.Call
	result *llm.Message
	turn   int
	tool   tools.Metadata
	paths  []string
	from   int // first line and the one behind the last, of a read
	to     int
}

const (
	sparedTurns = 2       // the last ones keep their results whole
	smallResult = 400     // bytes: making it smaller gains nothing
	largestStub = 512     // bytes: what stands for a result is no longer
	bigResult   = 1500    // bytes: an old result above that is cut to head and tail
	headAndTail = 500     // bytes of each
	allLines    = 1 << 30 // behind the last line of any file
)

func NewTrimmer(msgs []llm.Message, lookup func(string) (tools.Tool, bool), store func(string) string) *Trimmer {
	t := &Trimmer{Messages: slices.Clone(msgs), lookup: lookup, store: store, Weight: Weigh(msgs...)}
	turn, calls := 0, map[string]int{}
	for i := range t.Messages {
		m := &t.Messages[i]
		switch m.Role {
		case llm.Assistant:
			turn++
			clear(calls)
			for _, c := range m.Calls {
				calls[c.ID] = len(t.uses)
				t.uses = append(t.uses, t.about(c, turn))
			}
		case llm.Tool:
			if k, ok := calls[m.CallID]; ok {
				t.uses[k].result = m
			}
		}
	}
	t.uses = slices.DeleteFunc(t.uses, func(u toolUse) bool { return u.result == nil })
	return t
}

func (t *Trimmer) about(c llm.Call, turn int) toolUse {
	u := toolUse{call: c, turn: turn, to: allLines}
	tool, ok := t.lookup(c.Name)
	if !ok {
		return u
	}
	u.tool = tool.Metadata
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil {
		return u
	}
	for _, name := range tool.Paths {
		var one string
		var many []string
		if json.Unmarshal(args[name], &one) == nil && one != "" {
			many = append(many, one)
		} else if json.Unmarshal(args[name], &many) != nil {
			continue
		}
		for _, p := range many {
			u.paths = append(u.paths, path.Clean(strings.ReplaceAll(p, `\`, "/")))
		}
	}
	if tool.Touches != nil {
		u.paths = append(u.paths, tool.Touches(c.Args)...)
	}
	var part struct{ From, Lines int }
	if json.Unmarshal(c.Args, &part) == nil && (part.From > 0 || part.Lines > 0) {
		u.from = max(part.From, 1)
		if part.Lines > 0 {
			u.to = u.from + part.Lines
		}
	}
	return u
}

func (u *toolUse) reads() bool {
	return len(u.paths) > 0 && u.tool.Needs&^(tools.Read|tools.Think) == 0 && !u.result.Failed
}

func (u *toolUse) writes() bool { return u.tool.Needs&tools.Write != 0 && !u.result.Failed }
func (u *toolUse) runs() bool   { return u.tool.Needs&(tools.Exec|tools.Shell) != 0 }

// superseded states why a result is of no use any more, "" if it may be. later
// are the uses of later turns and of the same.
func (u *toolUse) superseded(later []toolUse) string {
	for i := range later {
		v := &later[i]
		switch {
		case v.call.Name == u.call.Name && string(v.call.Args) == string(u.call.Args) && !v.result.Failed:
			return "the same call was made again later"
		case u.reads() && v.writes() && overlap(u.paths, v.paths):
			return "it was changed later"
		case u.reads() && v.reads() && v.call.Name == u.call.Name && overlap(u.paths, v.paths) && v.from <= max(u.from, 1) && u.to <= v.to:
			return "it was read again later"
		}
	}
	switch {
	case u.result.Failed:
		return "a failed attempt"
	case u.runs():
		return "an old output"
	}
	return ""
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(p string) bool { return slices.Contains(b, p) })
}

// Drop leaves a line in place of each result that is superseded.
func (t *Trimmer) Drop() {
	for i := range t.old() {
		u := &t.uses[i]
		if len(u.result.Images) > 0 {
			t.Weight -= Weigh(*u.result)
			u.result.Text += "\n[not shown any more; call it again to see it]"
			u.result.Images = nil
			t.Weight += Weigh(*u.result)
			t.Dropped++
			continue
		}
		text := u.result.Text
		if len(text) < largestStub {
			continue
		}
		why := u.superseded(t.uses[i+1:])
		if why == "" {
			continue
		}
		stub := t.stub(u, why)
		if u.result.Failed || u.runs() {
			stub = OneLine(text, 160) + "\n" + stub // what went wrong, or how it went
		}
		if len(stub) < len(text) {
			t.set(u.result, stub)
			t.Dropped++
		}
	}
}

// old returns the uses of all turns but the last.
func (t *Trimmer) old() []toolUse {
	n := len(t.uses)
	if n == 0 {
		return nil
	}
	last := 0
	for i := range t.Messages {
		if t.Messages[i].Role == llm.Assistant {
			last++
		}
	}
	for n > 0 && t.uses[n-1].turn > last-sparedTurns {
		n--
	}
	return t.uses[:n]
}

// Shorten cuts old results to head and tail, the biggest first, as long as the
// rest is too big.
func (t *Trimmer) Shorten(over func() bool) {
	t.cut(t.old(), bigResult, headAndTail, over)
}

func (t *Trimmer) cut(uses []toolUse, above, each int, over func() bool) {
	order := make([]int, len(uses))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(uses[b].result.Text) - len(uses[a].result.Text) })
	for _, i := range order {
		text := uses[i].result.Text
		if len(text) <= above || !over() {
			return
		}
		t.set(uses[i].result, HeadAndTail(text, each, each, t.handle(uses[i].result)))
		t.Shortened++
	}
}

func (t *Trimmer) set(m *llm.Message, text string) {
	t.Weight += Weight(text) - Weight(m.Text)
	m.Text = text
}

// stub returns the line that replaces a result.
func (t *Trimmer) stub(u *toolUse, why string) string {
	return fmt.Sprintf("[left out: %d bytes of %s %s, %s.%s]", len(u.result.Text), u.call.Name, OneLine(string(u.call.Args), 120), why, t.handle(u.result))
}

// handle describes how to get a result again.
func (t *Trimmer) handle(m *llm.Message) string {
	if m.Whole == "" { // else a part is shown already
		m.Whole = t.store(m.Text)
	}
	if m.Whole == "" {
		return " Call it again if you need it."
	}
	return fmt.Sprintf(" "+HandleFormat, ReadResult, m.Whole)
}

const HandleFormat = `%s with id "%s" shows it.`

// HeadAndTail gives the beginning and the end of s, each at most so many bytes, cut
// at lines where there are any, with a line in between that states how much is
// left out.
func HeadAndTail(s string, head, tail int, handle string) string {
	if len(s) <= head+tail {
		return s
	}
	a, b := cutMiddle(s, head, tail)
	return fmt.Sprintf("%s[%d of %d bytes left out here.%s]\n%s", a, len(s)-len(a)-len(b), len(s), handle, b)
}

// CutMore shortens a text of whole bytes, whose middle s may lack already, and which is kept under
// an ID, or "" if it is not kept. shown is the number of lines before the omission.
func CutMore(s string, whole, room int, id string) (text string, shown int) {
	if id != "" {
		id = ": " + id
	}
	room = max(room-cutNote, room/2)
	a, b := cutMiddle(s, room*3/5, room*2/5)
	return fmt.Sprintf("%s[%d of %d bytes left out here%s]\n%s", a, whole-len(a)-len(b), whole, id, b), strings.Count(a, "\n")
}

// cutNote is the approximate size of the line that replaces the omitted text.
const cutNote = 60

func cutMiddle(s string, head, tail int) (a, b string) {
	a, b = s[:head], s[len(s)-tail:]
	if i := strings.LastIndexByte(a, '\n'); i > head/2 {
		a = a[:i+1]
	}
	if i := strings.IndexByte(b, '\n'); i >= 0 && i < tail/2 {
		b = b[i+1:]
	}
	a, b = TrimRunes(a), TrimRunes(b)
	if !strings.HasSuffix(a, "\n") {
		a += "\n"
	}
	return a, b
}

// CutPage returns the beginning of a page that fits, at least one line of it, and the number of
// its last line.
func CutPage(s string, p tools.Page, room int) (text string, last int) {
	lines := strings.SplitAfter(s, "\n")
	lines = lines[min(p.Head, len(lines)):]
	var b strings.Builder
	if p.Head > 0 {
		fmt.Fprintf(&b, "[from line %d]\n", p.From)
	}
	last = p.From - 1
	for _, l := range lines[:min(p.To-last, len(lines))] {
		if last >= p.From && b.Len()+len(l)+cutNote > room {
			break
		}
		b.WriteString(l)
		last++
	}
	fmt.Fprintf(&b, "[cut after line %d]\n", last)
	return b.String(), last
}

// TrimRunes drops partial runes that a cut has left at either end.
func TrimRunes(s string) string {
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	for i := 0; i < utf8.UTFMax && len(s) > 0; i++ {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n != 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}

// OneLine shortens s to one line of at most n bytes.
func OneLine(s string, n int) string {
	s = strings.Join(strings.Fields(spelling.FirstLine(s)), " ")
	if len(s) > n {
		s = TrimRunes(s[:n]) + "…"
	}
	return s
}

// Squeeze makes the rest of a transcript fit by all means but breaking it: results of every turn
// become small, then long texts in arguments.
func (t *Trimmer) Squeeze(over func() bool) {
	t.cut(t.uses, 3*smallResult, smallResult, over)
	t.cut(t.uses, smallResult, smallResult/4, over)
	for i := range t.Messages {
		m := &t.Messages[i]
		if m.Role != llm.Assistant || !over() {
			continue
		}
		t.Weight -= Weigh(*m)
		if len(m.Text) > 4*smallResult {
			m.Text = HeadAndTail(m.Text, smallResult, smallResult, "")
		}
		m.Calls = slices.Clone(m.Calls)
		for k := range m.Calls {
			m.Calls[k].Raw = ""
			m.Calls[k].Args = lessArgs(m.Calls[k].Args)
		}
		t.Weight += Weigh(*m)
	}
}

// lessArgs cuts the long strings in a record of arguments; it stays JSON.
func lessArgs(args json.RawMessage) json.RawMessage {
	if len(args) < 2*smallResult {
		return args
	}
	var fields map[string]any
	if json.Unmarshal(args, &fields) != nil {
		return args
	}
	var less func(v any) any
	less = func(v any) any {
		switch v := v.(type) {
		case string:
			return HeadAndTail(v, smallResult/4, smallResult/4, " This record of the call is shorter than the call was.")
		case []any:
			for i := range v {
				v[i] = less(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = less(v[k])
			}
		}
		return v
	}
	b, err := json.Marshal(less(fields))
	if err != nil || len(b) >= len(args) {
		return args
	}
	return b
}

// ReadResult is the tool with which the model reads results that it was shown in part.
const ReadResult = "read_result"
