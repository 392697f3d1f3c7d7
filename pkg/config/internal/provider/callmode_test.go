package provider

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// What did not work with a model is kept by its server: not by the name that an endpoint has,
// and not for a model of the same name elsewhere. Files that have it by reference count.
func TestFailuresAreKeptByServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calling.json")
	at := func(lab, other string) *callings {
		return New(Config{Getenv: func(string) string { return "" }, Failed: path, Endpoints: map[string]Endpoint{
			"lab":   {Config: openai.Config{Name: "lab", BaseURL: lab}},
			"other": {Config: openai.Config{Name: "other", BaseURL: other}},
		}}).callings()
	}
	first := func(c *callings, ref string, want turn.Mode) {
		t.Helper()
		if got := c.first(context.Background(), ref); got != string(want) {
			t.Errorf("%s begins with %s, not %s: %v", ref, got, want, c.remembered())
		}
	}
	c := at("http://a.example/v1", "http://b.example/v1")
	c.Learn("lab/m", turn.ModeFailure{Mode: turn.Native, Why: "no call came"})
	first(c, "lab/m", turn.Constrained)
	first(c, "lab/other", turn.Native)
	first(c, "other/m", turn.Native)
	c = at("http://b.example", "http://a.example/v1/chat/completions")
	first(c, "lab/m", turn.Native)
	first(c, "other/m", turn.Constrained)
	if n, err := c.forget("lab/m"); n != 0 || err != nil {
		t.Errorf("forgot %d of another server: %v", n, err)
	}
	if n, err := c.forget("other/m"); n != 1 || err != nil {
		t.Errorf("forgot %d: %v", n, err)
	}
	first(c, "other/m", turn.Native)

	old := `{"lab/m": [{"way": "native", "why": "no call came", "at": "2026-01-02T03:04:05Z"}]}`
	if err := os.WriteFile(c.path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	first(c, "lab/m", turn.Constrained)
	if n, err := c.forget("lab/m"); n != 1 || err != nil {
		t.Errorf("forgot %d of an old file: %v", n, err)
	}
}
