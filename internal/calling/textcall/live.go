package textcall

import (
	"strings"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A Reader reads an answer as it arrives. Its deltas leave out the calls and separate thinking; it
// holds back what may still become a tag, and everything from where calls seem to begin. The zero
// value is not usable. A Reader is not safe for concurrent use.
//
// However the answer was cut into chunks, the result is the same, and so is the sum of the deltas.
// That sum is the text of the result, with one exception: if only the end tag of a thought
// arrives, because the prompt opened it and [Options.Opened] does not say so, the text shown until
// then turns out to be thinking, and only the result has it there.
type Reader struct {
	kit  *kit
	all  strings.Builder
	w    walker
	mode mode
	end  string // in thought: what ends it
	from int    // what is before it was shown or put aside
	gap  int    // up to here nothing but space follows from
	held []byte // white space that is shown only if text follows
	said strings.Builder
	cut  bool // thinking was taken out
}

type mode byte

const (
	leading mode = iota // nothing but space so far
	talking
	thinking
	holding
)

// New returns a Reader of one answer.
func New(o Options) *Reader {
	r := &Reader{kit: newKit(o)}
	if len(o.Offered) > 0 {
		r.w.aware = r.kit
	}
	if o.Opened != "" {
		r.mode, r.end, r.cut, r.w.opened = thinking, o.Opened, true, true
	}
	return r
}

// Write takes the next chunk and returns the part of the answer that can be shown.
func (r *Reader) Write(chunk string) llm.Delta {
	var d llm.Delta
	if chunk == "" {
		return d
	}
	r.all.WriteString(chunk)
	r.w.s = r.all.String()
	for r.step(&d) {
	}
	return d
}

// Close returns the answer, read as a whole, and the part of it that is still to be shown. cut
// reports that it ran out of room.
func (r *Reader) Close(cut bool) (Found, llm.Delta) {
	o := r.kit.Options
	o.Cut = cut
	f := Read(r.all.String(), o)
	var d llm.Delta
	if r.mode == thinking {
		d.Thinking = r.w.s[r.from:]
	}
	d.Text, _ = strings.CutPrefix(f.Text, r.said.String())
	if len(d.Text) == len(f.Text) && r.said.Len() > 0 {
		d.Text = "" // what was shown turned out to be thinking
	}
	return f, d
}

// Thought reads a call out of thinking that the server separated, as
// Close does where the end of a thought is missing.
func (r *Reader) Thought(thinking string, cut bool) Found {
	o := r.kit.Options
	o.Opened, o.Cut = "</think>", cut
	return Read(thinking, o)
}

// step goes on as far as it can in one mode and reports whether another one
// follows.
func (r *Reader) step(d *llm.Delta) bool {
	switch r.mode {
	case leading:
		rest := strings.TrimLeft(r.w.s[r.gap:], " \t\r\n")
		if r.gap = len(r.w.s) - len(rest); rest == "" {
			return false
		}
		switch calls, wait := r.bare(rest); {
		case wait:
			return false
		case calls || harmonic(rest):
			r.mode = holding
		case strings.HasPrefix("<|start|>assistant", rest), strings.HasPrefix("<|message|>", rest), strings.HasPrefix("<|channel|>", rest),
			len(rest) < maxHeader && (strings.HasPrefix("to=", rest) || strings.HasPrefix(rest, "to=")):
			return false
		default:
			r.mode = talking
		}
		return true
	case talking:
		return r.talk(d)
	case thinking:
		return r.think(d)
	}
	return false
}

func (r *Reader) talk(d *llm.Delta) bool {
	m := r.w.next(false)
	at := r.w.i
	if m == nil {
		r.show(d, at)
		return false
	}
	switch m.sort {
	case opensThought:
		r.show(d, at)
		r.held = append(r.held, r.w.s[r.from:at]...)
		r.from, r.mode, r.end, r.cut, r.w.opened = at+len(m.open), thinking, m.close[0], true, true
	case endsThought:
		r.show(d, at)
		r.held = nil
		r.from, r.cut = at+len(m.open), true
		r.w.jump(r.from)
	case wraps:
		r.show(d, at)
		r.held = append(r.held, r.w.s[r.from:at]...)
		r.from, r.cut = at+len(m.open), true
		r.w.jump(r.from)
	case opensCalls:
		calls, wait := r.plausible(m, r.w.s[m.body(at):])
		switch {
		case wait:
			r.show(d, at)
			return false
		case calls:
			r.show(d, at)
			r.mode = holding
			return false
		}
		r.w.i, r.w.inked = at+len(m.open), true
	case opensObjects:
		r.show(d, at)
		r.mode = holding
		return false
	default:
		r.w.i, r.w.inked = at+len(m.open), true
	}
	return true
}

// show shows text up to i, without the white space at its end.
func (r *Reader) show(d *llm.Delta, i int) {
	for i > r.from && !utf8.ValidString(r.w.s[max(r.from, i-utf8.UTFMax):i]) && !whole(r.w.s[r.from:i]) {
		i--
	}
	start := max(r.from, r.gap)
	end := start + len(strings.TrimRight(r.w.s[start:max(start, i)], " \t\r\n"))
	if end == start {
		r.gap = max(r.gap, i)
		return
	}
	text := string(r.held) + r.w.s[r.from:end]
	r.from = end
	if r.held = nil; r.cut && r.said.Len() == 0 {
		text = strings.TrimLeft(text, " \t\r\n")
	}
	d.Text += text
	r.said.WriteString(text)
}

// whole reports whether s does not end in the middle of a character.
func whole(s string) bool {
	for n := 1; n <= min(len(s), utf8.UTFMax); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			return utf8.FullRuneInString(tail)
		}
	}
	return true
}

func (r *Reader) think(d *llm.Delta) bool {
	rest := r.w.s[r.from:]
	if n := strings.Index(rest, r.end); n >= 0 {
		d.Thinking += rest[:n]
		r.from += n + len(r.end)
		r.w.jump(r.from)
		if r.mode = talking; r.said.Len() == 0 && len(r.held) == 0 {
			r.mode, r.gap = leading, max(r.gap, r.from)
		}
		return true
	}
	n := len(rest)
	for k := min(n, len(r.end)-1); k > 0; k-- {
		if strings.HasPrefix(r.end, rest[n-k:]) {
			n -= k
			break
		}
	}
	for n > 0 && !whole(rest[:n]) {
		n--
	}
	d.Thinking += rest[:n]
	r.from += n
	return false
}

// ahead bounds the look-ahead for the beginning of a call: text that begins to look like one later
// than that is shown.
const ahead = 1 << 10

// plausible reports whether calls may begin in body, or that this is not
// known yet.
func (r *Reader) plausible(m *marker, body string) (calls, wait bool) {
	if len(r.kit.Offered) == 0 {
		return false, false
	}
	if m.keeps() {
		return true, false
	}
	start, long := body, len(body) > ahead
	body = strings.TrimLeft(start[:min(len(start), ahead)], " \t\r\n,;")
	if body == "" {
		return false, !long
	}
	if strings.IndexByte("{[`<]", body[0]) >= 0 {
		return true, false
	}
	n := word(body)
	if n == len(body) {
		return false, n <= 128
	}
	name := body[:n]
	_, ok := r.kit.offered(name)
	return ok || name == "call", false
}

// bare reports whether an answer that begins like this may be calls without
// anything around them, or that this is not known yet.
func (r *Reader) bare(text string) (calls, wait bool) {
	if len(r.kit.Offered) == 0 {
		return false, false
	}
	if len(text) > ahead {
		calls, _ = r.bare(text[:ahead])
		return calls, false
	}
	if strings.HasPrefix(text, "`") {
		lang, body, ok := strings.Cut(text, "\n")
		if !ok {
			return false, len(lang) < 16 && (strings.HasPrefix(lang, "```") || strings.HasPrefix("```", lang))
		}
		lang, fenced := strings.CutPrefix(lang, "```")
		if lang = strings.TrimSpace(lang); !fenced || !callFence(lang) {
			return false, false
		}
		if lang == "tool_code" {
			return true, false
		}
		if text = strings.TrimLeft(body, " \t\r\n"); text == "" {
			return false, true
		}
		if text[0] == '<' {
			return true, false
		}
	}
	if text[0] != '{' && text[0] != '[' {
		return false, false
	}
	text = strings.TrimLeft(text, "{[ \t\r\n")
	if text == "" {
		return false, true
	}
	if n := word(text); n > 0 {
		if n == len(text) {
			return false, n <= 128
		}
		_, ok := r.kit.offered(text[:n])
		return ok || callKey(text[:n]), false
	}
	quote := text[:1]
	if quote != `"` && quote != "'" {
		// A comment, or not JSON at all.
		return quote == "/", false
	}
	key, _, ok := strings.Cut(text[1:], quote)
	if !ok {
		return false, len(key) < 32
	}
	return callKey(key), false
}

// callKey reports whether an object with this key may be a call.
func callKey(key string) bool {
	switch key {
	case "name", "tool_name", "tool", "function_name", "function", "arguments", "parameters", "args", "id", "call_id", "tool_call_id", "type", "index":
		return true
	}
	return false
}
