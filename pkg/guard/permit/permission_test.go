package permit_test

import (
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"golang.org/x/text/unicode/norm"
)

func shell(script string) permit.Call {
	return permit.Call{Agent: "hand", Tool: "shell", Shell: true, Script: script, Default: permit.Ask}
}

// What an allow for some commands allows, and what it does not.
func TestAllow(t *testing.T) {
	rules := permit.Rules{
		{Tool: "shell", Command: "go test *", Do: permit.Allow},
		{Tool: "shell", Command: "git status", Do: permit.Allow},
		{Tool: "shell", Command: "echo *", Do: permit.Allow},
		{Tool: "shell", Command: "cat *", Do: permit.Allow},
		{Tool: "shell", Command: "rg *", Do: permit.Allow},
		{Tool: "shell", Command: "sed *", Do: permit.Allow},
		{Tool: "shell", Command: "find *", Do: permit.Allow},
		{Tool: "shell", Path: "out/**", Do: permit.Allow},
	}
	for script, want := range map[string]permit.Do{
		`go test ./...`:                                          permit.Allow,
		`go  test   "./..." -run 'TestX'`:                        permit.Allow,
		"go test ./... && git status || echo no; echo ok":        permit.Allow,
		"cd sub && cat a":                                        permit.Allow,
		"cd . && go test ./...":                                  permit.Allow,
		"cd sub && go test ./...":                                permit.Ask,
		"set -e\n# a comment\nfor f in a b; do cat \"$f\"; done": permit.Allow,
		"timeout -s KILL 60 nice -n 5 go test ./...":             permit.Allow,
		"sh -c 'go test ./... | cat'":                            permit.Allow,
		"go test ./... 2>&1 >/dev/null":                          permit.Allow,
		"echo hi >out/report.txt":                                permit.Allow,
		"CGO_ENABLED=0 go test ./...":                            permit.Allow,
		"find . -name '*.go' -exec cat {} +":                     permit.Allow,
		"echo a | xargs cat":                                     permit.Allow,
		"sed -n 1,20p a.go":                                      permit.Allow,
		"echo $(cat a)":                                          permit.Allow,
		strings.Repeat("echo x; ", 4000):                         permit.Allow,
		strings.Repeat("echo x; ", 4000) + "rm x":                permit.Ask,
		"go build ./...":                                         permit.Ask,
		"git status -s":                                          permit.Ask,
		"go test ./... && rm x":                                  permit.Ask,
		"go test ./... -exec=./evil":                             permit.Ask,
		"go test -toolexec ./evil ./...":                         permit.Ask,
		"./go test ./...":                                        permit.Ask,
		"/tmp/go test":                                           permit.Ask,
		"find . -exec rm {} ;":                                   permit.Ask,
		`find . -exec rm {} \;`:                                  permit.Ask,
		"find . -delete":                                         permit.Ask,
		"find . -execdir sh -c 'touch x' \\;":                    permit.Ask,
		"rg --pre ./evil x":                                      permit.Ask,
		"rg --pre=./evil x":                                      permit.Ask,
		"rg $X x":                                                permit.Ask,
		"sed 's/x/id/e' a":                                       permit.Ask,
		"sed -n '1e id' a":                                       permit.Ask,
		"sed 'w .git/hooks/pre-commit' a":                        permit.Ask,
		"echo hi >.adroit/agents/x.md":                           permit.Ask,
		"echo hi >out/../.adroit/x":                              permit.Ask,
		"cd .git && echo x >out/x":                               permit.Ask,
		"echo x >$HOME/.bashrc":                                  permit.Ask,
		"cat < /dev/tcp/10.0.0.1/80":                             permit.Ask,
		"export PATH=. && go test":                               permit.Ask,
		"LD_PRELOAD=./x.so go test":                              permit.Ask,
		"GIT_PAGER='sh -c id' git status":                        permit.Ask,
		"BASH_ENV=./x sh -c 'echo hi'":                           permit.Ask,
		"env GIT_EXTERNAL_DIFF=./x git status":                   permit.Ask,
		"env -S 'rm x'":                                          permit.Ask,
		"IFS=x; echo hi":                                         permit.Ask,
		"for PATH in .; do go test; done":                        permit.Ask,
		"read PATH; go test":                                     permit.Ask,
		"sudo go test ./...":                                     permit.Ask,
		"echo " + strings.Repeat("x", 70_000):                    permit.Ask,
		"if true; then echo a; else touch b; fi":                 permit.Ask,
		"f() { touch x; }; f":                                    permit.Ask,
		"while false; do touch x; done":                          permit.Ask,
		"case x in y) touch x;; esac":                            permit.Ask,
	} {
		if got := rules.Judge(shell(script)); got.Do != want {
			t.Errorf("%s: %s (%s), want %s", short(script), got.Do, got.Why, want)
		}
	}
}

func short(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// A denial finds the program wherever it stands and however it is written.
func TestDeny(t *testing.T) {
	rules := permit.Rules{
		{Tool: "shell", Do: permit.Allow},
		{Tool: "shell", Command: "rm *", Do: permit.Deny, Why: "nothing is deleted here"},
		{Tool: "shell", Command: "git push *", Do: permit.Deny},
		{Path: "deploy/**", Do: permit.Deny},
	}
	for _, script := range []string{
		"rm x", "rm", "/bin/rm x", `r\m x`, `"rm" x`, "'r'm x", "sudo rm x", "env A_b=1 rm x", "true && rm x", "(rm x)", "{ rm x; }", "$(rm x)", "`rm x`",
		"echo \"$(rm x)\"", "xargs rm", "find . -exec rm {} +", "sh -c 'rm x'", "sh -c \"sh -c 'rm x'\"", "nohup rm x &", "! rm x", "f() { rm x; }",
		"cat <<E\n$(rm x)\nE", "((rm x))", "eval 'rm x'", "x=rm; $x -rf .", "timeout 5 rm x", "command rm x", "busybox rm x",
		"git push", "git push origin main", "git -C . push", "git -c a.b=c push --force", "git --no-pager push",
		"cat deploy/key", "cat ./deploy/key", "cat Deploy/key", "echo x >deploy/a", "cat <deploy/a", "tar --file=deploy/a x", "cat deploy",
		strings.Repeat(":;", 20_000) + "rm x", strings.Repeat(":;", 50_000) + "rm x",
	} {
		if got := rules.Judge(shell(script)); got.Do != permit.Deny || got.Why == "" {
			t.Errorf("%s: %s (%s)", short(script), got.Do, got.Why)
		}
	}
	for _, script := range []string{"rmdir x", "echo rm x", "git pull", "git log --oneline", "cat deployment.md", "echo x >a/b"} {
		if got := rules.Judge(shell(script)); got.Do != permit.Allow {
			t.Errorf("%s: %s (%s)", short(script), got.Do, got.Why)
		}
	}
	// A word that is known only at run time may be what is denied.
	if got := rules.Judge(shell("git $what")); got.Do != permit.Ask {
		t.Errorf("git $what: %s (%s)", got.Do, got.Why)
	}
}

// Whatever their order, deny wins over ask, ask over allow, all over the
// default.
func TestPrecedence(t *testing.T) {
	allow := permit.Rule{Tool: "write_*", Path: "docs", Do: permit.Allow}
	ask := permit.Rule{Tool: "write_file", Path: "docs/api.md", Do: permit.Ask, Why: "others read it"}
	deny := permit.Rule{Agent: "junior", Path: "*.pem", Do: permit.Deny}
	for _, rules := range []permit.Rules{{allow, ask, deny}, {deny, ask, allow}, {ask, deny, allow}} {
		for _, c := range []struct {
			agent, tool string
			paths       []string
			def, want   permit.Do
		}{
			{"a", "write_file", []string{"docs/x.md"}, permit.Ask, permit.Allow},
			{"a", "write_file", []string{"docs/x.md", "src/x.go"}, permit.Ask, permit.Ask},
			{"a", "write_file", []string{"docs/../src/x.go"}, permit.Ask, permit.Ask},
			{"a", "write_file", []string{"docs/x.md", "../x"}, permit.Ask, permit.Ask},
			{"a", "write_file", []string{"docs/api.md"}, permit.Allow, permit.Ask},
			{"a", "read_file", []string{"docs/api.md"}, permit.Allow, permit.Allow},
			{"a", "read_file", nil, permit.Ask, permit.Ask},
			{"junior", "read_file", []string{"docs/key.pem"}, permit.Allow, permit.Deny},
			{"junior", "write_file", []string{"docs/KEY.PEM"}, permit.Allow, permit.Deny},
			{"a", "read_file", []string{"docs/key.pem"}, permit.Allow, permit.Allow},
		} {
			got := rules.Judge(permit.Call{Agent: c.agent, Tool: c.tool, Paths: c.paths, Default: c.def})
			if got.Do != c.want {
				t.Errorf("%s %s %v: %s, want %s", c.agent, c.tool, c.paths, got.Do, c.want)
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	if got := (permit.Rules{}).Judge(permit.Call{Tool: "shell", Shell: true, Script: "eval x", Default: permit.Allow}); got.Do != permit.Allow {
		t.Errorf("without rules the default decides: %+v", got)
	}
	// Where rules guard commands, text that cannot be read is not let through.
	guarded := permit.Rules{{Command: "rm *", Do: permit.Deny}}
	if got := guarded.Judge(permit.Call{Tool: "shell", Shell: true, Script: "$a$b x", Default: permit.Allow}); got.Do != permit.Ask {
		t.Errorf("guarded: %+v", got)
	}
	if why := guarded.Bars("a", "read_file", "x"); why != "" {
		t.Errorf("a rule about commands bars no path: %s", why)
	}
	if _, denied := (permit.Rules{{Tool: "shell", Do: permit.Deny}}).Denies("a", "shell"); !denied {
		t.Error("a tool that is denied whole is not offered")
	}
}

func TestPropose(t *testing.T) {
	for script, want := range map[string]string{
		"go vet ./...":        "go vet *",
		"make":                "make",
		"rm -rf build":        "rm -rf build",
		"cd sub && npm test":  "",
		"cd sub && cat a":     "cat a",
		"a; b":                "",
		"eval x":              "",
		"echo x >y":           "",
		"go test -exec ./e .": "",
		`echo "a b"`:          "",
		"echo $HOME":          "",
	} {
		r, ok := permit.Rules{}.Propose(shell(script))
		if ok != (want != "") || r.Command != want {
			t.Errorf("%s: %q %v, want %q", script, r.Command, ok, want)
		}
		if ok {
			if v := (permit.Rules{r}).Judge(shell(script)); v.Do != permit.Allow {
				t.Errorf("%s: its own rule does not allow it: %s", script, v.Why)
			}
		}
	}
}

// backwards reports whether a pattern may have a range such as z-a, which for package path has no
// character, and for git and for us its first one.
func backwards(pattern string) bool {
	rs := []rune(pattern)
	for i := 1; i+1 < len(rs); i++ {
		if rs[i] == '-' && rs[i-1] > rs[i+1] {
			return true
		}
	}
	return false
}

// A rule that denies a path denies that path, and what is below it, whatever is in its name.
func TestDeniedPathsMeanThemselves(t *testing.T) {
	seed := testenv.Seed(t)
	r := rand.New(rand.NewPCG(seed, 28))
	for range 10000 {
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			for range 1 + r.IntN(5) {
				parts[i] += string([]rune("abB[]{}*?!^-,.\\( ~$é\u0301Z_")[r.IntN(23)])
			}
		}
		p := strings.Join(parts, "/")
		rule := permit.Rule{Path: p, Do: permit.Deny, Why: "w"}
		p = path.Clean(p)
		if strings.HasPrefix(p, "..") || rule.Check() != nil {
			continue
		}
		names := []string{p, path.Join(p, "x"), path.Join(p, "x/y"), norm.NFC.String(p), norm.NFD.String(p)}
		for _, name := range []string{"a", "_", "é", "e\u0301", "Zé"} { // as it is written
			if ok, _ := path.Match(strings.ReplaceAll(p, "[!", "[^"), name); ok && !backwards(p) { // package path knows ^ alone
				names = append(names, name, norm.NFD.String(name)+"/x")
			}
		}
		for _, name := range names {
			if v := (permit.Rules{rule}).Judge(permit.Call{Agent: "hand", Tool: "edit_file", Paths: []string{name}, Default: permit.Allow}); v.Do != permit.Deny {
				t.Fatalf("seed %d: a rule for %q has %s for %q", seed, rule.Path, v.Do, name)
			}
		}
	}
}
