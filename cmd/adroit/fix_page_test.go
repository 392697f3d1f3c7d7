package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The transcripts of docs/fix.md are what adroit prints: each line that is shown is
// printed, in that order; figures, ids and the sandbox of this machine aside.
func TestFixPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/fix.md")
	if err != nil {
		t.Fatal(err)
	}
	const none = "turns:\n  - error: {kind: auth, message: nobody may ask this model}\n"
	build := "grep -q right $1 && echo built && exit 0\necho \"$PWD/a.c:$$:1: error: it is wrong, at $(date +%T)\"\nexit 1\n"
	for _, c := range []struct {
		dir, command, turns string
		args                []string
		files               map[string]string
		before              func(p *place)
	}{
		{"cart", "go build ./...", "turns:\n  - calls: [{name: edit_file, args: {path: cart.go, old: a + c, new: a + b}}]\n  - calls: [{name: finish, args: {summary: b was meant.}}]\n",
			[]string{"go", "build", "./..."}, map[string]string{"go.mod": goMod, "cart.go": "package cart\n\n// Total adds.\nfunc Total(a, b int) int { return a + c }\n"}, nil},
		{"cart", "cmake -B build", "", []string{"cmake-x", "-B", "build"}, nil, nil},
		{"app", "sh build.sh ./a.txt", fixOnce, []string{"sh", "build.sh", "./a.txt"}, map[string]string{"a.txt": "one\ntwo\nthree\nwrong\n", "build.sh": build}, func(p *place) {
			p.ok(0, "fix", "-C", "../home/app", "--", "sh", "build.sh", "./a.txt")
			put(t, p.path("home/app/a.txt"), "above\none\ntwo\nthree\nwrong\n")
			put(t, p.path("home/none.yaml"), none)
			p.env = append(p.env, "ADROIT_MODEL=script:"+p.path("home/none.yaml"))
		}},
		{"shop", "sh check.sh", none, []string{"sh", "check.sh"}, map[string]string{"check.sh": "test -f stubs.txt && exit 0\necho \"stubs are out of date\"\nexit 3\n", "generate.sh": "echo stubs >stubs.txt\n",
			"../.config/adroit/problems/codegen.yaml": "detectors:\n  - {name: stale, pattern: stubs are out of date}\nstrategy:\n  - run: sh generate.sh\n"}, nil},
	} {
		t.Run(c.dir+" "+c.command, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"home/" + c.dir + "/.keep": ""}
			for name, text := range c.files {
				files["home/"+c.dir+"/"+name] = text
			}
			p := newPlace(t, files)
			p.env = append(p.env, "GOTOOLCHAIN=local", "GOFLAGS=", "GOPROXY=off")
			if c.turns != "" {
				put(t, p.path("home/turns.yaml"), c.turns)
				p.env = append(p.env, "ADROIT_MODEL=script:"+p.path("home/turns.yaml"))
			}
			if c.before != nil {
				c.before(p)
			}
			cmd, out := p.command(append([]string{"fix", "--"}, c.args...)...)
			cmd.Dir = p.path("home/" + c.dir)
			_ = cmd.Run() // the text says how it went
			printed := strings.Split(plainLines(strings.NewReplacer("cmake-x", "cmake", p.path("home"), "~", "turns.yaml", "T", "none.yaml", "T").Replace(out.String())), "\n")
			_, rest, ok := strings.Cut(string(page), "$ adroit fix -- "+c.command+"\n")
			shown, _, _ := strings.Cut(rest, "```")
			if !ok {
				t.Fatal("docs/fix.md does not have it")
			}
			at := 0
			for line := range strings.Lines(plainLines(strings.NewReplacer("turns.yaml", "T", "none.yaml", "T").Replace(shown))) {
				line = strings.TrimSuffix(line, "\n")
				for at < len(printed) && printed[at] != line {
					at++
				}
				if at++; at > len(printed) {
					t.Fatalf("docs/fix.md shows a line that is not printed, or not there:\n%s\n\n%s", line, out)
				}
			}
		})
	}
}

var (
	pageIDs     = regexp.MustCompile(`\bJ1[0-9A-Z]{12}\b`)
	pageFigures = regexp.MustCompile(`\d+(\.\d+)?s?`)
	pageSandbox = regexp.MustCompile(`sandbox \w+`)
)

// plainLines are lines without what differs from one run to the next.
func plainLines(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		line = pageSandbox.ReplaceAllString(pageFigures.ReplaceAllString(pageIDs.ReplaceAllString(line, "JOB"), "0"), "sandbox")
		fields := strings.Fields(line)
		for len(fields) > 0 && fields[len(fields)-1] == "0" {
			fields = fields[:len(fields)-1] // how long it took, where it took long
		}
		out = append(out, strings.Join(fields, " "))
	}
	return strings.Join(out, "\n")
}
