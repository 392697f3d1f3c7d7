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

// Each word of another agent is answered with a command or flag that there is, and takes the place
// of none.
func TestWordsOfOtherAgents(t *testing.T) {
	run := func(args ...string) (code int, stderr string) {
		var b strings.Builder
		code = Program{Stderr: &b, Getenv: func(string) string { return "" }}.Run(t.Context(), args...)
		return code, b.String()
	}
	root := newApp(Program{}).root()
	for _, f := range foreign {
		of, _, err := root.Find(strings.Fields(f.ours))
		if err != nil || of == root || of.Hidden && of.Name() != "update" {
			t.Errorf("%q is no command", f.ours)
		}
		for name := range strings.FieldsSeq(f.theirs) {
			words := strings.Split(name, ".")
			for _, args := range [][]string{append(words, "--x", "y"), append([]string{"help"}, words...)} {
				if code, text := run(args...); code != 2 || !strings.Contains(text, ": use adroit "+f.ours) || !strings.Contains(text, of.CommandPath()+" --help") {
					t.Errorf("adroit %s: exit %d, %s", strings.Join(args, " "), code, text)
				}
			}
		}
	}
	known := find(root, "run").Flags()
	for _, f := range foreignFlags {
		if flag, long := strings.CutPrefix(strings.FieldsFunc(f.ours, func(r rune) bool { return r == ' ' || r == ',' })[0], "--"); long && known.Lookup(flag) == nil && root.Flags().Lookup(flag) == nil {
			t.Errorf("there is no --%s", flag)
		}
		for name := range strings.FieldsSeq(f.theirs) {
			arg := "--" + name
			if len(name) == 1 {
				arg = "-" + name
			}
			if flags := root.Flags(); flags.Lookup(name) != nil || len(name) == 1 && flags.ShorthandLookup(name) != nil {
				t.Errorf("%s is a flag of this program", arg)
			}
			if code, text := run(arg, "x"); code != 2 || !strings.Contains(text, "hint: use ") || !strings.Contains(text, f.ours) {
				t.Errorf("adroit %s: exit %d, %s", arg, code, text)
			}
		}
	}
}
