package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/hint/hinttest"
)

// A madeHint is a command that adroit made in a script, and where it made it.
type madeHint struct {
	Template, Command, Dir string
	Env                    []string
}

// recordHints writes each command that this program makes to file.
func recordHints(file string) {
	if file == "" {
		return
	}
	var made sync.Map
	hint.Record(func(template, command string) {
		if _, again := made.LoadOrStore(command, true); again {
			return
		}
		dir, err := os.Getwd()
		if err != nil {
			return // it has been removed
		}
		b, err := json.Marshal(madeHint{template, command, dir, os.Environ()})
		if err != nil {
			panic(err)
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return // the script has ended
		}
		defer f.Close()
		_, _ = f.Write(append(b, '\n')) // a full disk is what some scripts are about
	})
}

// hintRuns counts the runs of templates, by template and by script and template.
var hintRuns = struct {
	sync.Mutex
	n map[string]int
}{n: map[string]int{}}

// firstHere reports whether what a script printed is to be run: once in a script, for one
// pair in four of script and template, which ADROIT_SEED chooses, and for each in
// make night. A template that has not been run yet is too: in which script depends on which is the first to print it, so that one more pair is run,
// never one less. What fails does so again when its script is run alone, since each
// template is then run where it is printed first.
func firstHere(seed uint64, script, template string) bool {
	hintRuns.Lock()
	defer hintRuns.Unlock()
	at := script + "\x00" + template
	drawn := fnv.New64a()
	fmt.Fprint(drawn, seed, at)
	chosen := drawn.Sum64()%4 == 0 || testenv.Night()
	if hintRuns.n[at] > 0 || hintRuns.n[template] > 0 && !chosen {
		return false
	}
	hintRuns.n[at]++
	hintRuns.n[template]++
	return true
}

// A template that no script prints is on the list, with the test that runs it, here or in a module whose
// commands no script has, and no other is.
// everything is whether each script was run.
func unrunHints(everything bool) (wrong []string) {
	listed, err := os.ReadFile(filepath.Join("testdata", "hints", "unrun"))
	if err != nil {
		return []string{err.Error()}
	}
	why := map[string]bool{}
	for l := range strings.Lines(string(listed)) {
		template, reason, ok := strings.Cut(strings.TrimSpace(l), " # ")
		name, dir, _ := strings.Cut(strings.TrimSpace(reason), " of ")
		if !ok || !hasTest(filepath.Join("../..", cmp.Or(dir, "cmd/adroit")), name) {
			wrong = append(wrong, "testdata/hints/unrun: no test that runs it in "+l)
		}
		why[strings.TrimSpace(template)] = true
	}
	templates, err := hinttest.Templates("../..")
	if err != nil {
		return append(wrong, err.Error())
	}
	all := map[string]bool{}
	for _, h := range templates {
		if all[h.Text] = true; everything && hintRuns.n[h.Text] == 0 && !why[h.Text] {
			wrong = append(wrong, fmt.Sprintf("%s: no script prints %q: have one do so, or write the test that runs it into testdata/hints/unrun", h.At, h.Text))
		}
	}
	for text := range why {
		if !all[text] {
			wrong = append(wrong, fmt.Sprintf("testdata/hints/unrun: %q is printed no more: take it from the list", text))
		}
	}
	run := 0
	for text := range all {
		if hintRuns.n[text] > 0 {
			run++
		}
	}
	fmt.Printf("hints: %d templates, %d run where they were printed, %d in other tests\n", len(all), run, len(why))
	slices.Sort(wrong)
	return wrong
}

// hasTest reports whether the package in dir has the test.
func hasTest(dir, name string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is well formed
	return slices.ContainsFunc(files, func(f string) bool {
		b, err := os.ReadFile(f)
		return err == nil && bytes.Contains(b, []byte("func "+name+"(t *testing.T)"))
	})
}

// allScripts reports whether this run of tests has all that print hints.
func allScripts() bool {
	if os.Getenv("GH_BIN") == "" || os.Getenv("MCP_SERVERS") == "" {
		return false
	}
	for _, name := range []string{"test.run", "test.skip"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short() && !testenv.Brief()
}

var execAdroit = regexp.MustCompile(`(?m)^((?:\[[^\]]*\] )*(?:! )?)exec (adroit .*[^&\n])$`)

// withHints has scripts run the commands that they print, each in a copy of the script's
// directory as it was when it was printed: what it says has to come true there.
func withHints(t *testing.T, p testscript.Params) testscript.Params {
	if why := noCopies(); why != "" {
		if os.Getenv("CI") != "" {
			t.Fatalf("printed commands cannot be run here: %s", why)
		}
		fmt.Printf("hints: no printed command is run: %s\n", why)
		return p
	}
	seed := testenv.Seed(t)
	to := t.TempDir()
	if p.Dir != "" {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.txt"))
		dirtest.Must(t, err)
		p.Dir, p.Files = "", files
	}
	for i, f := range p.Files {
		b, err := os.ReadFile(f)
		dirtest.Must(t, err)
		p.Files[i] = filepath.Join(to, filepath.Base(f))
		dirtest.Must(t, os.WriteFile(p.Files[i], execAdroit.ReplaceAll(b, []byte("${1}ran $2")), 0o600))
	}
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("TEST_HINTS", env.WorkDir+".hints")
		return setup(env)
	}
	p.Cmds = maps.Clone(p.Cmds)
	p.Cmds["ran"] = ran
	for _, name := range []string{"code", "hint", "ran"} {
		cmd := p.Cmds[name]
		p.Cmds[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			cmd(ts, neg, args)
			runPrinted(t, ts, seed)
		}
	}
	return p
}

// ran is exec.
func ran(ts *testscript.TestScript, neg bool, args []string) {
	if err := ts.Exec(args[0], args[1:]...); (err != nil) != neg {
		ts.Fatalf("unexpected: %v", err)
	}
}

// runPrinted runs what the last command of a script printed.
func runPrinted(t *testing.T, ts *testscript.TestScript, seed uint64) {
	b, err := os.ReadFile(ts.Getenv("TEST_HINTS"))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	ts.Check(err)
	var made []madeHint
	for l := range bytes.Lines(b) {
		var m madeHint
		if json.Unmarshal(l, &m) == nil { // one that is written at this moment is not whole
			made = append(made, m)
		}
	}
	slices.SortStableFunc(made, func(a, b madeHint) int { return len(b.Command) - len(a.Command) })
	printed := ts.ReadFile("stdout") + "\n" + ts.ReadFile("stderr")
	for _, m := range made {
		before, after, ok := strings.Cut(printed, m.Command)
		if !ok {
			continue
		}
		printed = before + "\n" + after
		if !firstHere(seed, ts.Name(), m.Template) {
			continue
		}
		if set := lastWord.FindString(before); set != "" { // ADROIT_CONFIG=/dev/null adroit config
			m.Env = append(m.Env, strings.TrimSpace(set))
		}
		if why := m.run(ts.Getenv("WORK")); why != "" {
			t.Errorf("%s prints a command that does not do there what it says: %s: %s", ts.Name(), m.Command, why)
		}
	}
}

var lastWord = regexp.MustCompile(`[A-Z_]+=[^ \n]+ $`)

// asTyped replaces the placeholders of a template by words that a person types.
func (m madeHint) asTyped() string {
	command := m.Command
	of := hintWords[m.Template]
	for _, word := range strings.Split(m.Template, " ") {
		text, ok := of[word]
		if !ok {
			text, ok = standsFor[word]
		}
		if i := strings.LastIndex(command, " "+word) + 1; ok && i > 0 {
			command = command[:i] + text + command[i+len(word):]
		}
	}
	return of["<"] + command + of[">"]
}

// ownMounts are the flags of unshare for a process that mounts what no other sees.
func ownMounts() []string {
	if os.Getuid() != 0 {
		return []string{"-r", "-m"}
	}
	return []string{"-m"}
}

// noCopies explains why no copy of a script's directory can be mounted in its place:
// macOS cannot do it at all, and an ordinary user only where user namespaces are
// permitted.
var noCopies = sync.OnceValue(func() string {
	dir := os.TempDir()
	out, err := exec.Command("unshare", append(ownMounts(), "mount", "--bind", dir, dir)...).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("unshare and mount: %v %s", err, bytes.TrimSpace(out))
	}
	return ""
})

// run runs a command in a copy of the directory work, and says what is wrong.
func (m madeHint) run(work string) string {
	dir, err := os.MkdirTemp("", "hint-*")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	if err := copyLive(work, dir+"/work"); err != nil {
		return err.Error()
	}
	if out, err := exec.Command("cp", "testdata/hints/turns.yaml", dir).CombinedOutput(); err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	if m.Dir == work && strings.HasPrefix(m.Template, "run") { // it has the data, so nothing is run there
		m.Dir += "/elsewhere"
		if out, err := exec.Command("bash", "-c", `cp -a "$1/work" "$1/e" && rm -rf "$1/e/data" && mv "$1/e" "$1/work/elsewhere"`, "bash", dir).CombinedOutput(); err != nil {
			return fmt.Sprintf("%v: %s", err, out)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	path := func(name string) string { // not by the PATH of the script
		p, _ := exec.LookPath(name)
		return p
	}
	cmd := exec.CommandContext(ctx, "unshare", slices.Concat(ownMounts(), []string{path("bash"), "-c",
		`"$1" --bind "$2" "$3" && cd "$4" && exec "$5" -k 30 -s INT 10 "$0" -c "$6"`,
		path("bash"), path("mount"), dir + "/work", work, m.Dir, path("timeout"), m.asTyped()})...)
	mark := "TEST_HINTS_IN=" + dir
	cmd.Env = append(slices.Clone(m.Env), "TEST_HINTS=/dev/null", mark,
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org") // somebody runs it
	if !slices.ContainsFunc(m.Env, func(v string) bool { return strings.HasPrefix(v, "ADROIT_MODEL=") }) {
		cmd.Env = append(cmd.Env, "ADROIT_MODEL=script:"+dir+"/turns.yaml")
	}
	var out bytes.Buffer
	cmd.Stderr = &out
	err = cmd.Run()
	endThose(mark)
	switch code := cmd.ProcessState.ExitCode(); {
	case code == 124: // it was at work
		return ""
	case code != 2 && code >= 0 && code <= 5 && !strings.Contains(out.String(), "adroit: error:"):
		return ""
	case slices.ContainsFunc(refusals[m.Template], func(r string) bool { return strings.Contains(out.String(), r) }):
		return ""
	default:
		return fmt.Sprintf("exit code %d, %v\n%s", code, err, out.String())
	}
}

// copyLive copies a directory in which a job of the script may be running, whose files come
// and go meanwhile: the log of the database is gone once the last process has closed it. A
// copy that missed one is made again, since what was in that log is in another file then.
// What still goes after many of them is left out.
func copyLive(from, to string) error {
	const most = 20
	for n := 1; ; n++ {
		cmd := exec.Command("cp", "-a", from, to)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		vanished := true
		for l := range strings.Lines(string(out)) {
			vanished = vanished && strings.HasSuffix(strings.TrimSpace(l), ": No such file or directory")
		}
		if _, e := os.Stat(from); e != nil || !vanished {
			return fmt.Errorf("cp -a %s: %w: %s", from, err, out)
		}
		if n == most {
			return nil
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
}

// endThose ends what was started with a variable, in sessions of its own too.
func endThose(variable string) {
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range found {
		b, err := os.ReadFile(f)
		pid, bad := strconv.Atoi(strings.Split(f, "/")[2])
		if err == nil && bad == nil && slices.Contains(strings.Split(string(b), "\x00"), variable) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}
