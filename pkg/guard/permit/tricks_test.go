package permit_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/guard/permit"
)

// tricks run canary, or set a trap for what runs next, in ways that have got
// past the approval of one agent or another.
var tricks = []string{
	"canary", "echo a;canary", "echo a\ncanary", "echo a&canary", "echo a|canary", "echo a||canary", "false||canary", "echo a&&canary",
	"echo $(canary)", "echo `canary`", "echo \"$(canary)\"", "echo \"`canary`\"", "echo ${x:-$(canary)}", "echo ${x:=$(canary)}", "echo $((`canary`))",
	"echo <(canary)", "echo >(canary)", "echo a > $(canary)", "echo <<E\n$(canary)\nE", "echo <<-E\n\t`canary`\nE", "echo <<<$(canary)",
	"(canary)", "{ canary; }", "((canary))", "( (canary) )", "! canary", "time canary", "coproc canary", "if canary; then :; fi", "while canary; do break; done",
	"until canary; do break; done", "for x in $(canary); do :; done", "case $(canary) in *) ;; esac", "case x in x) canary;; esac", "f() { canary; }; f",
	"function f { canary; }; f", "echo() { canary; }; echo x", "eval canary", "eval 'can''ary'", ". ./canary.sh", "source ./canary.sh", "exec canary", "command canary",
	"builtin eval canary", "env canary", "env -i canary", "env -S canary", "nohup canary", "nice canary", "timeout 1 canary", "xargs canary </dev/null",
	"echo x|xargs -I{} canary", "echo canary|sh", "echo canary|xargs -I{} {}", "sh -c canary", "sh -ec canary", "bash -c canary", "bash -lc canary", "sh<<E\ncanary\nE", "sh ./canary.sh",
	"find . -maxdepth 0 -exec canary ;", "find . -maxdepth 0 -exec canary \\;", "find . -maxdepth 0 -exec sh -c canary \\;",
	"x=canary;$x", "x=canary; echo; ${x}", "c\\anary", "'canary'", "\"can\"ary", "can$()ary", "c${z}anary", "${z}canary", "can''ary", "{canary,x}", "{\"canary\",x}", "$'canary'", "$'\\x63anary'", "$\"canary\"",
	"cat$IFS.", "canary$IFS", "IFS=,;x=canary,a;$x", "trap canary EXIT", "trap canary 0; echo hi", "alias echo=canary\necho", "PATH=. echo; canary.sh", "export PATH=.; echo", "enable -n echo; echo",
	"hash -p ./canary.sh echo; /usr/bin/env echo", "x='a[$(canary)]'; echo $((x))", "x='a[$(canary)]'; echo ${a[x]}", "x='a[$(canary)]'; [[ -v $x ]]", "[[ 'a[$(canary)]' -eq 0 ]]", "test -v 'a[$(canary)]'",
	"x='$(canary)'; echo ${x@P}", "printf -v 'a[$(canary)]' x", "read 'a[$(canary)]' </dev/null", "unset 'a[$(canary)]'", "let 'a[$(canary)]'", "declare -i 'x=a[$(canary)]'", "local x", "declare 'a[$(canary)]=1'", "export 'a[$(canary)]=1'",
	"mapfile -C canary -c 1 </dev/null", "PS4='$(canary)'; set -x; echo", "BASH_ENV=./canary.sh bash -c 'echo'", "ENV=./canary.sh sh -ic echo", "PROMPT_COMMAND=canary", "echo a #\ncanary", "echo a \\\n; canary", "echo '\n'; canary",
	"echo 'a'\"'\"'b'; canary", "echo \\\\; canary", "echo \"\\\"\"; canary", "echo a;;canary", "echo a & canary &", "echo\tcanary;canary", "echo a\r\ncanary", "echo \u00a0; canary", "echo\u2003; canary",
	"echo ${x/y/$(canary)}", "echo ${x:$(canary)}", "echo ${x[$(canary)]}", "echo ${!x}", "echo ${#x}", "echo a 2>&1 | tee x; canary", "echo a |& canary", "echo a &> x; canary",
	"[ \"$(canary)\" ]", "echo * $(canary)", "./can*ary.sh", "./canary.s?", "./canary.sh", "~/canary", "\"$PWD\"/canary.sh", "/bin/sh -c canary", "busybox canary", "doas canary", "sudo canary",
	"until false; do canary; break; done", "select x in a; do canary; break; done </dev/null", "echo a >x; sh x", "set -- canary; \"$@\"", "set -- canary; $1", "set -- canary; $*", "exec 3>&1; canary", "exec >x canary",
}

// plain are harmless pieces that a script of tricks may be mixed with.
var plain = []string{"echo a", "echo \"b c\"", "echo 'd'", "x=1", "echo $x", "echo a >/dev/null", "echo a 2>&1", ":", "true", "echo \"${x:-y}\"", "echo $((1+2))", "echo a | echo b", "cd .", "set -e", "echo \\\n b", "echo # c"}

var onlyEcho = permit.Rules{{Tool: "shell", Command: "echo *", Do: permit.Allow}}

// An allow for echo never lets a script through that runs another program:
// what is let through is run by the shells there are, in a place where every
// other program leaves a trace.
func TestOnlyEchoRunsOnlyEcho(t *testing.T) {
	for _, s := range tricks {
		if v := onlyEcho.Judge(shell(s)); v.Do == permit.Allow && s != "local x" && s != "echo ${#x}" {
			t.Errorf("let through: %q", s)
		}
	}
	for _, s := range plain {
		if v := onlyEcho.Judge(shell(s)); v.Do != permit.Allow {
			t.Errorf("not let through: %q: %s", s, v.Why)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	joins := []string{";", "\n", " && ", " || ", " | ", " & ", " ", "\\\n", "'", "\"", ")", "(", "{", "}", "$", "`", "#", "<", ">", "=", "\\"}
	ran := 0
	for range 20_000 {
		var b strings.Builder
		for n := 1 + r.IntN(4); n > 0; n-- {
			from := plain
			if r.IntN(2) == 0 {
				from = tricks
			}
			b.WriteString(from[r.IntN(len(from))])
			if n > 1 {
				b.WriteString(joins[r.IntN(len(joins))])
			}
		}
		s := b.String()
		if onlyEcho.Judge(shell(s)).Do != permit.Allow || !strings.Contains(s, "canary") && r.IntN(20) > 0 {
			continue
		}
		if ran++; ran <= 200 {
			leavesNoTrace(t, s)
		}
	}
	if ran < 20 {
		t.Errorf("only %d scripts were let through; the test shows nothing", ran)
	}
	t.Logf("%d scripts let through", ran)
}

func leavesNoTrace(t *testing.T, script string) {
	t.Helper()
	for _, sh := range []string{"sh", "dash", "bash"} {
		bin, err := exec.LookPath(sh)
		if err != nil {
			continue
		}
		dir := t.TempDir()
		trace := filepath.Join(dir, "trace")
		for _, name := range []string{"bin/canary", "canary.sh"} {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("#!/bin/sh\n: >"+trace+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), bin, "-c", script)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, []string{"PATH=" + filepath.Join(dir, "bin"), "HOME=" + dir}, time.Second
		_ = cmd.Run() // how it ends says nothing
		if _, err := os.Stat(trace); err == nil {
			t.Errorf("%s ran another program in: %q", sh, script)
		}
	}
}

// FuzzJudge: reading shell text never panics, gives the same verdict twice,
// and an allow for echo covers nothing that names the canary as a program.
func FuzzJudge(f *testing.F) {
	for _, s := range append(tricks, plain...) {
		f.Add(s)
	}
	rules := append(permit.Rules{{Command: "rm *", Do: permit.Deny}, {Path: "secret/**", Do: permit.Deny}, {Command: "git push", Do: permit.Ask}}, onlyEcho...)
	f.Fuzz(func(t *testing.T, s string) {
		one, two := rules.Judge(shell(s)), rules.Judge(shell(s))
		if one != two {
			t.Errorf("%q: %+v, then %+v", s, one, two)
		}
		rules.Propose(shell(s))
		if ok, _ := permit.Harmless(s+"\ncanary", "/w", nil); ok && !strings.ContainsAny(s, "#<\\'\"") {
			t.Errorf("harmless: %q", s+"\ncanary")
		}
		if onlyEcho.Judge(shell(s+"\ncanary")).Do == permit.Allow && !strings.ContainsAny(s, "#<\\'\"") {
			t.Errorf("let through: %q", s+"\ncanary")
		}
	})
}

// No trick is harmless, whatever it is mixed with.
func TestTricksAreNotHarmless(t *testing.T) {
	for _, s := range tricks {
		for _, text := range []string{s, "ls; " + s, s + "; ls", "cat a | " + s, "git status && " + s, "if true; then " + s + "\nfi"} {
			if ok, _ := permit.Harmless(text, "/w", nil); ok && strings.Contains(text, "canary") && !strings.Contains(text, "x=canary") {
				t.Errorf("harmless: %q", text)
			}
		}
	}
}
