//go:build linux && amd64

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const probeWord = "be-hostile"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == probeWord {
		os.Exit(beHostile(os.Args[2:]))
	}
	if len(os.Args) == 4 && os.Args[1] == withoutCloseRange {
		os.Exit(runWithoutCloseRange(Level(os.Args[2]), os.Args[3]))
	}
	// Built with -race, a program sleeps for a second before it exits.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	os.Exit(m.Run())
}

var update = flag.Bool("update", false, "write docs/dev/probes.md")

// known are the probes that a level is known not to hold. See Level.Gaps.
var known = map[Level][]string{
	Landlock: {
		"change the mode of a file outside", "change the owner of a file outside", "change the times of a file outside", "set an attribute of a file outside",
		"read .env in the workspace", "read .env under another name",
		"plant a git hook", "write the repository's config", "replace the repository's config", "replace the repository", "write an agent's settings",
		"see another process's command line",
	},
}

// attack runs all hostile probes under a level and returns the result of each.
func attack(t *testing.T, level Level) map[string]string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub := func(name string) string {
		d := filepath.Join(base, name)
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		return d
	}
	file := func(path string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("content\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	to := target{WS: sub("ws"), Outside: sub("outside"), Home: sub("home"), Data: sub("data"), Cache: sub("home/.cache/go-build")}
	for _, f := range []string{to.Outside + "/f", to.Outside + "/gone", to.Home + "/.ssh/id_rsa", to.Home + "/.bashrc", to.Data + "/adroit.db",
		to.WS + "/mine", to.WS + "/.env", to.WS + "/.git/config", to.WS + "/.git/HEAD", to.WS + "/.git/hooks/x.sample", to.WS + "/.claude/settings.json"} {
		file(f)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to.WS, "probe"), self, 0o755); err != nil {
		t.Fatal(err)
	}
	// What listens out here.
	to.Unix = filepath.Join(base, "docker.sock")
	to.Abstract = "adroit-probe-" + filepath.Base(base) + fmt.Sprint(os.Getpid())
	for _, l := range []struct {
		network, addr string
		to            *string
	}{{"unix", to.Unix, nil}, {"unix", "@" + to.Abstract, nil}, {"tcp", "127.0.0.1:0", &to.TCP}} {
		ln, err := net.Listen(l.network, l.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		if l.to != nil {
			*l.to = ln.Addr().String()
		}
	}
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	to.UDP = pc.LocalAddr().String()
	go func() { // ends when pc is closed
		b := make([]byte, 64)
		for {
			n, from, err := pc.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(b[:n], from)
		}
	}()
	victim := exec.Command("/bin/" + victimName)
	victim.Env = []string{"SECRET=1"}
	in, err := victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = victim.Wait()
	}()
	to.Victim = victim.Process.Pid
	// A file that the runner forgot: without close-on-exec.
	left, err := unix.Open(to.Outside+"/left", unix.O_CREAT|unix.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	to.FD = 200
	if err := unix.Dup2(left, to.FD); err != nil {
		t.Fatal(err)
	}
	unix.Close(left)
	defer unix.Close(to.FD)

	raw, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(to.WS, "probe"), probeWord, string(raw))
	cmd.Dir = to.WS
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p := &Policy{
		Dir: to.WS, Write: []string{to.WS}, Private: sub("private"), Home: to.Home, Hide: []string{to.Data},
		Mask: []string{to.WS + "/.env"}, Fix: []string{to.WS + "/.git/config", to.WS + "/.git/hooks", to.WS + "/.claude"}, Pin: []string{to.WS + "/.git"},
		Caches: []Overlay{{Lower: to.Cache, Upper: filepath.Join(base, "private/cache")}},
	}
	cmd.Env = p.Environ(level, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + to.Home, "GORACE=" + os.Getenv("GORACE")})
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	st, err := Wrap(cmd, level, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Started(cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	got := map[string]string{}
	for line := range strings.Lines(out.String()) {
		f := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(f) < 2 {
			t.Fatalf("the probe said %q", line)
		}
		got[f[1]] = f[0]
		t.Log(strings.TrimSpace(line))
	}
	if len(got) != len(hostiles) {
		t.Fatalf("%d of %d probes ran:\n%s", len(got), len(hostiles), &out)
	}
	// Whatever a probe reports: a file that only the command itself sees is not an escape.
	for probe, made := range map[string]string{"write the user's build cache": to.Cache + "/poison", "create a file beside the workspace by ..": base + "/new"} {
		if _, err := os.Lstat(made); err != nil {
			got[probe] = "held"
		}
	}
	return got
}

// TestProbes attacks every level that this machine can do, and the plain
// machine for comparison, as this user and, if this is root, as nobody.
func TestProbes(t *testing.T) {
	who := "user"
	if os.Geteuid() == 0 {
		who = "root"
	}
	columns := map[string]map[string]string{}
	for _, level := range []Level{Off, Landlock, Bubblewrap, Full} {
		t.Run(string(level), func(t *testing.T) {
			if level != Off {
				if f := try(level); !f.OK {
					if os.Getenv("CI") != "" && strings.Contains(f.Why, "not installed") {
						t.Fatalf("%s: %s", f.Why, f.Help)
					}
					t.Skipf("%s: %s", f.Why, f.Help)
				}
			}
			got := attack(t, level)
			columns[who+" "+string(level)] = got
			worked := 0
			for _, h := range hostiles {
				if got[h.name] != "worked" {
					if got[h.name] == "broken" {
						t.Errorf("%s: the probe itself broke", h.name)
					}
					continue
				}
				worked++
				if level != Off && !slices.Contains(known[level], h.name) {
					t.Errorf("escaped: %s", h.name)
				}
			}
			if level == Off && worked < len(hostiles)*2/3 {
				t.Errorf("without a sandbox only %d of %d probes work: they prove nothing", worked, len(hostiles))
			}
		})
	}
	if file := os.Getenv("ADROIT_PROBE_RESULT"); file != "" { // we are nobody, and root waits for this
		b, err := json.Marshal(columns)
		if err == nil {
			err = os.WriteFile(file, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if who == "root" {
		t.Run("nobody", func(t *testing.T) {
			for k, v := range asNobody(t) {
				columns[k] = v
			}
		})
	}
	if t.Failed() {
		return
	}
	const doc = "../../../docs/dev/probes.md"
	old, err := os.ReadFile(doc)
	head, _, ok := strings.Cut(string(old), marker)
	if !ok {
		t.Fatalf("%s has no line %q: %v", doc, marker, err)
	}
	if len(columns) < 8 {
		t.Logf("%s has columns that this machine cannot check: it did %d of 8", doc, len(columns))
		return
	}
	cannot := impossible(columns, string(old))
	if len(cannot) > 0 {
		t.Logf("not on this machine, even without a sandbox, so that the row of %s is not compared: %s", doc, strings.Join(cannot, ", "))
	}
	page := matrix(columns)
	if *update {
		if len(cannot) > 0 {
			t.Fatalf("%s is written on a machine whose kernel can do what it says: %s", doc, strings.Join(cannot, ", "))
		}
		if err := os.WriteFile(doc, []byte(head+marker+page), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(old) != head+marker+page {
		t.Errorf("%s is stale; go test ./internal/work/sandbox -run TestProbes -update writes it", doc)
	}
}

// impossible returns the probes that work without a sandbox where the page was written and not
// here, as a kernel may have no 32-bit programs. That they are held here shows nothing of a sandbox:
// it gives them the page's columns.
func impossible(columns map[string]map[string]string, page string) []string {
	var names []string
	for _, h := range hostiles {
		_, row, ok := strings.Cut(page, "| "+h.name+" |")
		row, _, _ = strings.Cut(row, "\n")
		cells := strings.Split(row, "|")
		if !ok || len(cells) < len(columnNames) || !strings.Contains(cells[0]+cells[1], "worked") {
			continue
		}
		if slices.ContainsFunc(columnNames, func(n string) bool { return columns[n][h.name] != "held" }) {
			continue
		}
		names = append(names, h.name)
		for i, n := range columnNames {
			columns[n][h.name] = strings.Trim(cells[i], "* ")
		}
	}
	return names
}

// TestProbesKnowTheVictim: a probe that reaches a process of its own side under the victim's
// number has not escaped.
func TestProbesKnowTheVictim(t *testing.T) {
	to := target{Victim: os.Getpid()}
	tried := 0
	for _, h := range hostiles {
		if !strings.Contains(h.name, "another process") {
			continue
		}
		tried++
		if err := h.try(to); err == nil {
			t.Errorf("%s: works on itself", h.name)
		}
	}
	if tried != 7 {
		t.Errorf("%d probes name the victim; the names in this test are out of date", tried)
	}
}

const marker = "<!-- below: written by TestProbes in internal/work/sandbox -->\n"

func asNobody(t *testing.T) map[string]map[string]string {
	dir, err := os.MkdirTemp("", "adroit-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "self"), self, 0o755)
	}
	for _, name := range []string{"", "self"} { // whatever the umask is
		err = errors.Join(err, os.Chmod(filepath.Join(dir, name), 0o777))
	}
	if err != nil {
		t.Fatal(err)
	}
	result := filepath.Join(dir, "result")
	cmd := exec.Command(filepath.Join(dir, "self"), "-test.run=^TestProbes$", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "ADROIT_PROBE_RESULT=" + result, "GORACE=" + os.Getenv("GORACE")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	var got map[string]map[string]string
	b, err := os.ReadFile(result)
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil {
		t.Fatalf("as nobody: %v\n%s", err, out)
	}
	return got
}

var columnNames = []string{"root off", "user off", "root landlock", "user landlock", "root bubblewrap", "user bubblewrap", "root full", "user full"}

func matrix(columns map[string]map[string]string) string {
	names := columnNames
	var b strings.Builder
	b.WriteString("\n| hostile probe |")
	for _, n := range names {
		b.WriteString(" " + n + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(names)) + "\n")
	count := make([]int, len(names))
	for _, h := range hostiles {
		fmt.Fprintf(&b, "| %s |", h.name)
		for i, n := range names {
			got := columns[n][h.name]
			if got == "worked" {
				count[i]++
				got = "**worked**"
			}
			b.WriteString(" " + got + " |")
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "| **worked, of %d** |", len(hostiles))
	for _, c := range count {
		fmt.Fprintf(&b, " %d |", c)
	}
	b.WriteString("\n")
	return b.String()
}
