package host_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/tools"
)

const readerPicture = "GIF89aa a     picture"

func openReader(t *testing.T) *host.Reader {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"plan.txt": "one\ntwo\nthree\n", "shot.gif": readerPicture, "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secrets := secret.NewRedactor(secret.Options{Known: []secret.Known{{Name: "TOKEN", Value: "hunter2-of-the-test"}}})
	return &host.Reader{Dir: dir, Agent: "helper", Secrets: secrets, Model: "x/blind"}
}

// What words mention is attached as text that others wrote; a page brings its taint,
// and a secret is taken out.
func TestRead(t *testing.T) {
	r := openReader(t)
	r.Call = func(_ context.Context, tool string, args json.RawMessage) (tools.Result, error) {
		return tools.Result{Text: tool + " " + string(args) + " has hunter2-of-the-test"}, nil
	}
	a := executor.Attached{Mentions: "as @plan.txt:2 and @https://x.test/a say, unlike a@b.c and @nothing in @empty"}
	taint, err := r.Read(t.Context(), &a)
	if err != nil {
		t.Fatal(err)
	}
	if taint != tools.Untrusted|tools.Secret {
		t.Errorf("the taint is %v", taint)
	}
	if a.Mentions != "" || len(a.Attachments) != 3 {
		t.Fatalf("%+v", a)
	}
	for i, want := range []string{
		"<attached path=\"plan.txt\" lines=\"2-2\">\ntwo\n</attached>",
		`web_fetch {"url":"https://x.test/a"} has `,
		"<attached path=\"empty\">\n(empty)\n</attached>",
	} {
		if got := a.Attachments[i].Text; !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("attached is %q, want %q", got, want)
		}
	}
}

// The text that an editor has of a file goes by the rules about the file.
func TestBuffer(t *testing.T) {
	r := openReader(t)
	r.Rules = permit.Rules{{Path: "private/**", Do: permit.Deny}}
	if err := os.Symlink(filepath.Join(r.Dir, "private"), filepath.Join(r.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"plan.txt": "", "new.txt": "", ".env": "list of secrets", "private/a": "may not be used", "./private/a": "may not be used", "link/a": "may not be used", "../a": "outside"} {
		text := "typed\nhunter2-of-the-test\n"
		a := executor.Attached{Attachments: []executor.Attachment{{Path: name, Buffer: &text}}}
		taint, err := r.Read(t.Context(), &a)
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
		if want != "" {
			continue
		}
		got := a.Attachments[0]
		if err != nil || got.Buffer != nil || taint != tools.Untrusted|tools.Secret || !strings.HasPrefix(got.Text, `<attached path="`+name+`" from="the editor, as it is there">`+"\ntyped\n[secret: ") {
			t.Errorf("%s: %+v, %v, %v", name, got, taint, err)
		}
	}
}

// Before there is a job no page is fetched.
func TestPageIsNamed(t *testing.T) {
	a := executor.Attached{Mentions: "@https://x.test/a"}
	if _, err := openReader(t).Read(t.Context(), &a); err != nil || !strings.Contains(a.Attachments[0].Text, "fetched when the job is begun") {
		t.Errorf("%+v, %v", a, err)
	}
}

// What cannot be attached is refused with a reason.
func TestRefused(t *testing.T) {
	r := openReader(t)
	r.NoImages = func(context.Context, string) string { return "it is blind" }
	r.Rules = permit.Rules{{Tool: "web_fetch", Do: permit.Deny}}
	for words, want := range map[string]string{
		"@plam.txt":         "there is no such file",
		"@plan.txt:9":       "the file has 3 lines",
		"@/etc/hosts":       "outside the workspace",
		"@shot.gif":         "x/blind takes no images: it is blind",
		"@https://x.test/a": "web_fetch",
	} {
		if _, err := r.Read(t.Context(), &executor.Attached{Mentions: words}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", words, err, want)
		}
	}
}
