package machine

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

func TestText(t *testing.T) {
	var b strings.Builder
	found := []adroit.Finding{
		{Name: "git", Status: adroit.Fine, What: "git version 2"},
		{Name: "cargo", Status: adroit.Lacking, What: "not there", For: []string{"*.rs"}, Optional: true},
		{Name: "OPENAI_API_KEY", Status: adroit.Note, What: "not set", Optional: true},
		{Name: "gopls", Status: adroit.Lacking, What: "not there", Do: "install it", For: []string{"*.go"}},
		{Name: "sandbox", Status: adroit.Broken, What: "refused", Do: "install it"},
	}
	text(&b, found, false)
	if want := "no job can run: sandbox: refused\nnext: install it\n\nbroken   sandbox  refused; install it\nmissing  gopls    not there; install it\n\nfine too: git; not set up: OPENAI_API_KEY; not needed here: cargo    adroit doctor --all\n"; b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	text(&b, found, true)
	if got := strings.Count(b.String(), "\n"); got != 3+len(found) {
		t.Errorf("not each finding has a line:\n%s", b.String())
	}
}

// The newest release is asked for at one address, and what is no answer is an error.
func TestNewestRelease(t *testing.T) {
	answer, status := `{"tag_name": "v1.2.3", "body": "x"}`, 200
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer srv.Close()
	var out strings.Builder
	update := func() error {
		cmd := NewUpdate(&kit.Env{Out: &out, Getenv: func(string) string { return srv.URL }})
		cmd.SetContext(t.Context())
		return cmd.RunE(cmd, nil)
	}
	if err := update(); err != nil || !strings.Contains(out.String(), "the newest release is v1.2.3\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, bad := range []string{"", "{}", "<html>", `{"tag_name": 1}`} {
		if answer = bad; update() == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	answer, status = `{"tag_name": "v1.2.3"}`, 403
	if err := update(); err == nil || !strings.Contains(err.Error(), "403") {
		t.Error(err)
	}
}
