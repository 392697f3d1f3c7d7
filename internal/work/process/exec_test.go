package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func runner(t *testing.T) (*Runner, string) {
	t.Helper()
	base := t.TempDir()
	dir := filepath.Join(base, "ws")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := New(dir, filepath.Join(base, "logs"), nil)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, dir
}

func sh(t *testing.T, r *Runner, script string) *Output {
	t.Helper()
	o, err := r.Run(t.Context(), Cmd{Shell: script, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// gone waits until a process does not run any more.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return // a zombie of init's or ours does nothing more
		}
		if time.Now().After(deadline) {
			t.Errorf("process %d still runs: %s", pid, stat)
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatalf("%q is no number", s)
	}
	return n
}

func TestRun(t *testing.T) {
	r, dir := runner(t)
	dirtest.Write(t, filepath.Join(dir, "sub/f"), "x")
	o, err := r.Run(t.Context(), Cmd{Args: []string{"sh", "-c", "pwd; echo err >&2; exit 3"}, Dir: "sub"})
	switch {
	case err != nil:
		t.Errorf("unexpected error: Run = %+v, %v", o, err)
	case o.Code != 3:
		t.Errorf("o.Code is %v, want 3: Run = %+v, %v", o.Code, o, err)
	case !strings.HasSuffix(o.Text, "/ws/sub\nerr\n"):
		t.Errorf(`strings.HasSuffix(o.Text, "/ws/sub\nerr\n") is false: Run = %+v, %v`, o, err)
	case o.Sandbox != "off":
		t.Errorf(`o.Sandbox is %v, want "off": Run = %+v, %v`, o.Sandbox, o, err)
	}
	var stdout strings.Builder
	o, err = r.Run(t.Context(), Cmd{Args: []string{"sh", "-c", "cat; echo err >&2"}, Stdin: []byte("in\x00\xff"), Stdout: &stdout})
	if err != nil || stdout.String() != "in\x00\xff" || o.Text != "err\n" {
		t.Errorf("stdout %q, text %q, %v", stdout.String(), o.Text, err)
	}
	for _, c := range []Cmd{{}, {Args: []string{"no-such-program"}}, {Args: []string{"true"}, Dir: ".."}, {Args: []string{"true"}, Dir: "/etc"},
		{Args: []string{"true"}, Dir: "sub/f"}, {Args: []string{"a\x00b"}}} {
		if _, err := r.Run(t.Context(), c); err == nil {
			t.Errorf("Run(%+v) succeeded", c)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "etc")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), Cmd{Args: []string{"true"}, Dir: "etc"}); err == nil {
		t.Error("a link led the working directory outside")
	}
	if o := sh(t, r, "kill -KILL $$"); o.Code != 137 {
		t.Errorf("code %d after a signal, want 137", o.Code)
	}
}

// TestStartError: the kernel says the same of a program and of a directory that are not there.
func TestStartError(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	for dir, want := range map[string]string{gone: "its directory", t.TempDir(): "was not found", "": "was not found"} {
		if err := StartError("git", dir, os.ErrNotExist); !strings.Contains(err.Error(), want) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: %v", dir, err)
		}
	}
}

// What no program can be given is refused by its cause, before a sandbox is looked for.
func TestNoCommand(t *testing.T) {
	for want, cs := range map[string][]Cmd{"no command was given": {{}, {Args: []string{""}}}, "NUL byte": {{Args: []string{"a", "b\x00"}}, {Shell: "echo \x00"}, {Shell: "x", Args: []string{"\x00"}}}} {
		for _, c := range cs {
			if _, err := c.argv(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q %q: %v", c.Shell, c.Args, err)
			}
		}
	}
}

// Conformance 24.
func TestEnvironmentIsScrubbed(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("HTTPS_PROXY", "http://u:secret@proxy")
	t.Setenv("GOPROXY", "https://u:secret@proxy,direct")
	t.Setenv("SSH_AUTH_SOCK", "/secret")
	t.Setenv("LC_TIME", "C")
	r, _ := runner(t)
	o, err := r.Run(t.Context(), Cmd{Shell: "env; cat /proc/self/environ | tr '\\0' '\\n'", Env: []string{"MINE=1", "PAGER=less"}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(o.Text, "secret") {
		t.Errorf("a secret reached the command:\n%s", o.Text)
	}
	for _, want := range []string{"MINE=1", "PAGER=less", "GIT_TERMINAL_PROMPT=0", "LC_TIME=C", "GOTOOLCHAIN=local", "PATH="} {
		if !strings.Contains(o.Text, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// Conformance 27.
func TestTimeoutKillsWhatIgnoresTerm(t *testing.T) {
	t.Parallel()
	r, _ := runner(t)
	start := time.Now()
	o, err := r.Run(t.Context(), Cmd{Shell: "trap '' TERM; echo begun; while :; do sleep 0.1; done", Timeout: 300 * time.Millisecond})
	switch {
	case err != nil:
		t.Errorf("unexpected error: Run = %+v, %v", o, err)
	case !o.TimedOut:
		t.Errorf("o.TimedOut is false: Run = %+v, %v", o, err)
	case o.Killed:
		t.Errorf("o.Killed is true: Run = %+v, %v", o, err)
	case o.Text != "begun\n":
		t.Errorf(`o.Text is %v, want "begun\n": Run = %+v, %v`, o.Text, o, err)
	case o.Code != 137:
		t.Errorf("o.Code is %v, want 137: Run = %+v, %v", o.Code, o, err)
	}
	if took := time.Since(start); took > 300*time.Millisecond+grace+time.Minute {
		t.Errorf("it took %v", took)
	}
	o, err = r.Run(t.Context(), Cmd{Shell: "trap 'echo bye; exit 0' TERM; sleep 300 & wait", Timeout: 200 * time.Millisecond})
	switch {
	case err != nil:
		t.Errorf("unexpected error: a command that obeys: %+v, %v", o, err)
	case !o.TimedOut:
		t.Errorf("o.TimedOut is false: a command that obeys: %+v, %v", o, err)
	case o.Text != "bye\n":
		t.Errorf(`o.Text is %v, want "bye\n": a command that obeys: %+v, %v`, o.Text, o, err)
	case o.Took > grace:
		t.Errorf("o.Took > grace: a command that obeys: %+v, %v", o, err)
	}
}

func TestContextEndsARun(t *testing.T) {
	r, _ := runner(t)
	ctx, cancel := context.WithCancel(t.Context())
	var got struct {
		o   *Output
		err error
	}
	ready, pw := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		got.o, got.err = r.Run(ctx, Cmd{Shell: "echo $$; echo hello >&2; sleep 300", Stdout: pw})
	}()
	buf := make([]byte, 32)
	n, err := ready.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-done
	switch {
	case !errors.Is(got.err, context.Canceled):
		t.Errorf("errors.Is(got.err, context.Canceled) is false: Run = %+v, %v", got.o, got.err)
	case got.o == nil:
		t.Errorf("got.o is nil: Run = %+v, %v", got.o, got.err)
	case !got.o.Killed:
		t.Errorf("got.o.Killed is false: Run = %+v, %v", got.o, got.err)
	case got.o.TimedOut:
		t.Errorf("got.o.TimedOut is true: Run = %+v, %v", got.o, got.err)
	}
	gone(t, number(t, string(buf[:n])))
}

// needSetsid skips a test of commands that leave their session where the program
// that does so is not installed.
func needSetsid(t *testing.T) {
	t.Helper()
	testenv.NeedsProgram(t, "setsid") // of util-linux
}

// Conformance 28.
func TestBackgroundChildrenDoNotHoldTheRun(t *testing.T) {
	r, _ := runner(t)
	for _, script := range []string{"sleep 300 & echo $!", "sleep 300 >/dev/null 2>&1 & echo $!", "(sleep 300 & echo $!)", "setsid sleep 300 & echo $!",
		"nohup sleep 300 & echo $!"} {
		t.Run(script, func(t *testing.T) {
			if strings.Contains(script, "setsid") {
				needSetsid(t)
			}
			start := time.Now()
			o := sh(t, r, script)
			if o.Code != 0 || time.Since(start) > time.Minute {
				t.Errorf("code %d after %v", o.Code, time.Since(start))
			}
			lines := strings.Fields(o.Text)
			gone(t, number(t, lines[len(lines)-1]))
		})
	}
	o, err := r.Run(t.Context(), Cmd{Shell: "sleep 300 | cat", Timeout: 200 * time.Millisecond})
	if err != nil || !o.TimedOut || o.Took > grace {
		t.Errorf("sleep | cat: %+v, %v", o, err)
	}
}

// Conformance 29, with allocation standing for RSS.
func TestFloodIsBounded(t *testing.T) {
	r, _ := runner(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	o := sh(t, r, "yes | head -c 104857600; echo the end")
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 16<<20 {
		t.Errorf("%d MiB were allocated", grown>>20)
	}
	switch {
	case o.Bytes != 100<<20+8:
		t.Errorf("o.Bytes is %v, want %v: %d bytes, %d dropped, text ends %q", o.Bytes, 100<<20+8, o.Bytes, o.Dropped, o.Text[max(0, len(o.Text)-40):])
	case o.Dropped != o.Bytes-2*keepHalf:
		t.Errorf("o.Dropped is %v, want %v: %d bytes, %d dropped, text ends %q", o.Dropped, o.Bytes-2*keepHalf, o.Bytes, o.Dropped, o.Text[max(0, len(o.Text)-40):])
	case !strings.HasPrefix(o.Text, "y\ny\n"):
		t.Errorf(`strings.HasPrefix(o.Text, "y\ny\n") is false: %d bytes, %d dropped, text ends %q`, o.Bytes, o.Dropped, o.Text[max(0, len(o.Text)-40):])
	case !strings.HasSuffix(o.Text, "y\nthe end\n"):
		t.Errorf(`strings.HasSuffix(o.Text, "y\nthe end\n") is false: %d bytes, %d dropped, text ends %q`, o.Bytes, o.Dropped, o.Text[max(0, len(o.Text)-40):])
	case !strings.Contains(o.Text, "bytes left out here"):
		t.Errorf(`o.Text lacks "bytes left out here": %d bytes, %d dropped, text ends %q`, o.Bytes, o.Dropped, o.Text[max(0, len(o.Text)-40):])
	}
	if info, err := os.Stat(o.Log); err != nil || info.Size() != MaxLog || info.Mode().Perm() != 0o400 {
		t.Errorf("log: %v, %v", info, err)
	}
}

// Conformance 30.
func TestOutputIsPrintable(t *testing.T) {
	r, _ := runner(t)
	for script, want := range unprintable {
		if o := sh(t, r, script); o.Text != want || !utf8.ValidString(o.Text) {
			t.Errorf("%s: %q, want %q", script, o.Text, want)
		}
	}
}

// unprintable maps outputs of commands to their printable form.
var unprintable = map[string]string{
	`printf 'a\000b\377\355\240\200c'`:       `a\x00b\xff\xed\xa0\x80c`,
	`printf '\033[31mred\033]52;c;x\007'`:    `\x1b[31mred\x1b]52;c;x\x07`,
	`printf 'one\r\ntwo\rthree\tfour\n'`:     "one\ntwo\\x0dthree\tfour\n",
	`printf '\302\205 \342\200\256 日本'`:      `\u0085 \u202e 日本`,
	`printf 'x\357\277\275\363\240\201\201'`: `x` + "\ufffd" + `\U000e0041`,
}

func TestTailCutsBetweenCharacters(t *testing.T) {
	var b HeadTail
	for range 3 * keepHalf {
		_, _ = b.Write([]byte("日"))
	}
	s, total, dropped := b.Text()
	if !utf8.ValidString(s) || strings.Contains(s, `\x`) || total != 9*keepHalf {
		t.Errorf("%d bytes, valid %v", total, utf8.ValidString(s))
	}
	if kept := int64(3 * strings.Count(s, "日")); kept+dropped != total {
		t.Errorf("%d kept and %d dropped are not %d", kept, dropped, total)
	}
}

// Conformance 31.
func TestNothingWaitsForAPerson(t *testing.T) {
	t.Parallel()
	r, dir := runner(t)
	dirtest.Git(t, dir, "init", "-q")
	dirtest.Write(t, filepath.Join(dir, "f"), "x")
	dirtest.Git(t, dir, "add", "f")
	for _, script := range impatient {
		start := time.Now()
		if o := sh(t, r, script); o.TimedOut || time.Since(start) > 20*time.Second {
			t.Errorf("%s: %+v", script, o)
		}
	}
}

// impatient are commands that would wait for a person who is not there.
var impatient = []string{"cat", "read x", "exec 3</dev/tty", "git commit", "git -c credential.helper= ls-remote https://127.0.0.1:1/x",
	"git log --help >/dev/null 2>&1; true", "vim f", "vi", "view f"}

// TestMain doubles as the subprocess that a test kills.
func TestMain(m *testing.M) {
	switch os.Getenv("ADROIT_TEST_CHILD") {
	case "runner":
		childRunner(os.Args[1])
		return
	case "overlap":
		childOverlap(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
		return
	}
	// Built with -race, a program sleeps for a second before it exits.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	remove := buildHelper()
	code := m.Run()
	remove()
	os.Exit(code)
}

// child starts this test binary as the above.
func child(t *testing.T, what, dir string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	var out bytes.Buffer
	cmd.Env = append(os.Environ(), "ADROIT_TEST_CHILD="+what)
	cmd.Stderr = &out
	return cmd, &out
}

// childOverlap runs a command from the beginning to the end of its input.
func childOverlap(dir, level, cache, private string) {
	r := New(dir, "", nil, WithSandbox(SandboxOptions{Level: sandbox.Level(level), Private: private, Cache: cache}))
	p, err := r.Start(context.Background(), Cmd{Shell: "read x", Interactive: true})
	if err == nil {
		fmt.Println("begun")
		_, _ = io.Copy(io.Discard, os.Stdin)
		p.Stdin().Close()
		<-p.Done()
		err = r.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// childRunner runs a command with grandchildren until it is killed.
func childRunner(dir string) {
	r := New(dir, "", nil)
	p, err := r.Start(context.Background(), Cmd{Shell: "sleep 300 & echo $! > a; sh -c 'echo $$ > b; sleep 300; true'; true"})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "started"), []byte("0\n"), 0o600)
		<-p.Done()
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Conformance 36.
func TestKilledRunnerLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	cmd, stderr := child(t, "runner", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, name := range []string{"started", "a", "b"} {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			b, _ := os.ReadFile(filepath.Join(dir, name))
			if strings.HasSuffix(string(b), "\n") {
				pids = append(pids, number(t, string(b)))
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the command did not begin: %s", stderr)
			}
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	start := time.Now()
	for _, pid := range pids[1:] {
		gone(t, pid)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Conformance 37, with 300 commands.
func TestManyCommandsLeakNothing(t *testing.T) {
	r, _ := runner(t)
	fds := func() int { es, _ := os.ReadDir("/proc/self/fd"); return len(es) }
	sh(t, r, "true")
	f0, g0 := fds(), runtime.NumGoroutine()
	for i := range 300 {
		if o := sh(t, r, "echo "+strconv.Itoa(i)); o.Text != strconv.Itoa(i)+"\n" {
			t.Fatalf("command %d: %+v", i, o)
		}
	}
	if f := fds(); f > f0+3 {
		t.Errorf("file descriptors went from %d to %d", f0, f)
	}
	if g := runtime.NumGoroutine(); g > g0+5 {
		t.Errorf("goroutines went from %d to %d", g0, g)
	}
	if n := len(r.procs); n > remember {
		t.Errorf("%d commands are remembered", n)
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		b, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[0] == "Z" && f[1] == strconv.Itoa(os.Getpid()) {
			t.Errorf("a zombie: %s", b)
		}
	}
}

func TestStartAndClose(t *testing.T) {
	dir := t.TempDir()
	r := New(dir, "", nil)
	ctx, cancel := context.WithCancel(t.Context())
	p, err := r.Start(ctx, Cmd{Shell: "echo $$; sleep 300"})
	if err != nil {
		t.Fatal(err)
	}
	cancel() // a background command outlives the call that started it
	for p.Output().Text == "" {
		time.Sleep(5 * time.Millisecond)
	}
	if q, ok := r.Process(p.ID); !ok || q != p {
		t.Error("the command is not found by its id")
	}
	if o := p.Output(); o.Code != -1 || o.Killed {
		t.Errorf("while it runs: %+v", o)
	}
	pid := number(t, p.Output().Text)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
	if o := p.Output(); !o.Killed || o.Code != 143 {
		t.Errorf("after Close: %+v", o)
	}
	p.Kill() // of no effect, and it returns
	if _, err := r.Run(t.Context(), Cmd{Args: []string{"true"}}); err == nil {
		t.Error("a command was started after Close")
	}
}

func TestLogs(t *testing.T) {
	r, dir := runner(t)
	o := sh(t, r, `for i in 1 2 3 4 5; do echo "line $i"; done; printf '\033[1mbold'`)
	p, err := r.ReadLog(o.ID, 2, 2)
	switch {
	case err != nil:
		t.Errorf("unexpected error: ReadLog = %+v, %v", p, err)
	case !slices.Equal(p.Lines, []string{"line 2", "line 3"}):
		t.Errorf(`slices.Equal(p.Lines, []string{"line 2", "line 3"}) is false: ReadLog = %+v, %v`, p, err)
	case p.Total != 6:
		t.Errorf("p.Total is %v, want 6: ReadLog = %+v, %v", p.Total, p, err)
	case !p.More:
		t.Errorf("p.More is false: ReadLog = %+v, %v", p, err)
	}
	found, more, err := r.SearchLog(o.ID, regexp.MustCompile(`[245]$|bold`), 3)
	switch {
	case err != nil:
		t.Errorf("unexpected error: SearchLog = %+v, %v, %v", found, more, err)
	case !more:
		t.Errorf("more is false: SearchLog = %+v, %v, %v", found, more, err)
	case len(found) != 3:
		t.Errorf("len(found) is %v, want 3: SearchLog = %+v, %v, %v", len(found), found, more, err)
	case found[2] != (Match{Line: 5, Text: "line 5"}):
		t.Errorf(`found[2] is not (Match{Line: 5, Text: "line 5"}): SearchLog = %+v, %v, %v`, found, more, err)
	}
	for _, id := range []string{"", "c999", "../logs/c1", "c1.log", "/etc/passwd"} {
		if _, err := r.ReadLog(id, 1, 1); err == nil {
			t.Errorf("ReadLog(%q) succeeded", id)
		}
	}
	// A resumed job goes on with new ids and still reads the old logs.
	again := New(dir, r.logs, nil)
	defer again.Close()
	if o2 := sh(t, again, "true"); o2.ID == o.ID {
		t.Errorf("the id %s was given twice", o2.ID)
	}
	if p, err := again.ReadLog(o.ID, 1, 1); err != nil || p.Lines[0] != "line 1" {
		t.Errorf("an old log: %+v, %v", p, err)
	}
}

func TestSnapshotOfACommand(t *testing.T) {
	_, led, dir := workspacetest.Repository(t)
	r := New(dir, "", led)
	defer r.Close()
	before := dirtest.Tree(t, dir)
	o, err := r.Run(t.Context(), Cmd{Shell: "echo x >> d0/f0.txt; mkdir z; echo y > z/y", Snapshot: true})
	if err != nil || !slices.Equal(o.Changed, []string{"d0/f0.txt", "z/y"}) || o.Note != "" {
		t.Errorf("Run = %+v, %v", o, err)
	}
	if _, err := led.All().IncludeUncertain().Undo(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if after := dirtest.Tree(t, dir); !slices.Equal(before, after) {
		t.Errorf("not as before:\n%s", dirtest.Diff(before, after))
	}
}

// Conformance 35.
func TestWorkspaceIsGone(t *testing.T) {
	r, dir := runner(t)
	f, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sh(t, r, "true")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), Cmd{Args: []string{"true"}}); err == nil {
		t.Error("a command ran in a directory that is gone")
	}
	if err := f.WriteFile("f", []byte("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("WriteFile = %v", err)
	}
}

func TestInteractive(t *testing.T) {
	r, _ := runner(t)
	var out strings.Builder
	p, err := r.Start(t.Context(), Cmd{Shell: `while read -r l; do echo "got $l"; done; echo over`, Interactive: true, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []string{"a\n", "b\n"} {
		if _, err := io.WriteString(p.Stdin(), l); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if got := out.String(); got != "got a\ngot b\nover\n" {
		t.Errorf("the command read %q", got)
	}
	if _, err := io.WriteString(p.Stdin(), "late"); err == nil {
		t.Error("a command that has ended took input")
	}

	// One that is killed lets go of a writer that waits for it.
	p, err = r.Start(t.Context(), Cmd{Args: []string{"sleep", "60"}, Interactive: true})
	if err != nil {
		t.Fatal(err)
	}
	blocked := make(chan error)
	go func() {
		_, err := p.Stdin().Write(make([]byte, 1<<20))
		blocked <- err
	}()
	p.Kill()
	if err := <-blocked; err == nil {
		t.Error("a megabyte was written to a command that never read")
	}

	if _, err := r.Start(t.Context(), Cmd{Args: []string{"cat"}, Interactive: true, Stdin: []byte("x")}); err == nil {
		t.Error("two inputs were accepted")
	}
	if o, err := r.Run(t.Context(), Cmd{Args: []string{"cat"}, Interactive: true}); err != nil || o.Code != 0 {
		t.Errorf("Run: %v %v", o, err)
	}
}
