package process

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// The output of a test that fails because its key file is hidden explains that: by name, once, and
// not where another cause is evident.
func TestConfinedSaysWhatIsHidden(t *testing.T) {
	full(t)
	r, dir := cellmate(t, SandboxOptions{Level: sandbox.Full})
	dirtest.Write(t, filepath.Join(dir, "testdata/server.pem"), "key\n")
	dirtest.Write(t, filepath.Join(dir, "other.key"), "key\n")
	if o := did(t, r, "ls; exit 1", 1, "other.key"); !strings.Contains(o.Note, "commands cannot read other.key,") || strings.Contains(o.Note, "server.pem") {
		t.Errorf("a command that names one: %q", o.Note)
	}
	if o := did(t, r, "cat testdata/server.pem || true", 0, "ermission denied"); o.Note != "" {
		t.Errorf("a command that worked: %q", o.Note)
	}
	if o := did(t, r, "exit 3", 3, ""); o.Note != "" {
		t.Errorf("a command that failed otherwise: %q", o.Note)
	}
	o := did(t, r, "cat testdata/server.pem", 1, "ermission denied")
	if !strings.Contains(o.Note, "commands cannot read testdata/server.pem,") || !strings.Contains(o.Note, "secrets.allow") {
		t.Errorf("a command that failed for it: %q", o.Note)
	}
	if o := did(t, r, "cat testdata/server.pem", 1, "ermission denied"); o.Note != "" {
		t.Errorf("the second time: %q", o.Note)
	}
	// If a program does not name the file that it could not read, all hidden ones are named.
	for i := range mostNamed + 3 {
		dirtest.Write(t, filepath.Join(dir, fmt.Sprintf("k%02d.pem", i)), "")
	}
	if o := did(t, r, "echo tls: Permission denied; exit 1", 1, ""); !strings.Contains(o.Note, "k00.pem, k01.pem") || !strings.Contains(o.Note, "and 3 more") {
		t.Errorf("many: %q", o.Note)
	}
}

// A directory with a hidden file can be renamed without an overlay, and the file
// stays hidden at its new place. On an overlay the kernel refuses with EBUSY; the
// command learns that, and nothing is lost or shown.
func TestConfinedRenameAroundHidden(t *testing.T) {
	put := func(dir string) {
		dirtest.Write(t, filepath.Join(dir, "d/.env"), "KEY=quokka\n")
		dirtest.Write(t, filepath.Join(dir, "d/code"), "code\n")
	}
	keeps := func(t *testing.T, dir string) {
		t.Helper()
		for name, want := range map[string]string{".env": "KEY=quokka\n", "code": "code\n"} {
			if got := dirtest.Content(t, filepath.Join(dir, name)); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Bubblewrap} {
		t.Run(string(level), func(t *testing.T) {
			if r := sandbox.Choose(level); r.Err() != nil {
				t.Skip(r.Err())
			}
			r, dir := cellmate(t, SandboxOptions{Level: level})
			put(dir)
			did(t, r, "mv d e && cat e/code", 0, "code")
			did(t, r, "cat e/.env", 1, "ermission denied")
			keeps(t, filepath.Join(dir, "e"))
		})
	}
	t.Run("overlay", func(t *testing.T) {
		r, _, dir := overlaid(t)
		put(dir)
		o := ran(t, r, `python3 -c 'import os; os.rename("d", "e")'; cat d/.env`)
		if !strings.Contains(o.Text, "Device or resource busy") {
			t.Errorf("the command printed %q, want it to be busy", o.Text)
		}
		if strings.Contains(o.Text, "quokka") {
			t.Errorf("the command read the hidden file: %q", o.Text)
		}
		if len(o.Changed) > 0 {
			t.Errorf("changed: %q", o.Changed)
		}
		keeps(t, filepath.Join(dir, "d"))
	})
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"open .env: permission denied": true, "/ws/.env": true, "'.env'": true, "see .env.": true, ".env": true, "process.env .env": true,
		"process.env.HOME": false, ".env.example": false, ".environment": false, "": false, "ünv.env": false,
	} {
		if got := mentions(text, ".env"); got != want {
			t.Errorf("%q mentions .env: %v", text, got)
		}
	}
}
