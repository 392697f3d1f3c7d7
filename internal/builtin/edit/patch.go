package edit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/pkg/tools"
)

// PatchInput is the input of apply_patch.
type PatchInput struct {
	Patch string `json:"patch" jsonschema:"description=*** Begin Patch then per file *** Update File: path and its places each begun by @@ or *** Add File: path or *** Delete File: path then *** End Patch"`
}

// Patch is the tool apply_patch. It takes a unified diff too.
var Patch = previewed(withTouches(tools.New(tools.Metadata{
	Name: "apply_patch", Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Unsafe,
	Examples: []tools.Example{{Note: "change a line", Args: json.RawMessage(`{"patch":"*** Begin Patch\n*** Update File: cart.go\n@@ func Total(ps []int) int {\n-\tsum := 0\n+\ttotal := 0\n \tfor _, p := range ps {\n*** End Patch\n"}`)}},
}.ProseIn(descriptions), patch), patchNames), (*plan).patch)

func patch(_ context.Context, env *tools.Env, in PatchInput) (tools.Result, error) {
	p := newPlan(env.Files)
	if err := p.patch(in); err != nil {
		return tools.Result{}, err
	}
	if err := p.commit(); err != nil {
		return tools.Result{}, err
	}
	return p.result(), nil
}

func (p *plan) patch(in PatchInput) error {
	secs, err := parsePatch(in.Patch)
	if err != nil {
		return err
	}
	for _, s := range secs {
		if err := p.section(s); err != nil {
			return fmt.Errorf("the patch does not fit, so nothing of it was applied: %w", err)
		}
	}
	return nil
}

func (p *plan) section(s section) error {
	switch s.op {
	case addFile:
		return p.create(s.path, s.content)
	case deleteFile:
		if len(s.hunks) > 0 {
			t, err := p.read(s.path)
			if err != nil {
				return err
			}
			if strings.TrimSuffix(t.Content, "\n") != strings.Join(s.hunks[0].old, "\n") {
				return fmt.Errorf("%s: the file has other lines than those the diff takes out. To delete it whatever it holds, use *** Delete File", s.path)
			}
		}
		return p.remove(s.path)
	}
	d, err := p.open(s.path)
	if err != nil {
		return err
	}
	if err := d.hunks(s.hunks); err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	if s.to != "" {
		return p.move(d, s.to)
	}
	return nil
}

// A hunk is one place of a patch.
type hunk struct {
	under    []string // the lines after @@, outermost first
	at       int      // the line a unified diff gives, from 1; 0 if none
	old, new []string
	end      bool // the last line of old is the file's last
	// The last line of old or new has no newline, as a unified diff notes.
	oldOpen, newOpen bool
	loose            int // empty lines at the end of what was read so far
}

// hunks applies hunks in the order of the file.
func (d *doc) hunks(hs []hunk) error {
	to := *d
	if err := to.apply(hs); err != nil {
		return err
	}
	s := editStep{do: func(text string) (string, error) {
		again := doc{name: d.name}
		again.text.Content = text
		err := again.apply(hs)
		return again.text.Content, err
	}}
	for _, h := range hs {
		if h.at > 0 { // choose decides by the line
			s.old, s.new = nil, nil
			break
		}
		s.old, s.new = append(s.old, closed(h.old, true)), append(s.new, closed(h.new, true))
	}
	*d = to
	d.steps = append(d.steps, s)
	return nil
}

func (d *doc) apply(hs []hunk) error {
	from := 0 // the first line a hunk may touch
	shift := 0
	for i, h := range hs {
		text := d.text.Content
		if err := Whole(d.name, text, closed(h.new, true)); err != nil {
			return err
		}
		p, err := h.find(text, from, shift)
		if err != nil {
			return fmt.Errorf("hunk %d of %d: %w", i+1, len(hs), err)
		}
		if err := repeats(text, p); err != nil {
			return fmt.Errorf("hunk %d of %d: %w", i+1, len(hs), err)
		}
		out, changes := splice(text, []place{p})
		if out == text {
			return fmt.Errorf("hunk %d of %d: %w", i+1, len(hs), errSame)
		}
		d.set(out, p.how, changes)
		from = strings.Count(out[:p.span.Start+len(p.put)], "\n")
		shift += len(h.new) - len(h.old)
	}
	return nil
}

// find returns the place of a hunk in text, not before line from.
func (h hunk) find(text string, from, shift int) (place, error) {
	ls := split(text)
	if len(h.old) == 0 {
		return h.append(text)
	}
	old, with := closed(h.old, true), closed(h.new, true)
	if old == with && h.oldOpen == h.newOpen {
		return place{}, fmt.Errorf("it removes and adds the same lines: nothing would change")
	}
	if strayEscape(with) && !strayEscape(text) && !strayEscape(old) {
		return place{}, fmt.Errorf(`it is escaped twice: it has \n outside of a quotation; send newlines and tabs as they are`)
	}
	at, how := inLines(ls, split(old))
	h.end = h.end || h.oldOpen || h.newOpen
	if h.end && len(at) > 1 {
		at = at[len(at)-1:]
	}
	if h.end && len(at) == 1 && !atEnd(ls, at[0]+len(h.old)) {
		return place{}, fmt.Errorf("its lines are at line %d, which is not the end of the file as *** End of File says", at[0]+1)
	}
	at, err := h.choose(ls, at, from, shift)
	switch {
	case err != nil:
		return place{}, err
	case len(at) == 0:
		if p, ok := loose(text, old, with); ok {
			if at, _ := h.choose(ls, []int{strings.Count(text[:p.span.Start], "\n")}, from, shift); len(at) > 0 {
				return p, nil
			}
		}
		return place{}, &matchError{text: text, old: old, what: "the lines to change (those with a blank or - in front)"}
	case len(at) > 1:
		var spans []textSpan
		for _, i := range at {
			spans = append(spans, textSpan{ls[i].start, ls[i+len(h.old)-1].end})
		}
		return place{}, &matchError{text: text, old: old, Spans: spans, How: how, what: "the lines to change"}
	}
	last := ls[at[0]+len(h.old)-1]
	s := textSpan{ls[at[0]].start, last.end}
	if last.nl {
		s.End++
	}
	put, ok := closed(h.new, last.nl), true
	if how != ruleExact {
		put, ok = fit(text, s, old, with, how)
	}
	if !ok {
		return place{}, &matchError{text: text, old: old}
	}
	if s.End == len(text) && h.oldOpen != h.newOpen {
		put = closed(lines(put), h.oldOpen)
	}
	return place{s, put, how}, nil
}

// append places a hunk that only adds lines: without context, only the end of
// the file is unambiguous.
func (h hunk) append(text string) (place, error) {
	if !h.end && strings.TrimSpace(text) != "" {
		return place{}, fmt.Errorf("it only adds lines and does not say where: give the lines around as context, each with a blank in front, or *** End of File to add at the end")
	}
	put := closed(h.new, true)
	if strings.HasSuffix(closed(lines(text), true), put) {
		return place{}, errMade
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		put = "\n" + strings.TrimSuffix(put, "\n")
	}
	return place{textSpan{len(text), len(text)}, put, ruleExact}, nil
}

// inLines returns the numbers of the lines at which want begins, by the first rule that
// finds any.
func inLines(ls, want []line) ([]int, matchRule) {
	same := func(a, b string) bool { return a == b }
	starts := func(spans []textSpan) []int {
		var out []int
		i := 0
		for _, s := range spans {
			for ls[i].start < s.Start {
				i++
			}
			out = append(out, i)
		}
		return out
	}
	if s := byLine(ls, want, ruleExact, same); len(s) > 0 {
		return starts(s), ruleExact
	}
	for _, r := range tolerant {
		if s := byLine(ls, want, r.how, r.same); len(s) > 0 {
			return starts(s), r.how
		}
	}
	return nil, ruleNone
}

// choose leaves of the places at those that what comes with the hunk allows:
// after the hunk before, under the lines after @@, at the line of the diff.
// It fails where those say that the hunk was applied before, or where the only
// place is under another line.
func (h hunk) choose(ls []line, at []int, from, shift int) ([]int, error) {
	at = slices.DeleteFunc(at, func(i int) bool { return i < from })
	if len(at) == 0 {
		return nil, nil
	}
	if under, known := h.scope(ls, at, from); known {
		if len(under) == 0 {
			return nil, fmt.Errorf("its lines are at line %d, which is not under %q, the line after @@; nothing was changed. Read the file again: they may have been changed there already", at[0]+1, h.under[len(h.under)-1])
		}
		at = under
	}
	exactly := h.at - 1 + shift
	if h.at > 0 && slices.Contains(at, exactly) {
		return []int{exactly}, nil
	}
	if h.at > 0 && len(h.new) > 0 {
		if made, _ := inLines(ls, split(closed(h.new, true))); slices.Contains(made, exactly) {
			return nil, errMade
		}
	}
	return at, nil
}

// scope leaves of the places at those under the lines that stand after @@: in
// the block that is indented below them, or else, as in files that are not
// indented, before the next line that begins with the same word at the same
// indentation. It is not known where that is if one of the lines is not in the
// file exactly once, below the one before.
func (h hunk) scope(ls []line, at []int, from int) (in []int, known bool) {
	lo, near, far := 0, len(ls), len(ls)
	for _, u := range h.under {
		hit := -1
		for i := lo; i < far; i++ {
			if trim(ls[i].s) == trim(u) || len(trim(u)) > 8 && strings.HasPrefix(trim(ls[i].s), trim(u)) {
				if hit >= 0 {
					return nil, false
				}
				hit = i
			}
		}
		if hit < 0 {
			return nil, false
		}
		margin, kind := width(lead(ls[hit].s)), kindOf(ls[hit].s)
		lo, near, known = hit, far, true
		// What is above from may be of the hunks before, and ends nothing.
		for i := max(hit+1, from); i < far; i++ {
			s := trim(ls[i].s)
			w := width(lead(ls[i].s))
			if s == "" || strings.ContainsAny(s[:1], ")}]") || w > margin {
				continue
			}
			near = min(near, i)
			if w < margin || kind != "" && kindOf(s) == kind {
				far = i
			}
		}
	}
	for _, end := range []int{near, far + 1} { // a hunk may begin with the next line of the kind
		for _, i := range at {
			if i+len(h.old) > lo && i < end {
				in = append(in, i)
			}
		}
		if len(in) > 0 {
			break
		}
	}
	return in, known
}

// kindOf is the word that lines of a kind begin with: func, def, -, ##. It is
// "" where that is no sign of a kind, as // of a comment.
func kindOf(l string) string {
	if w := strings.Fields(l); len(w) > 0 && (w[0] == "-" || strings.HasPrefix(w[0], "##") || strings.ContainsFunc(w[0], unicode.IsLetter)) {
		return w[0]
	}
	return ""
}

func atEnd(ls []line, n int) bool {
	for ; n < len(ls); n++ {
		if trim(ls[n].s) != "" {
			return false
		}
	}
	return true
}
