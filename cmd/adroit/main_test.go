package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/parts"
)

func TestMain(m *testing.M) {
	// Built with -race, a program sleeps for a second before it exits.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	testscript.Main(tidy{m}, map[string]func(){"adroit": looped, "xdg-open": visit, "notes-mcp": notesServer})
}

// looped is main with every command's calls through the interface of pkg/api.
func looped() {
	recordHints(os.Getenv("TEST_HINTS"))
	through := api.Loopback
	if os.Getenv("TEST_PANIC_AT") != "" || os.Getenv("TEST_NO_FILES") != "" {
		through = func(c adroit.Client) adroit.Client { return broken{api.Loopback(c)} }
	}
	p := cli.Program{Parts: parts.All(), Through: through}
	if os.Getenv("TEST_TOOLS") == "twice" { // a program whose tools do not fit together
		p.Tools = adroit.ToolsOf(p.Parts[:1])
	}
	p.Main()
}

// A broken client panics for one message. Its agents are values of a program, without files.
type broken struct{ adroit.Client }

func (b broken) ShowAgent(ctx context.Context, n adroit.Named) (*adroit.AgentInfo, error) {
	a, err := b.Client.ShowAgent(ctx, n)
	if a != nil {
		a.Source = ""
	}
	return a, err
}

func (b broken) Send(ctx context.Context, ref string, m executor.Message) (*jobs.Job, error) {
	if m.Text == os.Getenv("TEST_PANIC_AT") {
		panic("a defect")
	}
	return b.Client.Send(ctx, ref, m)
}

// visit is a browser without a person.
func visit() {
	r, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = r.Body.Close()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob("testdata/*.txt")
	dirtest.Must(t, err)
	testscript.Run(t, withHints(t, testscript.Params{
		Files:               slices.DeleteFunc(all, func(file string) bool { return !testenv.Chosen(t, 1, file) }),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setup(t, env) },
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"code": code, "hint": runHint},
		Condition:           has(os.Getenv("PATH")),
	}))
}

// seldom is the GOGC of the programs that a test starts: they live for a second and would
// take a sixth of it for garbage collection. Commands of jobs do not get it.
const seldom = "400"

// setup gives a script a home and a data directory of its own.
func setup(t *testing.T, env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	for k, v := range map[string]string{
		"HOME": home, "ADROIT_HOME": filepath.Join(env.WorkDir, "data"),
		// Nothing listens there: a test must not find the Ollama of this machine.
		"OLLAMA_HOST": "127.0.0.1:9",
		"GOCACHE":     goCache(t),
		"GOGC":        seldom,
		"GOFLAGS":     "", "GOTOOLCHAIN": "local", "GOCOVERDIR": os.Getenv("GOCOVERDIR"), "GORACE": os.Getenv("GORACE"),
	} {
		env.Setenv(k, v)
	}
	return nil
}

// has gives the condition [has:ffmpeg]: whether a program is in one of the
// directories. In CI, which installs what scripts need, one that is missing fails
// the script instead.
func has(path string) func(string) (bool, error) {
	return func(cond string) (bool, error) {
		program, ok := strings.CutPrefix(cond, "has:")
		if !ok {
			return false, fmt.Errorf("unknown condition %q; a program is [has:NAME]", cond)
		}
		for _, dir := range filepath.SplitList(path) {
			if _, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
				return true, nil
			}
		}
		if os.Getenv("CI") != "" {
			return false, fmt.Errorf("%s is not installed; .ci/run installs it", program)
		}
		return false, nil
	}
}

// code runs a command and checks its exit code: code 3 adroit run …
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// runHint runs a command that the last one printed, as it was printed, and checks its
// exit code: hint 0 'adroit jobs undo J[^ ]+'. What stands for something that a person
// writes is given behind it: hint 0 'adroit answer deny J[^ ]+ WHY' WHY='not now'.
func runHint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: hint N REGEXP [WORD=TEXT...]")
	}
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	printed := ""
	for l := range strings.Lines(ts.ReadFile("stderr") + ts.ReadFile("stdout")) {
		if printed = re.FindString(strings.TrimSpace(l)); printed != "" {
			break
		}
	}
	if printed == "" {
		ts.Fatalf("no command that matches %s was printed", args[1])
	}
	for _, a := range args[2:] {
		word, text, ok := strings.Cut(a, "=")
		words := strings.Split(printed, " ")
		i := slices.Index(words, word)
		if !ok || i < 0 {
			ts.Fatalf("%s has no %s", printed, word)
		}
		words[i] = hint.Quote(text)
		printed = strings.Join(words, " ")
	}
	ts.Logf("> %s", printed)
	code(ts, false, []string{args[0], "bash", "-c", printed})
}

// goCache returns the build cache of whoever runs the tests: with an empty one,
// the first go test of a job compiles the standard library.
func goCache(t *testing.T) string {
	t.Helper()
	dir, err := findGoCache()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var findGoCache = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(out)), err
})
