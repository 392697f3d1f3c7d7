package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSavings does the task both ways and wants docs/savings.md to tell what
// that took. What tests print of their time differs from run to run, so that
// tokens are compared by the hundred.
func TestSavings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.place(t, article(""), nil)
	code, out := p.run("bench", "savings", "--json")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	out = out[max(0, strings.Index(out, "[")):] // notes come first
	type side struct{ Requests, Tokens int }
	var rows []struct {
		Operation       string
		Agent, Workflow side
	}
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	table := "| operation | one agent: requests | tokens | workflow: requests | tokens | saved |\n|---|---|---|---|---|---|\n"
	hundreds := func(n int) int { return (n + 50) / 100 * 100 }
	for _, r := range rows {
		saved := 100 * (1 - float64(r.Workflow.Tokens)/float64(r.Agent.Tokens))
		table += fmt.Sprintf("| %s | %d | %d | %d | %d | %.0f %% |\n", r.Operation, r.Agent.Requests, hundreds(r.Agent.Tokens), r.Workflow.Requests, hundreds(r.Workflow.Tokens), saved)
	}
	if len(rows) != 7 {
		t.Fatalf("%d rows, want 7: %+v", len(rows), rows)
	}
	all := rows[6]
	if all.Workflow.Requests >= all.Agent.Requests {
		t.Errorf("the workflow makes %d requests, the agent %d", all.Workflow.Requests, all.Agent.Requests)
	}
	if all.Workflow.Tokens == 0 || all.Workflow.Tokens >= all.Agent.Tokens {
		t.Errorf("the workflow takes %d tokens, the agent %d", all.Workflow.Tokens, all.Agent.Tokens)
	}
	const doc, begin, end = "../../docs/savings.md", "<!-- table: go test ./cmd/adroit -run TestSavings -update -->\n", "<!-- end -->"
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	said, after, more := strings.Cut(rest, end)
	if !ok || !more {
		t.Fatalf("%s has no place for the table", doc)
	}
	if *update {
		if err := os.WriteFile(doc, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	number := regexp.MustCompile(`-?\d+`)
	words := func(s string) string { return number.ReplaceAllString(s, "#") }
	was, is := numbers(said), numbers(table)
	if words(said) != words(table) || len(was) != len(is) {
		t.Fatalf("docs/savings.md is stale; run go test ./cmd/adroit -run TestSavings -update\n%s", table)
	}
	for i := range is {
		if d := was[i] - is[i]; d > 100+is[i]/20 || -d > 100+is[i]/20 || is[i] < 20 && is[i] > 0 && d != 0 {
			t.Errorf("docs/savings.md says %d where %d is measured; run go test ./cmd/adroit -run TestSavings -update\n%s", was[i], is[i], table)
		}
	}
}

func numbers(s string) (out []int) {
	for _, m := range regexp.MustCompile(`-?\d+`).FindAllString(s, -1) {
		var n int
		if _, err := fmt.Sscan(m, &n); err == nil {
			out = append(out, n)
		}
	}
	return out
}
