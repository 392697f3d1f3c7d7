package jobdir_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A diff that is cut has the number of bytes that it lacks beside it, and no longer when
// it is whole again, also in another process.
func TestCutDiff(t *testing.T) {
	dir, home := t.TempDir(), filepath.Join(t.TempDir(), "job")
	write := tools.Tool{Metadata: tools.Metadata{Name: "write_file", Needs: tools.Write}}
	bound := func(b *jobdir.Workspace, path, text string) (diff string, omitted string) {
		t.Helper()
		env, err := b.Env(t.Context(), "", path)
		if err != nil {
			t.Fatal(err)
		}
		if err := env.Files.At(path).WriteFile("a.txt", []byte(text)); err != nil {
			t.Fatal(err)
		}
		var res tools.Result
		if err := b.Bind(t.Context(), "", path, write, &res); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(res.Artifacts["diff"], &diff); err != nil {
			t.Fatal(err)
		}
		return diff, string(res.Artifacts[turn.DiffOmitted])
	}
	b, err := jobdir.OpenWorkspace(dir, home)
	if err != nil {
		t.Fatal(err)
	}
	if diff, omitted := bound(b, "1", "the rest is left out here)\n"); omitted != "" || !strings.HasSuffix(diff, "left out here)\n") {
		t.Errorf("a small diff %q lacks %q", diff, omitted)
	}
	if diff, omitted := bound(b, "2", strings.Repeat("text\n", 20_000)); omitted == "" || omitted == "0" || len(diff) > 80_000 {
		t.Errorf("a diff of 100,000 bytes has %d and lacks %q", len(diff), omitted)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err = jobdir.OpenWorkspace(dir, home); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, omitted := bound(b, "3", "short\n"); omitted != "0" {
		t.Errorf("a diff that is whole again lacks %q", omitted)
	}
}
