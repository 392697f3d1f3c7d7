package provider

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/internal/llm/openai"
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
	first := func(c *callings, ref string, want toolcall.Mode) {
		t.Helper()
		if got := c.first(context.Background(), ref); got != string(want) {
			t.Errorf("%s begins with %s, not %s: %v", ref, got, want, c.remembered())
		}
	}
	c := at("http://a.example/v1", "http://b.example/v1")
	c.Learn("lab/m", toolcall.ModeFailure{Mode: toolcall.Native, Why: "no call came"})
	first(c, "lab/m", toolcall.Constrained)
	first(c, "lab/other", toolcall.Native)
	first(c, "other/m", toolcall.Native)
	c = at("http://b.example", "http://a.example/v1/chat/completions")
	first(c, "lab/m", toolcall.Native)
	first(c, "other/m", toolcall.Constrained)
	if n, err := c.forget("lab/m"); n != 0 || err != nil {
		t.Errorf("forgot %d of another server: %v", n, err)
	}
	if n, err := c.forget("other/m"); n != 1 || err != nil {
		t.Errorf("forgot %d: %v", n, err)
	}
	first(c, "other/m", toolcall.Native)

	old := `{"lab/m": [{"way": "native", "why": "no call came", "at": "2026-01-02T03:04:05Z"}]}`
	if err := os.WriteFile(c.path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	first(c, "lab/m", toolcall.Constrained)
	if n, err := c.forget("lab/m"); n != 1 || err != nil {
		t.Errorf("forgot %d of an old file: %v", n, err)
	}
}
