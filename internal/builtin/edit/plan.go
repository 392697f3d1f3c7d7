// Package edit changes a part of a file: it finds the text that a model quotes, strictly
// if possible and tolerant of space if not, and replaces it only if the place is
// unambiguous.
//
//	set, err := tools.NewSet(edit.File)
//
// There is a tool for each form in which models write edits: edit_file takes the two
// texts, edit_blocks search/replace blocks, apply_patch a patch. All share one way of
// finding text (the same lines and the looser rules after it) and one of writing it:
// everything is decided before the first file changes.
//
// It never guesses by similarity: no rule finds a place that lacks a word of the quoted
// text. Similar text is shown to the model, which then quotes it.
package edit

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

//go:embed *.md
var descriptions embed.FS

// A plan is a change of several files. All of it is decided before anything is written:
// if a part does not fit, no file changes.
//
// Files are then written one by one, each as a whole, and the job's ledger knows of each
// beforehand. A kill between two of them leaves some files new and some old, never a half
// one; an error takes back what was written.
type plan struct {
	files *workspace.Files
	looks bool // it is for a person to look at: nothing is noted as read
	docs  map[string]*doc
	order []*doc
}

// A doc is one file of a plan.
type doc struct {
	name    string // as the model wrote it
	text    rootfs.Text
	was     string // Content before
	existed bool
	gone    bool
	to      string // its new name
	changes []textChange
	steps   []editStep  // that made them of was
	how     []matchRule // the rules other than Exact that found something
}

func newPlan(files *workspace.Files) *plan { return &plan{files: files, docs: map[string]*doc{}} }

// open reads a file, unless the plan has it already.
func (p *plan) open(name string) (*doc, error) {
	key := p.key(name)
	if d, ok := p.docs[key]; ok {
		if d.gone {
			return nil, fmt.Errorf("%s is deleted earlier in the same edit", name)
		}
		return d, nil
	}
	if err := p.files.Fresh(name); err != nil {
		return nil, err
	}
	t, err := p.read(name)
	if err != nil {
		return nil, err
	}
	return p.add(key, &doc{name: name, text: t, was: t.Content, existed: true}), nil
}

func (p *plan) read(name string) (rootfs.Text, error) {
	if !p.looks {
		return p.files.ReadText(name)
	}
	b, err := fs.ReadFile(p.files.FS(), p.key(name))
	if err != nil {
		return rootfs.Text{}, err
	}
	t, reason := rootfs.Decode(b)
	if reason != "" {
		return rootfs.Text{}, &rootfs.EncodingError{Name: name, Reason: reason}
	}
	return t, nil
}

// create plans a file that must not be there yet.
func (p *plan) create(name, content string) error {
	key := p.key(name)
	if _, ok := p.docs[key]; ok {
		return fmt.Errorf("%s is named twice, once as a new file", name)
	}
	if strings.ContainsRune(content, 0) {
		return fmt.Errorf("%s: the content holds a NUL byte, and only text is written", name)
	}
	if err := Whole(name, "", content); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := p.files.Stat(name); err == nil {
		b, err := p.files.ReadFile(name)
		if err == nil && string(b) == content {
			return fmt.Errorf("%s is there already and holds exactly this: nothing would change", name)
		}
		return fmt.Errorf("%s exists already: change it instead of creating it, or delete it first", name)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d := &doc{name: name, text: rootfs.Text{Content: content}}
	d.changes = []textChange{{At: 1, New: content}}
	p.add(key, d)
	return nil
}

func (p *plan) remove(name string) error {
	key := p.key(name)
	if _, ok := p.docs[key]; ok {
		return fmt.Errorf("%s is named twice, once to be deleted", name)
	}
	if err := p.files.Fresh(name); err != nil {
		return err
	}
	info, err := p.files.Stat(name)
	if err != nil {
		return err
	}
	d := &doc{name: name, existed: true, gone: true}
	if info.Mode().IsRegular() {
		t, err := p.read(name)
		if err != nil { // not text: the result does not show its content, and undo does not restore it
			t = rootfs.Text{}
		}
		d.text, d.was = t, t.Content
	}
	d.changes = []textChange{{At: 1, Old: d.was}}
	p.add(key, d)
	return nil
}

// move plans a new name for a file that is open.
func (p *plan) move(d *doc, to string) error {
	if _, ok := p.docs[p.key(to)]; ok || d.to != "" {
		return fmt.Errorf("%s cannot become %s: the edit has one of them twice", d.name, to)
	}
	if _, err := p.files.Stat(to); err == nil {
		return fmt.Errorf("%s cannot become %s, which exists already", d.name, to)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.to = to
	return nil
}

func (p *plan) add(key string, d *doc) *doc {
	p.docs[key] = d
	p.order = append(p.order, d)
	return d
}

func (p *plan) key(name string) string {
	return path.Clean(strings.TrimPrefix(name, p.files.Dir()+"/"))
}

// set gives a doc new content, found by how.
func (d *doc) set(content string, how matchRule, changes []textChange) {
	d.text.Content = content
	d.changes = append(d.changes, changes...)
	if how != ruleExact && how != ruleNone {
		d.how = append(d.how, how)
	}
}

func (d *doc) replace(old, with string, all bool) error {
	text, how, changes, err := replaceIn(d.name, d.text.Content, old, with, all)
	if err != nil {
		return err
	}
	d.set(text, how, changes)
	d.steps = append(d.steps, editStep{old: []string{unixLines(old)}, new: []string{unixLines(with)}, do: func(text string) (string, error) {
		out, _, _, err := replaceIn(d.name, text, old, with, all)
		return out, err
	}})
	return nil
}

// replaceIn is Replace with what is known of a file by its name.
func replaceIn(name, text, old, with string, all bool) (string, matchRule, []textChange, error) {
	old, with = unixLines(old), unixLines(with)
	if err := Whole(name, text, with); err != nil && old != "" {
		return text, ruleNone, nil, err
	}
	return replaceText(text, old, with, all)
}

func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// check reports faults that can be found before the first file is written.
func (p *plan) check() error {
	for _, d := range p.order {
		if d.gone {
			continue
		}
		if _, err := d.text.Bytes(); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		if d.existed && d.to == "" && d.text.Content == d.was {
			return fmt.Errorf("%s: %w", d.name, errSame)
		}
		if len(d.steps) > 0 && alreadyApplied(d.was, d.steps, d.changes, len(d.how) == 0) {
			return fmt.Errorf("%s: %w", d.name, errMade)
		}
	}
	return nil
}

// commit writes the plan, or takes back what of it was written.
func (p *plan) commit() error {
	if len(p.order) == 0 {
		return errors.New("there is nothing to do in it")
	}
	p.last()
	if err := p.check(); err != nil {
		return err
	}
	var undo []func() error
	for _, d := range p.order {
		back, err := p.write(d)
		undo = append(undo, back...)
		if err == nil {
			continue
		}
		err = fmt.Errorf("writing %s: %w", d.name, err)
		for i := len(undo) - 1; i >= 0; i-- {
			if e := undo[i](); e != nil {
				return errors.Join(err, fmt.Errorf("and taking back what was written before failed too: %w; look at the files again", e))
			}
		}
		return fmt.Errorf("%w. Nothing of this edit is in the files", err)
	}
	return nil
}

// write makes the planned change of d and returns the functions that take it back.
func (p *plan) write(d *doc) (back []func() error, err error) {
	was := d.text
	was.Content = d.was
	switch {
	case d.gone:
		// Removing keeps the mode in the ledger only, so this comes back by
		// undo, not by us: it is planned last.
		return nil, p.files.Remove(d.name)
	case !d.existed:
		if err := p.files.WriteText(d.name, d.text); err != nil {
			return nil, err
		}
		return []func() error{func() error { return p.files.Remove(d.name) }}, nil
	}
	if d.text.Content != d.was {
		if err := p.files.WriteText(d.name, d.text); err != nil {
			return nil, err
		}
		back = append(back, func() error { return p.files.WriteText(d.name, was) })
	}
	if d.to != "" {
		if err := p.files.Rename(d.name, d.to); err != nil {
			return back, err
		}
		back = append(back, func() error { return p.files.Rename(d.to, d.name) })
	}
	return back, nil
}

// last puts deletions after everything that can fail more easily.
func (p *plan) last() {
	var keep, drop []*doc
	for _, d := range p.order {
		if d.gone {
			drop = append(drop, d)
		} else {
			keep = append(keep, d)
		}
	}
	p.order = append(keep, drop...)
}

const (
	mostHunks = 5
	hunkLines = 40
)

// result reports what was changed, within bounds: where, and the changes
// themselves only where old was not found exactly as it was sent.
func (p *plan) result() tools.Result {
	var b strings.Builder
	var sums []string
	hunks, left := 0, 0
	for _, d := range p.order {
		added, removed := 0, 0
		var body strings.Builder
		first, last := 0, 0 // lines that were changed
		for _, c := range d.changes {
			h, a, r := c.Hunk(hunkLines)
			added, removed = added+a, removed+r
			if first == 0 || c.At < first {
				first = c.At
			}
			last = max(last, c.At+len(lines(c.New))-1, c.At)
			if len(d.how) == 0 || d.gone || !d.existed {
				continue // the model has just written it
			}
			if hunks++; hunks > mostHunks {
				left++
				continue
			}
			body.WriteString(h)
		}
		sum := fmt.Sprintf("%s +%d -%d", spelling.PathLine(d.name), added, removed)
		switch {
		case d.gone:
			sum = spelling.PathLine(d.name) + " deleted"
		case !d.existed:
			sum = fmt.Sprintf("%s created +%d", spelling.PathLine(d.name), added)
		case d.to != "":
			sum = fmt.Sprintf("%s renamed to %s +%d -%d", spelling.PathLine(d.name), spelling.PathLine(d.to), added, removed)
		}
		sums = append(sums, sum)
		switch {
		case len(d.how) > 0 || d.gone || !d.existed || first == 0:
		case first == last:
			sum += fmt.Sprintf(", line %d", first)
		default:
			sum += fmt.Sprintf(", lines %d-%d", first, last)
		}
		b.WriteString(sum + "\n")
		for _, how := range d.how {
			fmt.Fprintf(&b, "old was found %s; look at the lines below.\n", how)
		}
		b.WriteString(body.String())
	}
	if left > 0 {
		fmt.Fprintf(&b, "[%d more places]\n", left)
	}
	return tools.Result{Text: b.String(), Summary: strings.Join(sums, ", "), Diff: Shortened(p.diff())}
}

// Difference counts the lines that differ between two texts: "+1 -2".
func Difference(was, is string) string {
	a, b := lines(was), lines(is)
	same := len(pairs(a, b))
	return fmt.Sprintf("+%d -%d", len(b)-same, len(a)-same)
}

// previewed gives an edit its preview: the diff of what plan plans, "" if it does not fit.
func previewed[In any](t tools.Tool, plan func(p *plan, in In) error) tools.Tool {
	t.Preview = func(env *tools.Env, args json.RawMessage) string {
		var in In
		p := newPlan(env.Files)
		p.looks = true
		if json.Unmarshal(args, &in) != nil || plan(p, in) != nil || p.check() != nil {
			return ""
		}
		return p.diff()
	}
	return t
}

// diff is a unified diff of all that the plan changes.
func (p *plan) diff() string {
	var b strings.Builder
	for _, d := range p.order {
		to, now := d.to, d.text.Content
		if to == "" {
			to = d.name
		}
		if d.gone {
			now = ""
		}
		b.WriteString(Diff(p.key(d.name), p.key(to), d.was, now, d.existed, !d.gone))
	}
	return b.String()
}

// maxDiff bounds the bytes of the diff that is kept with a call.
const maxDiff = 8 << 10

// Shortened is the beginning of a diff, in whole lines.
func Shortened(diff string) string {
	if len(diff) > maxDiff {
		diff = diff[:strings.LastIndexByte(diff[:maxDiff], '\n')+1]
	}
	return diff
}

// Diff is a unified diff of git's form of a file that may not be there before or after.
func Diff(from, to, was, is string, before, after bool) string {
	from, to = "a/"+from, "b/"+to
	if !before {
		from = "/dev/null"
	}
	if !after {
		to = "/dev/null"
	}
	return udiff.Unified(from, to, was, is)
}

// Input of edit_file: one replacement, or several in Edits.
type Input struct {
	Path  string  `json:"path"`
	Old   string  `json:"old,omitempty"`
	New   string  `json:"new,omitempty"`
	All   bool    `json:"all,omitempty" jsonschema:"description=Replace every occurrence"`
	Edits []Piece `json:"edits,omitempty" jsonschema:"description=Instead of old and new: several; all or none"`
}

// A Piece is one of several replacements in a file.
type Piece struct {
	Old string `json:"old"`
	New string `json:"new"`
	All bool   `json:"all,omitempty" jsonschema:"deprecated"`
}

// File is the tool edit_file. It is not safe to repeat: after "a" became "aa",
// there is an "a" again.
var File = previewed(tools.New(tools.Metadata{
	Name: "edit_file", Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Unsafe, Paths: []string{"path"},
	Examples: []tools.Example{
		{Note: "rename", Args: json.RawMessage(`{"path":"cart.go","old":"\tsum := 0\n","new":"\ttotal := 0\n"}`)},
		{Note: "two places", Args: json.RawMessage(`{"path":"cart.go","edits":[{"old":"\tsum := 0\n","new":"\ttotal := 0\n"},{"old":"return sum","new":"return total"}]}`)},
	},
}.ProseIn(descriptions), edit), (*plan).pieces)

func edit(_ context.Context, env *tools.Env, in Input) (tools.Result, error) {
	p := newPlan(env.Files)
	if err := p.pieces(in); err != nil {
		return tools.Result{}, err
	}
	if err := p.commit(); err != nil {
		return tools.Result{}, err
	}
	return p.result(), nil
}

func (p *plan) pieces(in Input) error {
	switch {
	case len(in.Edits) > 0 && (in.Old != "" || in.New != ""):
		return errors.New("there are both old and edits: put everything into edits, or make one replacement with old and new")
	case len(in.Edits) == 0:
		in.Edits = []Piece{{in.Old, in.New, in.All}}
	}
	d, err := p.open(in.Path)
	if err != nil {
		return err
	}
	for i, e := range in.Edits {
		if err := d.replace(e.Old, e.New, e.All); err != nil {
			if n := len(in.Edits); n > 1 {
				return fmt.Errorf("%s: edit %d of %d does not fit, so none was made: %w", in.Path, i+1, n, err)
			}
			return fmt.Errorf("%s: %w", in.Path, err)
		}
	}
	return nil
}

// ReplayInput is the input of replay_fix.
type ReplayInput struct {
	Diff string `json:"diff" jsonschema:"description=Unified diff"`
}

// Replay is the tool replay_fix. Unlike apply_patch it takes no place for the one
// that is meant unless all lines of it are there as in the diff.
var Replay = withTouches(tools.New(tools.Metadata{
	Name: "replay_fix", Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Unsafe,
	Examples: []tools.Example{{Args: json.RawMessage(`{"diff":"--- a/cart.go\n+++ b/cart.go\n@@ -1,2 +1,2 @@\n package cart\n-var a = c\n+var a = b\n"}`)}},
}.ProseIn(descriptions), replay), replayNames)

func replayNames(args json.RawMessage) []string {
	var in ReplayInput
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	b, err := json.Marshal(PatchInput{Patch: in.Diff})
	if err != nil {
		return nil
	}
	return patchNames(b)
}

func replay(_ context.Context, env *tools.Env, in ReplayInput) (tools.Result, error) {
	p, err := exactly(env.Files, in.Diff)
	if err != nil {
		return tools.Result{}, fmt.Errorf("the change cannot be made as it was recorded, so nothing of it was made: %w", err)
	}
	if err := p.commit(); err != nil {
		return tools.Result{}, err
	}
	return p.result(), nil
}

// Fits returns the error with which replay_fix would refuse a diff, nil if it would not.
// It changes nothing.
func Fits(files *workspace.Files, diff string) error {
	p, err := exactly(files, diff)
	if err != nil {
		return err
	}
	return p.check()
}

// exactly plans a diff whose lines are all in its places.
func exactly(files *workspace.Files, diff string) (*plan, error) {
	secs, err := parsePatch(diff)
	if err != nil {
		return nil, err
	}
	if len(secs) == 0 {
		return nil, errors.New("there is nothing to do in it")
	}
	p := newPlan(files)
	for _, s := range secs {
		if err := p.section(s); err != nil {
			return nil, err
		}
	}
	for _, d := range p.order {
		if len(d.how) > 0 {
			return nil, fmt.Errorf("%s: the lines are there %s only", d.name, d.how[0])
		}
	}
	return p, nil
}
