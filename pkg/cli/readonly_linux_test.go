package cli_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/parts"
)

// Where the data directory cannot be written, commands that only read work as
// ever, with a note, and the others fail without having changed anything.
func TestReadOnlyDataDirectory(t *testing.T) {
	home, data, repo := t.TempDir(), t.TempDir(), t.TempDir()
	if err := unix.Mount("tmpfs", data, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("a file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(data, unix.MNT_DETACH) })
	if err := os.MkdirAll(home+"/.config/adroit/agents", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{home + "/.config/adroit/agents/hand.md": jsonAgent, home + "/turns.yaml": jsonTurns} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": home, "ADROIT_HOME": data, "ADROIT_SANDBOX": "off"}
	run := func(through func(adroit.Client) adroit.Client, args string) (code int, stdout, stderr string) {
		var out, err bytes.Buffer
		p := cli.Program{Parts: parts.All(), Through: through, Stdout: &out, Stderr: &err, Getenv: func(key string) string { return env[key] }}
		code = p.Run(t.Context(), strings.Fields(args)...)
		return code, out.String(), err.String()
	}
	const begin = "run hand hello -m script:TURNS -C REPO --approve "
	for approve, want := range map[string]int{"all": 0, "ask": 4} {
		if code, _, stderr := run(nil, strings.NewReplacer("TURNS", home+"/turns.yaml", "REPO", repo).Replace(begin+approve)); code != want {
			t.Fatalf("run --approve %s: exit code %d\n%s", approve, code, stderr)
		}
	}
	if err := unix.Mount("tmpfs", data, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, list, _ := run(nil, "jobs --all")
	id := ""
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); f[2] == "done" {
			id = f[0]
		}
	}
	for name, through := range map[string]func(adroit.Client) adroit.Client{"runtime": nil, "loopback": api.Loopback} {
		for args, want := range map[string]string{
			"jobs --all": "done", "jobs show " + id: "Written.", "jobs show --json " + id: `"status": "done"`, "jobs logs " + id: "write_file",
			"jobs steps " + id: "hello.txt", "jobs diff " + id: "+hello", "jobs artifacts " + id: "diff", "jobs wait " + id: "Written.",
			"jobs prune --dry-run --older-than 0d": id + " would be removed",
		} {
			code, stdout, stderr := run(through, args)
			if code != 0 || !strings.Contains(stdout, want) {
				t.Errorf("%s: %s: exit code %d, no %q\n%s%s", name, args, code, want, stdout, stderr)
			}
			if !strings.Contains(stderr, "jobs can be read and not changed: ") {
				t.Errorf("%s: %s: there is no note\n%s", name, args, stderr)
			}
		}
		for _, args := range []string{"jobs rm " + id, "jobs prune --older-than 0d", "jobs retry " + id, "jobs undo " + id} {
			if code, stdout, stderr := run(through, args); code != 1 {
				t.Errorf("%s: %s: exit code %d\n%s%s", name, args, code, stdout, stderr)
			}
		}
	}
	if b, err := os.ReadFile(repo + "/hello.txt"); err != nil || string(b) != "hello" {
		t.Errorf("the file that an undo could not record is %q, %v", b, err)
	}
}
