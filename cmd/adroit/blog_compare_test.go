package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/dev/measurements.md")

// briefly is the agent's answer to a short request. The fixed phases get the answers of
// the long one: they do the same for any request.
const briefly = `turns:
  - calls: [{name: write_content, args: {title: Journals, text: "LONG LONG"}}]
    usage: {in: 3250, out: 210}
  - text: "A short post.\nCONTENT_COMPLETE"
    usage: {in: 3500, out: 20}
`

// TestCompare runs the blog agent and the seven phases on a short and a long request, and
// compares the results with docs/dev/measurements.md.
func TestCompare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.place(t, article(""), map[string]string{"brief.yaml": strings.ReplaceAll(briefly, "LONG", strings.Repeat("It goes on where it stopped. ", 12))})
	table := compareHead
	for _, c := range []struct{ request, script string }{{"short", "script:../brief.yaml"}, {"long", "script:../turns.yaml"}} {
		table += compared(t, p, c.request, "content", "blog@"+c.script, "blog_phases@script:../turns.yaml", "Explain journals")
	}
	tableIn(t, "../../docs/dev/measurements.md", "TestCompare", table)
}

const compareHead = "| request | run by | turns | tool calls | requests to models | tokens in | tokens out | made |\n|---|---|---|---|---|---|---|---|\n"

// compared has two agents do one request and returns what each took and made,
// as lines of a table. Both must be done and have an artifact.
func compared(t *testing.T, p *place, request, artifact string, args ...string) (lines string) {
	t.Helper()
	code, out := p.run(append(append([]string{"run", "compare"}, args...), "--json")...)
	if code != 0 {
		t.Fatalf("%s: exit code %d\n%s", request, code, out)
	}
	var got struct {
		Sides []struct {
			Agent, Status          string
			Turns, Calls, Requests int
			Usage                  struct{ In, Out int }
			Artifacts              map[string]int
		}
	}
	out = out[max(0, strings.Index(out, "{")):] // notes come first
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Sides) != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, s := range got.Sides {
		if s.Status != "done" || s.Artifacts[artifact] == 0 {
			t.Errorf("%s: %+v", request, s)
		}
		lines += fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %s |\n", request, s.Agent, s.Turns, s.Calls, s.Requests, s.Usage.In, s.Usage.Out, made(s.Artifacts))
	}
	return lines
}

// tableIn wants a document to have the table of a test; -update writes it.
func tableIn(t *testing.T, doc, test, table string) {
	t.Helper()
	begin, end := "<!-- table: go test ./cmd/adroit -run "+test+" -update -->\n", "<!-- end -->"
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, more := strings.Cut(rest, end)
	if !ok || !more {
		t.Fatalf("%s has no place for the table", doc)
	}
	want := before + begin + table + end + after
	if *update {
		if err := os.WriteFile(doc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(b) != want {
		t.Errorf("%s is stale; run go test ./cmd/adroit -run %s -update\n%s", doc, test, table)
	}
}

// made lists artifacts, a family by its number.
func made(artifacts map[string]int) string {
	var out []string
	many := map[string]int{} // their names have a digest of an address, with its port
	for _, name := range slices.Sorted(maps.Keys(artifacts)) {
		if family, _, ok := strings.Cut(name, "/"); ok {
			many[family]++
			continue
		}
		out = append(out, name)
	}
	for _, family := range slices.Sorted(maps.Keys(many)) {
		out = append(out, fmt.Sprintf("%s (%d)", family, many[family]))
	}
	return strings.Join(out, ", ")
}
