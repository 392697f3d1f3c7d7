package cliagent

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A request names the program and, after a colon, its model.
func TestPrograms(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ps, err := Open(Config{Name: "codex", Command: []string{exe, "fake:echo"}, Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{"codex:gpt-9:mini": "gpt-9:mini", "codex": ""} {
		req := &llm.Request{Model: ref, Messages: hi.Messages}
		for _, m := range []llm.Model{ps, ps.Open(extagent.Session{Dir: t.TempDir()})} {
			resp, err := m.Generate(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := strings.Cut(resp.Message.Text, "\x1e")
			args := strings.Split(head, "\x1f")
			at := slices.Index(args, "-m")
			if (at >= 0) != (want != "") || at >= 0 && args[at+1] != want {
				t.Errorf("%s is run with %q", ref, args)
			}
		}
	}
	_, err = ps.Generate(t.Context(), &llm.Request{Model: "nobody"}, nil)
	var le *llm.Error
	if !errors.As(err, &le) || le.Kind != llm.NoModel || le.Hint != "there are claude, codex, gemini, opencode" {
		t.Errorf("%v, %+v", err, le)
	}
}
