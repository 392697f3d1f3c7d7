package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A printed command has what the person gave, where it needs that and takes it.
func TestPlace(t *testing.T) {
	home := t.TempDir()
	vars := map[string]string{"HOME": home, "ADROIT_HOME": filepath.Join(home, "data"), "ADROIT_SERVER": ""}
	for _, test := range []struct{ given, printed, want string }{
		{"", "jobs undo J1M8D30BWB8JA1", ""},
		{"--data-dir /d", "jobs undo J1M8D30BWB8JA1", "--data-dir /d jobs undo J1M8D30BWB8JA1"},
		{"--data-dir /a'b", "doctor", `--data-dir '/a'\''b' doctor`},
		{"--data-dir " + home + "/data", "doctor", ""},
		{"--server http://h:1", "jobs logs J1M8D30BWB8JA1 -f", "--server http://h:1 jobs logs J1M8D30BWB8JA1 -f"},
		{"--server http://h:1", "config login openai", "config login openai"},
		{"--server http://h:1", "mcp add x -- y", "mcp add x -- y"},
		{"run -C /elsewhere", "run AGENT PROMPT", "run -C /elsewhere AGENT PROMPT"},
		{"run -C /elsewhere", "fix -- go test", "fix -C /elsewhere -- go test"},
		{"run -C /elsewhere", "jobs diff J1M8D30BWB8JA1", "jobs diff J1M8D30BWB8JA1"},
		{"run -C /elsewhere", "jobs --all", "jobs --all"},
		{"run -C /elsewhere", "jobs", "jobs -C /elsewhere"},
		{"run -C /elsewhere", "doctor", "doctor"},
		{"run -C .", "jobs", "jobs"},
		{"--data-dir /d run -C /e", "fix failures propose SIGNATURE", "--data-dir /d fix failures propose -C /e SIGNATURE"},
	} {
		a := newApp(Program{Getenv: func(name string) string { return vars[name] }})
		root := a.root()
		got := ""
		root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
			got = strings.Join(a.place(cmd)(strings.Fields(test.printed)), " ")
			return nil
		}
		given := strings.Fields(test.given)
		if !strings.Contains(test.given, "run") {
			given = append(given, "run")
		}
		root.SetArgs(append(given, "x"))
		cmd, _, err := root.Find(append(given, "x"))
		if err != nil || cmd.Name() != "run" {
			t.Fatal(cmd, err)
		}
		cmd.RunE = func(*cobra.Command, []string) error { return nil }
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		if want := test.want; got != want && (want != "" || got != test.printed) {
			t.Errorf("adroit %s: %q, want %q", test.given, got, want)
		}
	}
}
