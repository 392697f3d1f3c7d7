package agents_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/agents"
)

// FuzzSkill reads whatever lies in a SKILL.md: it is a skill that can be named,
// or there is a problem that says why not.
func FuzzSkill(f *testing.F) {
	for _, s := range []string{
		"", "---\n", "---\nname: a\ndescription: d\n---\nDo.", "---\nname: [a\n---\n", "---\nname: a\nname: b\ndescription: d\n---\nx",
		"---\ndescription: x: y\nname: a\n---\nx", "---\n- a\n---\nx", "\ufeff---\r\nname: a\r\ndescription: d\r\n---\r\nDo.\r\n", "---\nname: *a\n---\nx",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		list, ps := agents.LoadSkills(agents.Layer{Name: "x", FS: fstest.MapFS{"a/SKILL.md": file(src)}, Dir: "d"})
		if len(list) == 0 {
			if ps.Err() == nil {
				t.Errorf("no skill and no error for %q: %s", src, lines(ps))
			}
			return
		}
		s := list[0]
		switch {
		case s.Name == "":
			t.Errorf(`s.Name is "": %q becomes %+v with %s`, src, s, lines(ps))
		case s.Description == "":
			t.Errorf(`s.Description is "": %q becomes %+v with %s`, src, s, lines(ps))
		case s.Body == "":
			t.Errorf(`s.Body is "": %q becomes %+v with %s`, src, s, lines(ps))
		case !utf8.ValidString(s.Body):
			t.Errorf("utf8.ValidString(s.Body) is false: %q becomes %+v with %s", src, s, lines(ps))
		case strings.ContainsRune(s.Body, 0):
			t.Errorf("strings.ContainsRune(s.Body, 0) is true: %q becomes %+v with %s", src, s, lines(ps))
		case ps.Err() != nil:
			t.Errorf("ps.Err() is not nil: %q becomes %+v with %s", src, s, lines(ps))
		}
	})
}

// FuzzWords cuts whatever a project says to a budget.
func FuzzWords(f *testing.F) {
	f.Add("# a\nb\n# c\nd\n", 5)
	f.Add("é\n```\n# x\n```\n</project>", 3)
	f.Fuzz(func(t *testing.T, src string, budget int) {
		p, ps := agents.ReadProject(fstest.MapFS{"AGENTS.md": file(src), "a/AGENTS.md": file(src)}, "/w", []string{"AGENTS.md", "a/AGENTS.md"}, all, budget)
		if !utf8.ValidString(p.Text) {
			t.Errorf("%q cut to %d is %q", src, budget, p.Text)
		}
		if budget > 0 {
			if head, _, _ := strings.Cut(p.Text, "\n["); len(p.Text) > budget && len(head) > budget && !strings.Contains(src, "\n[") {
				t.Errorf("%q has more than %d bytes", p.Text, budget)
			}
		}
		for _, s := range p.Says {
			if strings.Count(s.Text, "</project") != 1 {
				t.Errorf("the mark is broken by %q", s.Text)
			}
		}
		if !utf8.ValidString(src) && p.File != "" && ps == nil {
			t.Errorf("%q is no text", src)
		}
	})
}
