package git_test

import (
	"testing"

	"github.com/adroit-run/adroit/internal/tools/git"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func TestShowAndBlameConform(t *testing.T) { toolstest.Check(t, git.Show, git.Blame) }

func TestShowAndBlame(t *testing.T) {
	r := open(t)
	r.write("a.txt", "one\n2\n")
	r.git("commit", "-qam", "Second\n\nWhy")
	r.says(r.call(git.Show, `{}`), false, "A: Second", "Why", "-two", "+2")
	r.says(r.call(git.Show, `{"commit":"HEAD~1","paths":["a.txt"]}`), false, "A: Start", "+two")
	r.says(r.call(git.Show, `{"commit":"HEAD","paths":["nope.txt"]}`), false, "changed nothing")
	r.says(r.call(git.Show, `{"commit":"--output=x"}`), true, "option")
	r.says(r.call(git.Show, `{"commit":"nonsense"}`), true, "git_log")
	r.write("a.txt", "one\n2\nthree\n")
	r.says(r.call(git.Blame, `{"path":"a.txt"}`), false, "A Start\t1\tone", "A Second\t2\t2", "not committed\t3\tthree")
	r.says(r.call(git.Blame, `{"path":"a.txt","from":2,"lines":1}`), false, "\t2\t2")
	r.says(r.call(git.Blame, `{"path":"a.txt","from":9}`), true, "3 lines")
	r.says(r.call(git.Blame, `{"path":"--contents=x"}`), true, "option")
	r.says(r.call(git.Blame, `{"path":".env"}`), true, "secrets")
}
