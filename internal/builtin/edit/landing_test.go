package edit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A bench is a directory that attempts are made in.
type bench struct {
	dir  string
	have map[string]string // the files in it
}

// call makes an attempt on files and returns what is in them then.
func (b *bench) call(t *testing.T, l landing, files map[string]string) (tools.Result, map[string]string) {
	t.Helper()
	for name := range b.have {
		if err := os.Remove(filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	b.have = files
	for name, text := range files {
		name = filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in, err := json.Marshal(l.in)
	if err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(b.dir, nil) // a new one each time: nothing was read before
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := l.tool.Run(context.Background(), &tools.Env{Files: w}, in)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name := range files {
		text, err := os.ReadFile(filepath.Join(b.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got[name] = string(text)
	}
	return r, got
}

// The outcomes of attempts.
const (
	landed = iota
	ambiguous
	refused
	wrong
)

type outcomes map[string]*[4]int

func (o outcomes) add(row string, outcome int) {
	if o[row] == nil {
		o[row] = new([4]int)
	}
	o[row][outcome]++
}

func (o outcomes) total() (n int) {
	for _, row := range o {
		for _, m := range row {
			n += m
		}
	}
	return n
}

// judge compares what an attempt did with what it should have done: want, or
// nothing at all.
func judge(t *testing.T, c commit, row string, l landing, r tools.Result, was, got, want map[string]string) int {
	show := func(m map[string]string, o map[string]string) (s string) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			s += udiff.Unified(name+" wanted", name+" got", m[name], o[name])
		}
		return s
	}
	in, _ := json.Marshal(l.in)
	switch {
	case r.Failed && !equal(got, was):
		t.Errorf("%s, %s: refused, and yet changed: %s\n%s\n%s", c.name, row, in, r.Text, show(was, got))
	case r.Failed && strings.Contains(r.Text, " times ("):
		return ambiguous
	case r.Failed:
		if want != nil && !strings.HasPrefix(row, "a line around") {
			t.Logf("%s, %s: refused: %s\n%s", c.name, row, in, r.Text)
		}
		return refused
	case want == nil:
		t.Errorf("%s, %s: applied: %s\n%s", c.name, row, in, r.Text)
	case !equal(got, want):
		t.Errorf("%s, %s: landed wrongly: %s\n%s\n%s", c.name, row, in, r.Text, show(want, got))
	default:
		for name := range want {
			if was[name] != want[name] && !strings.Contains(r.Text, name) {
				t.Errorf("%s, %s: the result does not name %s: %s", c.name, row, name, r.Text)
			}
		}
		return landed
	}
	return wrong
}

// probes are made of an attempt that landed, where only refusing is right: it
// is made again, its place is gone, the line to change is another one. A line
// of the context that is another may be refused or kept.
func probes(t *testing.T, b *bench, c commit, l landing, sum outcomes) {
	try := func(row string, files, want map[string]string) {
		for _, text := range files {
			if len(files) == 1 && l.old != "" && row != "made again" && strings.Contains(unspaced(text), unspaced(l.old)) {
				return // the same words stand once more with other blanks, and are taken for those quoted: see docs/dev/conformance.md
			}
		}
		r, got := b.call(t, l, files)
		sum.add(row, judge(t, c, row+", "+l.form, l, r, files, got, want))
	}
	try("made again", l.is, nil)
	if l.old == "" {
		return
	}
	name := slices.Collect(maps.Keys(l.was))[0]
	text := l.was[name]
	try("its place is gone", map[string]string{name: text[:l.at] + text[l.at+len(l.old):]}, nil)
	at := l.at
	kept, changed := false, false
	for i, s := range l.edited {
		if s[0] == '+' {
			continue
		}
		end := at + len(s) - 1
		other := otherWord(s[1:])
		switch {
		case other == s[1:]:
		case s[0] == '-' && !changed && !slices.Contains(l.edited, "+"+other):
			changed = true
			try("the line to change is another", map[string]string{name: text[:at] + other + text[end:]}, nil)
		case s[0] == ' ' && !kept && i > 0:
			kept = true
			for row, other := range map[string]string{"a line around is another": other, "a line around is longer": s[1:] + " // more"} {
				is, j := l.is[name], at // where the line is after the change
				for _, e := range l.edited[:i] {
					switch e[0] {
					case '+':
						j += len(e)
					case '-':
						j -= len(e)
					}
				}
				is = is[:j] + other + is[j+len(s)-1:]
				try(row, map[string]string{name: text[:at] + other + text[end:]}, map[string]string{name: is})
			}
		}
		at += len(s)
	}
}

// unspaced is s without what blanks can differ in.
func unspaced(s string) string {
	var b strings.Builder
	b.WriteString("\n")
	for l := range strings.Lines(s) {
		if w := strings.Fields(l); len(w) > 0 {
			b.WriteString(strings.Join(w, " ") + "\n")
		}
	}
	return b.String()
}

var aWord = regexp.MustCompile(`[A-Za-z]{3,}|[0-9]+`)

// otherWord is l with its last word another.
func otherWord(l string) string {
	all := aWord.FindAllStringIndex(l, -1)
	if len(all) == 0 {
		return l
	}
	w := all[len(all)-1]
	other := "Other"
	if n, err := strconv.Atoi(l[w[0]:w[1]]); err == nil {
		other = strconv.Itoa(n + 3)
	}
	return l[:w[0]] + other + l[w[1]:]
}

// TestCommits makes the changes of real commits in every form, and compares
// bytes: a change lands as the commit has it or leaves the files alone. CI
// makes a sample with a fresh seed; ADROIT_SEED repeats a run, ADROIT_EDIT_REPOS names
// further Git repositories, divided as in PATH.
func TestCommits(t *testing.T) {
	seed := testenv.Seed(t)
	n := testenv.Sample(2, 150)
	if testing.Short() {
		n = 1
	}
	t.Logf("ADROIT_SEED=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	all := made(rnd, 3*n)
	repos := filepath.SplitList(os.Getenv("ADROIT_EDIT_REPOS"))
	if top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output(); err == nil {
		repos = append(repos, strings.TrimSpace(string(top)))
	}
	for _, dir := range repos {
		all = append(all, history(t, rnd, dir, n)...)
	}
	all = append(all, modules(t, rnd, max(2, n/8))...)
	sum, again := outcomes{}, outcomes{}
	b := &bench{dir: t.TempDir()}
	for _, c := range all {
		for _, l := range landings(t, c) {
			r, got := b.call(t, l, l.was)
			outcome := judge(t, c, l.form, l, r, l.was, got, l.is)
			sum.add(l.form, outcome)
			if outcome != landed {
				continue
			}
			probes(t, b, c, l, again)
			r, got = b.call(t, l, crlfs(l.was))
			sum.add("CRLF", judge(t, c, l.form+", CRLF", l, r, crlfs(l.was), got, crlfs(l.is)))
		}
	}
	figures := fmt.Sprintf(commitsText, len(all), len(repos), len(pinned), sum.total(), again.total(), seed) + sum.table("form") + "\n" + again.table("probe")
	t.Log(figures)
	if *update {
		doc, err := os.ReadFile(docPage)
		if err != nil {
			t.Fatal(err)
		}
		before, _, _ := strings.Cut(string(doc), ofCommits)
		if err := os.WriteFile(docPage, []byte(before+ofCommits+figures), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if sum.total() < 20*n {
		t.Errorf("only %d edits", sum.total())
	}
}

// commitsText comes before the tables in docs/dev/edits.md.
const commitsText = `
A run of TestCommits: %d changes, of the history of %d Git repositories, of steps between versions of %d modules, and of files made by the test, full
of blocks that are alike; %d edits and %d probes (ADROIT_SEED=%d). Each change is written in every form and compared byte for byte. CI makes a sample
with a fresh seed, and one that lands wrongly fails it. ` + "`make edits`" + ` makes more, and writes this section.

Ambiguous: what is quoted is in the file several times, and nothing that comes with it says which is meant; the model is shown all of them. Probes are made of
edits that landed, and only refusing is right; where a line around the change is not as it was quoted, landing is right too, if that line stays.

Left out are probes where the same words stand once more with other blanks, which are taken for those quoted; a newline that comes or goes at the end of a file,
which only a unified diff can say; and whole lines whose new text has no newline at its end, which gets one.

`

func (o outcomes) table(what string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | made | landed | ambiguous | refused otherwise | landed wrongly |\n|---|---|---|---|---|---|\n", what)
	for _, row := range slices.Sorted(maps.Keys(o)) {
		v := o[row]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", row, v[0]+v[1]+v[2]+v[3], v[landed], v[ambiguous], v[refused], v[wrong])
	}
	return b.String()
}

func crlfs(files map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out[name] = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return out
}
