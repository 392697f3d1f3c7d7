package edit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

var update = flag.Bool("update", false, "write docs/dev/edits.md")

// A task is a change to a file: old, whole lines of it, becomes new.
type task struct {
	name, path, text, old, new string
	spell                      func(string) string // how the file's bytes spell text
}

func (k task) bytes(text string) []byte {
	if k.spell != nil {
		text = k.spell(text)
	}
	return []byte(text)
}

// A slip is a mistake that a model makes in an edit. It changes the quoted text and the
// new one, or the file behind the model's back. lost means that nobody can tell any more
// what was meant, so that the edit must be refused.
type slip struct {
	name string
	lost bool
	do   func(k task, old, new string) (string, string) // nil: nothing
	late func(text string) string                       // the file changes after it was read
	form func(s string) string                          // done to the finished argument, where the form is a text
	in   string                                         // formats it concerns; all if empty
}

func eachLine(s string, f func(i int, l string) string) string {
	ls := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, l := range ls {
		ls[i] = f(i, l)
	}
	return strings.Join(ls, "\n") + "\n"
}

func both(f func(i int, l string) string) func(task, string, string) (string, string) {
	return func(_ task, old, new string) (string, string) { return eachLine(old, f), eachLine(new, f) }
}

func dedent(_ int, l string) string {
	if strings.HasPrefix(l, "\t") {
		return l[1:]
	}
	for _, in := range []string{"    ", "  "} {
		if strings.HasPrefix(l, in) {
			return l[len(in):]
		}
	}
	return l
}

func blanksForTabs(_ int, l string) string {
	n := len(l) - len(strings.TrimLeft(l, "\t"))
	return strings.Repeat("    ", n) + l[n:]
}

func tabsForBlanks(_ int, l string) string {
	n := len(l) - len(strings.TrimLeft(l, " "))
	return strings.Repeat("\t", n/4) + strings.Repeat(" ", n%4) + l[n:]
}

func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, `"`, `\"`).Replace(strings.TrimSuffix(s, "\n"))
}

var plainMarks = strings.NewReplacer("\u201c", `"`, "\u201d", `"`, "\u2019", "'", "\u2014", "-", "\u00a0", " ")

// number puts the numbers of the file's lines in front, as read_file shows them.
func number(k task, old, s string) string {
	first := strings.Count(k.text[:strings.Index(k.text, old)], "\n") + 1
	return eachLine(s, func(i int, l string) string { return fmt.Sprintf("%d\t%s", first+i, l) })
}

// away replaces the first line of the file that old has in its middle and new
// keeps.
func away(k task) func(string) string {
	ls := strings.Split(strings.TrimSuffix(k.old, "\n"), "\n")
	for i := 1; i < len(ls)-1; i++ {
		if strings.Contains(k.new, ls[i]+"\n") && len(strings.TrimSpace(ls[i])) > 3 {
			return func(text string) string { return strings.Replace(text, ls[i], ls[i]+"2", 1) }
		}
	}
	return nil
}

func slips(k task) []slip {
	return []slip{
		{name: "none"},
		{name: "blanks at line ends", do: both(func(i int, l string) string { return l + strings.Repeat(" ", i%3) })},
		{name: "a level less indented", do: both(dedent)},
		{name: "blanks for tabs", do: both(blanksForTabs)},
		{name: "tabs for blanks", do: both(tabsForBlanks)},
		{name: "first line without its indentation", do: func(_ task, old, new string) (string, string) {
			return strings.TrimLeft(old, " \t"), strings.TrimLeft(new, " \t")
		}},
		{name: "all indentation lost", lost: true, do: both(func(_ int, l string) string { return strings.TrimLeft(l, " \t") })},
		{name: "blank lines around", do: func(_ task, old, new string) (string, string) { return "\n" + old + "\n", "\n" + new + "\n" }},
		{name: "line numbers", do: func(k task, old, new string) (string, string) { return number(k, old, old), number(k, old, new) }},
		{name: "line numbers in what is quoted", do: func(k task, old, new string) (string, string) { return number(k, old, old), new }, in: "edit blocks"},
		{name: "escaped twice", do: func(_ task, old, new string) (string, string) { return escaped(old), escaped(new) }},
		{name: "new escaped twice", lost: true, do: func(_ task, old, new string) (string, string) { return old, escaped(new) }},
		{name: "plain quotation marks and dashes", do: func(_ task, old, new string) (string, string) {
			return plainMarks.Replace(old), plainMarks.Replace(new)
		}},
		{name: "no newline at the end of new", do: func(_ task, old, new string) (string, string) { return old, strings.TrimSuffix(new, "\n") }},
		{name: "no newline at either end", do: func(_ task, old, new string) (string, string) {
			return strings.TrimSuffix(old, "\n"), strings.TrimSuffix(new, "\n")
		}},
		{name: "CRLF for LF", do: func(_ task, old, new string) (string, string) {
			return strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(new, "\n", "\r\n")
		}},
		{name: "in a fence, under the path", form: func(s string) string { return k.path + "\n```\n" + strings.TrimSuffix(s, "\n") + "\n```\n" }, in: "blocks patch whole"},
		{name: "amid prose", form: func(s string) string { return "This does it:\n\n```\n" + s + "```\n\nTell me if it does not.\n" }, in: "blocks patch"},
		{name: "as a unified diff, wrong line numbers", form: func(s string) string { return unified(k, s) }, in: "patch"},
		{name: "no Begin, no End", form: func(s string) string {
			return strings.TrimSuffix(strings.TrimPrefix(s, "*** Begin Patch\n"), "*** End Patch\n")
		}, in: "patch"},
		{name: "in a shell's here-document", form: func(s string) string { return "apply_patch <<'EOF'\n" + s + "EOF\n" }, in: "patch"},
		{name: "context without its blank", form: func(s string) string { return strings.ReplaceAll(s, "\n \t", "\n\t") }, in: "patch"},
		{name: "the place named after @@", form: func(s string) string { return strings.Replace(s, "@@\n", "@@ "+strings.Split(k.text, "\n")[0]+"\n", 1) }, in: "patch"},
		{name: "placeholder for what follows", lost: true, do: func(k task, old, new string) (string, string) {
			return old, strings.Split(new, "\n")[0] + "\n" + placeholder(k, "... rest of the code unchanged") + "\n"
		}},
		{name: "three points for the middle", lost: true, do: func(k task, old, new string) (string, string) {
			elide := func(s string) string {
				ls := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
				return ls[0] + "\n" + placeholder(k, "...") + "\n" + ls[len(ls)-1] + "\n"
			}
			return elide(old), elide(new)
		}, in: "edit blocks patch"},
		{name: "a line of the context has changed since", late: away(k)},
		{name: "the line to change has changed since", lost: true, late: func(text string) string {
			return strings.Replace(text, k.old, eachLine(k.old, func(i int, l string) string {
				if !strings.Contains(k.new, l+"\n") {
					return l + "2"
				}
				return l
			}), 1)
		}},
		{name: "last line cut within a word", lost: true, do: func(_ task, old, new string) (string, string) { return cut(old, 2), new }, in: "edit"},
		{name: "last line cut between words", lost: true, do: func(_ task, old, new string) (string, string) { return cutWord(old), new }, in: "edit"},
		{name: "a line of its own memory", lost: true, do: func(_ task, old, new string) (string, string) {
			bad := eachLine(old, func(i int, l string) string {
				if i == 0 {
					return l + " // as I remember it"
				}
				return l
			})
			return bad, new
		}, in: "edit blocks patch"},
		{name: "quoted twice in the file", lost: true, late: func(text string) string { return k.old + "\n" + text }, in: "edit blocks patch"},
		{name: "nothing to change", lost: true, do: func(_ task, old, _ string) (string, string) { return old, old }},
		{name: "nothing quoted", lost: true, do: func(_ task, _, new string) (string, string) { return "", new }, in: "edit blocks"},
	}
}

// cut takes the newline and n bytes off.
func cut(s string, n int) string {
	s = strings.TrimRight(s, "\n")
	for ; n > 0 || len(s) > 0 && !word(s[len(s)-1]); n-- {
		s = s[:len(s)-1]
	}
	return s
}

func cutWord(s string) string {
	s = strings.TrimRight(s, "\n")
	if i := strings.LastIndexByte(strings.TrimRight(s, " })];"), ' '); i > strings.LastIndexByte(s, '\n')+4 {
		return s[:i]
	}
	return cut(s, 2)
}

func word(c byte) bool { return c == '_' || c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'z' }

func placeholder(k task, words string) string {
	sign := "//"
	switch filepath.Ext(k.path) {
	case ".py", ".yaml", ".sh":
		sign = "#"
	case ".html", ".md":
		return "<!-- " + words + " rest of the document -->"
	}
	return sign + " " + words
}

// An attempt is one call of a tool.
type attempt struct {
	tool tools.Tool
	args any
}

// render writes an edit in a format; ok is false where it cannot be written.
func render(k task, s slip, format edit.Format) (a attempt, ok bool) {
	old, new := k.old, k.new
	if s.do != nil {
		old, new = s.do(k, old, new)
		if old == k.old && new == k.new {
			return a, false // nothing of this kind is in the task
		}
	}
	form := func(text string) string {
		if s.form == nil {
			return text
		}
		return s.form(text)
	}
	switch format {
	case edit.Edit:
		return attempt{edit.File, edit.Input{Path: k.path, Old: old, New: new}}, s.form == nil
	case edit.BlockFormat:
		nl := func(s string) string {
			if s != "" && !strings.HasSuffix(s, "\n") {
				s += "\n"
			}
			return s
		}
		text := form("<<<<<<< SEARCH\n" + nl(old) + "=======\n" + nl(new) + ">>>>>>> REPLACE\n")
		switch s.name {
		case "in a fence, under the path":
		case "amid prose":
			text = strings.Replace(text, "```\n<<", "```\n"+k.path+"\n<<", 1)
		default:
			text = k.path + "\n" + text
		}
		return attempt{edit.Blocks, edit.BlocksInput{Blocks: text}}, true
	case edit.PatchFormat:
		text := form("*** Begin Patch\n*** Update File: " + k.path + "\n@@\n" + diff(old, new) + "*** End Patch\n")
		return attempt{edit.Patch, edit.PatchInput{Patch: text}}, true
	}
	whole := strings.Replace(k.text, k.old, new, 1)
	switch s.name {
	case "line numbers":
		whole = eachLine(strings.Replace(k.text, k.old, k.new, 1), func(i int, l string) string { return fmt.Sprintf("%d\t%s", i+1, l) })
	case "escaped twice", "new escaped twice":
		whole = escaped(strings.Replace(k.text, k.old, k.new, 1))
	case "no newline at the end of new", "no newline at either end":
		whole = strings.TrimSuffix(strings.Replace(k.text, k.old, k.new, 1), "\n")
	case "CRLF for LF":
		whole = strings.ReplaceAll(strings.Replace(k.text, k.old, k.new, 1), "\n", "\r\n")
	case "nothing to change":
		return attempt{partstest.Tool("write_file"), map[string]string{"path": k.path, "content": whole}}, k.name != "javascript, no newline at the end"
	case "none", "placeholder for what follows", "in a fence, under the path",
		"a line of the context has changed since", "the line to change has changed since":
	default:
		return a, false
	}
	return attempt{partstest.Tool("write_file"), map[string]string{"path": k.path, "content": form(whole)}}, true
}

// diff writes lines as a patch does: shared ones at both ends are context.
func diff(old, new string) string {
	a, b := strings.Split(strings.TrimSuffix(old, "\n"), "\n"), strings.Split(strings.TrimSuffix(new, "\n"), "\n")
	var head, foot strings.Builder
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head.WriteString(" " + a[0] + "\n")
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		s := foot.String()
		foot.Reset()
		foot.WriteString(" " + a[len(a)-1] + "\n" + s)
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for _, l := range a {
		head.WriteString("-" + l + "\n")
	}
	for _, l := range b {
		head.WriteString("+" + l + "\n")
	}
	return head.String() + foot.String()
}

func unified(k task, s string) string {
	body := diff(k.old, k.new)
	return "diff --git a/" + k.path + " b/" + k.path + "\n--- a/" + k.path + "\n+++ b/" + k.path + "\n@@ -900,7 +901,9 @@ somewhere\n" + body
}

type tally struct{ n, landed, refused, needless, wrong int }

func (t tally) String() string {
	if t.n == 0 {
		return ""
	}
	var out []string
	for _, c := range []struct {
		n    int
		word string
	}{{t.landed, "landed"}, {t.refused, "refused"}, {t.needless, "refused needlessly"}, {t.wrong, "LANDED WRONGLY"}} {
		if c.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	return strings.Join(out, ", ")
}

func (t *tally) add(o tally) {
	t.n, t.landed, t.refused = t.n+o.n, t.landed+o.landed, t.refused+o.refused
	t.needless, t.wrong = t.needless+o.needless, t.wrong+o.wrong
}

// TestCorpus makes each edit with each slip in each format on real files and
// compares bytes: an edit lands as it was meant or leaves the file alone. The
// table in docs/dev/edits.md is made here.
func TestCorpus(t *testing.T) {
	var names []string
	rows := map[string]map[edit.Format]*tally{}
	sum := map[edit.Format]*tally{}
	total := 0
	for _, k := range corpus {
		if strings.Count(k.text, k.old) != 1 {
			t.Fatalf("%s: what is quoted is in the file %d times", k.name, strings.Count(k.text, k.old))
		}
		for _, s := range slips(k) {
			if rows[s.name] == nil {
				rows[s.name] = map[edit.Format]*tally{}
				names = append(names, s.name)
			}
			for _, format := range edit.Formats {
				if s.in != "" && !strings.Contains(s.in, string(format)) {
					continue
				}
				a, ok := render(k, s, format)
				if !ok || strings.Contains(s.name, "changed since") && (s.late == nil || s.late(k.text) == k.text) {
					continue
				}
				total++
				one := try(t, k, s, format, a)
				if rows[s.name][format] == nil {
					rows[s.name][format] = &tally{}
				}
				if sum[format] == nil {
					sum[format] = &tally{}
				}
				rows[s.name][format].add(one)
				sum[format].add(one)
			}
		}
	}
	if total < 120 {
		t.Errorf("only %d attempts; the corpus is meant to have many", total)
	}
	var b strings.Builder
	fmt.Fprintf(&b, head, total, len(corpus))
	b.WriteString("| slip | edit | blocks | patch | whole |\n|---|---|---|---|---|\n")
	row := func(name string, r map[edit.Format]*tally) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, f := range edit.Formats {
			if r[f] == nil {
				b.WriteString(" |")
				continue
			}
			fmt.Fprintf(&b, " %s |", r[f])
		}
		b.WriteByte('\n')
	}
	for _, n := range names {
		row(n, rows[n])
	}
	row("**all**", sum)
	got, err := os.ReadFile(docPage)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(got), ofCommits)
	b.WriteString("\n" + ofCommits + rest)
	if *update {
		if err := os.WriteFile(docPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(got) != b.String() {
		t.Errorf("docs/dev/edits.md is not what the code does: go test ./internal/builtin/edit -run Corpus -update, and look at what changed")
	}
}

const (
	docPage   = "../../../docs/dev/edits.md"
	ofCommits = "## Changes of real commits\n" // begins what TestCommits writes
)

const head = `# Edits that land

## Slips of models

Made by go test ./internal/builtin/edit -run Corpus -update; a test fails when it is stale.

%d attempts to edit: %d changes to files, each written in the four formats, each with the slips models make. Landed: the
file is what was meant, byte for byte. Refused: the file is untouched, the error gives the reason, and nobody could have known
what was meant. Refused needlessly: a person would have known. The test fails if one lands wrongly.

`

func try(t *testing.T, k task, s slip, format edit.Format, a attempt) tally {
	dir := t.TempDir()
	name := filepath.Join(dir, k.path)
	if err := os.WriteFile(name, k.bytes(k.text), 0o640); err != nil {
		t.Fatal(err)
	}
	files, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if _, err := files.ReadLines(k.path, 1, 1000); err != nil {
		t.Fatal(err)
	}
	text := k.text
	want := k.bytes(strings.Replace(k.text, k.old, k.new, 1))
	lost := s.lost
	if s.late != nil {
		text = s.late(k.text)
		if err := os.WriteFile(name, k.bytes(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if format == edit.WholeFormat {
			lost = true // what somebody else wrote would be gone
		} else if _, err := files.ReadLines(k.path, 1, 1000); err != nil {
			t.Fatal(err)
		}
		if !lost {
			mid := strings.TrimSuffix(strings.TrimPrefix(text, k.text[:strings.Index(k.text, k.old)]), k.text[strings.Index(k.text, k.old)+len(k.old):])
			want = k.bytes(strings.Replace(text, mid, s.late(k.new), 1))
		}
	}
	args, err := json.Marshal(a.args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.tool.Run(context.Background(), &tools.Env{Files: files}, args)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	untouched := bytes.Equal(got, k.bytes(text))
	switch {
	case untouched && s.name == "nothing to change":
		return tally{n: 1, refused: 1}
	case untouched && r.Failed && lost:
		return tally{n: 1, refused: 1}
	case lost && s.late == nil && s.do != nil && bytes.Equal(got, want) && !r.Failed:
		return tally{n: 1, landed: 1}
	case untouched && r.Failed:
		t.Logf("%s, %s, as %s: refused: %s", k.name, s.name, format, r.Text)
		return tally{n: 1, needless: 1}
	case !lost && !r.Failed && bytes.Equal(got, want):
		return tally{n: 1, landed: 1}
	}
	t.Errorf("%s, %s, as %s: landed wrongly\n%s\ngot\n%q\nwant\n%q", k.name, s.name, format, args, got, want)
	return tally{n: 1, wrong: 1}
}
