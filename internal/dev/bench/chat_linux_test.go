package bench

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite"
)

// BenchmarkChat measures how responsive a terminal feels to a person who resumes a conversation of
// 10,000 messages in a tree of 50,000 files: the time from a key to the first byte of its echo,
// compared with cat on the same kind of terminal; from @ to a list of files; CPU until the first
// frame; and memory.
func BenchmarkChat(b *testing.B) {
	dir := b.TempDir()
	repo, home := filepath.Join(dir, "repo"), filepath.Join(dir, "home")
	adroit := filepath.Join(dir, "adroit")
	script(b, dir, exec.Command("go", "build", "-o", adroit, "github.com/adroit-run/adroit/cmd/adroit"))
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color"}
	tree(b, repo, 50_000)
	if err := os.WriteFile(filepath.Join(dir, "turns.yaml"), []byte("turns: [{text: \"An answer with **bold** words.\\nAnd a second line.\"}]\nloop: true\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	begin := exec.Command(adroit, "chat", "--plain", "-m", "script:../turns.yaml")
	begin.Dir, begin.Env, begin.Stdin = repo, env, strings.NewReader("message 1\nmessage 2\n")
	script(b, repo, begin)
	lengthen(b, filepath.Join(home, ".local/share/adroit/adroit.db"), 5000)

	for b.Loop() {
		cat := onTerminal(b, exec.Command("cat"), dir, env)
		plain := cat.echoes(200)
		cat.end()

		chat := onTerminal(b, exec.Command(adroit, "chat", "--continue"), repo, env)
		chat.see("\x1b[1m>") // the line to type in
		first := chat.cpu()
		chat.see("message 5001") // of the conversation, which is read behind the first frame
		chat.see("/help")
		keys := chat.echoes(200)
		began := time.Now()
		chat.write("\x15@d4")
		chat.see("@d4")
		at := time.Since(began)
		chat.see("@d40/") // in the list
		listed, memory := time.Since(began), chat.peak()
		chat.end()

		b.ReportMetric(ms(keys), "ms-p95-key")
		b.ReportMetric(ms(keys)/ms(plain), "x-cat")
		b.ReportMetric(ms(at), "ms-@")
		b.ReportMetric(ms(listed), "ms-@-list")
		b.ReportMetric(ms(first), "ms-cpu-first-frame")
		b.ReportMetric(memory, "MB")
		if memory > 100 {
			b.Errorf("%.0f MB of memory, want 100 at most", memory)
		}
		if keys > max(16*time.Millisecond, 20*plain) {
			b.Errorf("a key takes %s at the 95th percentile, and cat %s", keys, plain)
		}
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func script(b *testing.B, dir string, cmd *exec.Cmd) {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// tree makes a git repository of n untracked files.
func tree(b *testing.B, dir string, n int) {
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprintf("d%d", i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.go", i)), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	script(b, dir, exec.Command("git", "init", "-q", dir))
}

// lengthen repeats the events of the last message of the only job so many times, each
// as a turn of its own.
func lengthen(b *testing.B, path string, times int) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	fail := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	rows, err := db.Query("select seq, data from events order by seq")
	fail(err)
	var job string
	var last [][]byte
	seq := 0
	for rows.Next() {
		var data []byte
		fail(rows.Scan(&seq, &data))
		if bytes.Contains(data, []byte(`"kind":"job.started"`)) {
			last = nil
		}
		last = append(last, data)
	}
	fail(rows.Err())
	fail(db.QueryRow("select id from jobs").Scan(&job))
	tx, err := db.Begin()
	fail(err)
	for i := range times {
		for _, data := range last {
			seq++
			text := strings.NewReplacer(`"path":"1.1`, fmt.Sprintf(`"path":"1.%d`, i+2), "message 2", fmt.Sprintf("message %d", i+3)).Replace(string(data))
			_, rest, _ := strings.Cut(text, ",")
			_, err := tx.Exec("insert into events (job, seq, data) values (?, ?, ?)", job, seq, []byte(fmt.Sprintf(`{"seq":%d,%s`, seq, rest)))
			fail(err)
		}
	}
	_, err = tx.Exec("update jobs set seq = ?", seq)
	fail(err)
	fail(tx.Commit())
}

// A terminal is a pseudo terminal with a program on it.
type terminal struct {
	b    *testing.B
	ours *os.File
	cmd  *exec.Cmd
	read chan []byte
	seen []byte // and not looked for yet
}

// onTerminal starts a program on a terminal of 80 by 24 that echoes nothing by itself.
func onTerminal(b *testing.B, cmd *exec.Cmd, dir string, env []string) *terminal {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		b.Skipf("no pseudo terminals here: %v", err)
	}
	fail := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	fail(unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	fail(err)
	theirs, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	fail(err)
	defer theirs.Close()
	fail(unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	mode, err := unix.IoctlGetTermios(int(theirs.Fd()), unix.TCGETS)
	fail(err)
	mode.Lflag &^= unix.ECHO | unix.ICANON
	fail(unix.IoctlSetTermios(int(theirs.Fd()), unix.TCSETS, mode))
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	fail(cmd.Start())
	t := &terminal{b: b, ours: ours, cmd: cmd, read: make(chan []byte, 1024)}
	go func() {
		defer close(t.read)
		for {
			buf := make([]byte, 1<<16)
			n, err := ours.Read(buf)
			if err != nil {
				return
			}
			t.read <- buf[:n]
		}
	}()
	return t
}

func (t *terminal) write(keys string) {
	if _, err := t.ours.WriteString(keys); err != nil {
		t.b.Fatal(err)
	}
}

// see waits until what is printed, and forgets the output so far.
func (t *terminal) see(what string) {
	for {
		if _, after, found := bytes.Cut(t.seen, []byte(what)); found {
			t.seen = after
			return
		}
		select {
		case more, ok := <-t.read:
			if t.seen = append(t.seen, more...); !ok {
				t.b.Fatalf("%s has ended, and %q is not there: %q", t.cmd, what, t.seen)
			}
		case <-time.After(10 * time.Minute):
			_ = t.cmd.Process.Kill()
			t.b.Fatalf("%q is not there: %q", what, t.seen)
		}
	}
}

// echoes types n keys, each when all is quiet, and returns the time that 95 of 100 of
// them took at most until something was printed.
func (t *terminal) echoes(n int) time.Duration {
	took := make([]time.Duration, n)
	for i := range took {
		t.quiet()
		began := time.Now()
		t.write("x")
		t.seen = append(t.seen, <-t.read...)
		took[i] = time.Since(began)
	}
	t.quiet()
	slices.Sort(took)
	return took[n*95/100]
}

// quiet waits until nothing more is printed.
func (t *terminal) quiet() {
	for {
		select {
		case <-t.read:
		case <-time.After(20 * time.Millisecond):
			t.seen = nil
			return
		}
	}
}

// end kills the program.
func (t *terminal) end() {
	_ = t.cmd.Process.Kill()
	_ = t.cmd.Wait()
	for range t.read {
	}
	t.ours.Close()
}

// cpu returns the CPU time of the program.
func (t *terminal) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.cmd.Process.Pid))
	if err != nil {
		t.b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] {
		n, _ := strconv.Atoi(f)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// peak returns the peak memory of the program in MB.
func (t *terminal) peak() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		t.b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.b.Fatal(err)
	}
	return float64(kb) / 1000
}
