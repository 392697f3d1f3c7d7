package permit_test

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/guard/permit"
)

// Text made to exhaust what reads it is judged in time and in bounded
// memory, and is not allowed.
func TestExhausting(t *testing.T) {
	rules := permit.Rules{{Command: "echo *", Do: permit.Allow}, {Command: "rm * * * x", Do: permit.Deny}, {Command: "git push", Do: permit.Deny}}
	for _, piece := range []string{"(", "$(", "`", "\\`", "{ ", "if ", "! ", "\"$(", "${x:-", "$((", "case x in x) ", "while ", "f() ", "<(", "find -exec ", "env ", "rm - - ", "git -a ", "[[ ( ", "sh -c '", "xargs sh -c \""} {
		for _, n := range []int{100, (63 << 10) / len(piece)} {
			v := rules.Judge(shell(strings.Repeat(piece, n)))
			if v.Do == permit.Allow {
				t.Errorf("%q, %d times, is allowed", piece, n)
			}
		}
	}
}
