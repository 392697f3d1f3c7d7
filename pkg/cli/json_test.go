package cli_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/parts"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing them")

const jsonAgent = "---\nname: hand\ndescription: Write a file.\ntools: [write_file, finish]\ndone: {signal: DONE}\n---\nYou write files.\n"

const jsonSkill = "---\nname: greet\ndescription: Greet people.\n---\nSay hello.\n"

const jsonTurns = `turns:
  - calls: [{name: write_file, args: {path: hello.txt, content: hello}}]
  - calls: [{name: finish, args: {summary: Written.}}]
`

// The shape of what --json prints is a contract with scripts: a field may come,
// none goes or changes its name or type. A golden file has one line a field.
func TestJSONShapes(t *testing.T) {
	home, repo := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		home + "/.config/adroit/agents/hand.md":        jsonAgent,
		home + "/.config/adroit/skills/greet/SKILL.md": jsonSkill,
		home + "/turns.yaml":                           jsonTurns,
		repo + "/AGENTS.md":                            "Be brief.\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": home, "OLLAMA_HOST": "127.0.0.1:1", "ADROIT_SANDBOX": "off"}
	run := func(args ...string) []byte {
		t.Helper()
		var out, stderr bytes.Buffer
		p := cli.Program{Parts: parts.All(), Stdout: &out, Stderr: &stderr, Getenv: func(key string) string { return env[key] }}
		if code := p.Run(t.Context(), args...); code != 0 {
			t.Fatalf("adroit %s: exit code %d\n%s%s", strings.Join(args, " "), code, out.String(), stderr.String())
		}
		return out.Bytes()
	}
	got := map[string][]byte{"run": run("run", "hand", "say hello", "-C", repo, "-m", "script:"+home+"/turns.yaml", "--json")}
	for _, line := range []string{
		"jobs --all", "jobs show last", "jobs steps last", "jobs wait last", "jobs logs last", "jobs artifacts last diff", "jobs artifacts last", "jobs diff last",
		"agents list", "agents show hand", "agents lint", "pipelines list", "pipelines show feature", "pipelines lint",
		"agents skills list", "agents skills show greet", "tools list", "tools show read_file", "config show", "version",
		"agents memory add a fact", "agents memory list",
		"config trust --show " + repo, "config trust --list", "jobs backup " + home + "/jobs.tar", "jobs undo last",
	} {
		args := append(strings.Fields(line), "--json")
		if strings.HasPrefix(line, "jobs") && strings.Contains(line, " last") {
			args = append(args, "-C", repo)
		}
		got[line] = run(args...)
	}
	for line, out := range got {
		name := strings.NewReplacer(" ", "_", repo, "DIR", home+"/", "", "--", "").Replace(line)
		path := filepath.Join("testdata", "json", name+".golden")
		text := shapes(t, out, strings.HasPrefix(line, "tools") || strings.HasPrefix(line, "agents"))
		dirtest.Golden(t, *update, path, []byte(text)) // fields are added, never renamed
	}
}

var generated = regexp.MustCompile(`^(J[0-9A-Z]{10,}|[0-9a-f]{16,}|/.*)$`)

// shapes lists every field of a stream of JSON values with its types. What is in
// the schemas and examples of tools and agents is theirs.
func shapes(t *testing.T, out []byte, schemas bool) string {
	t.Helper()
	seen := map[string]bool{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			seen[at+" object"] = true
			if schemas && (strings.HasSuffix(at, ".input") || strings.HasSuffix(at, ".args") || strings.HasSuffix(at, ".output") || strings.HasSuffix(at, ".schema")) {
				return
			}
			for key, of := range v {
				if generated.MatchString(key) {
					key = "*"
				}
				walk(at+"."+key, of)
			}
		case []any:
			seen[at+" list"] = true
			for _, of := range v {
				walk(at+"[]", of)
			}
		case string:
			seen[at+" string"] = true
		case float64:
			seen[at+" number"] = true
		case bool:
			seen[at+" boolean"] = true
		case nil:
			seen[at+" null"] = true
		}
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var v any
		err := dec.Decode(&v)
		if err == io.EOF {
			return strings.Join(slices.Sorted(maps.Keys(seen)), "\n") + "\n"
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		walk("$", v)
	}
}
