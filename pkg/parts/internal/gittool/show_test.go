package gittool_test

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/parts/internal/gittool"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func TestShowAndBlameConform(t *testing.T) { toolstest.Check(t, gittool.Show, gittool.Blame) }

func TestShowAndBlame(t *testing.T) {
	r := open(t)
	r.write("a.txt", "one\n2\n")
	r.git("commit", "-qam", "Second\n\nWhy")
	r.says(r.call(gittool.Show, `{}`), false, "A: Second", "Why", "-two", "+2")
	r.says(r.call(gittool.Show, `{"commit":"HEAD~1","paths":["a.txt"]}`), false, "A: Start", "+two")
	r.says(r.call(gittool.Show, `{"commit":"HEAD","paths":["nope.txt"]}`), false, "changed nothing")
	r.says(r.call(gittool.Show, `{"commit":"--output=x"}`), true, "option")
	r.says(r.call(gittool.Show, `{"commit":"nonsense"}`), true, "git_log")
	r.write("a.txt", "one\n2\nthree\n")
	r.says(r.call(gittool.Blame, `{"path":"a.txt"}`), false, "A Start\t1\tone", "A Second\t2\t2", "not committed\t3\tthree")
	r.says(r.call(gittool.Blame, `{"path":"a.txt","from":2,"lines":1}`), false, "\t2\t2")
	r.says(r.call(gittool.Blame, `{"path":"a.txt","from":9}`), true, "3 lines")
	r.says(r.call(gittool.Blame, `{"path":"--contents=x"}`), true, "option")
	r.says(r.call(gittool.Blame, `{"path":".env"}`), true, "secrets")
}
