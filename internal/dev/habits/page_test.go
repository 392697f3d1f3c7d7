package habits

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/dev/habits.md instead of comparing it")

var servers = []string{"ollama", "openai", "anthropic"}

// page renders the matrix of docs/dev/habits.md.
func page(cells map[string]result) string {
	var b strings.Builder
	reports := map[string]bool{}
	for _, h := range table {
		reports[h.source] = true
	}
	fmt.Fprintf(&b, `# Weak models, habit by habit

<!-- make habits writes this page -->

A stand-in repairs one line of a script and proves it by the project's test: it reads, edits and calls finish, three requests in all. Each row is one bad habit that it shows on the way, %d of them from %d public reports. It keeps to a habit twice at each step, then does as it is asked; a row with * keeps to it for good. A cell has the requests that the job took over the API of Ollama, of OpenAI and of Anthropic, by the way in which tools are called, with the end if it is not "done".

No cell may have finished work that does not end done, a call that nobody answers, or one that runs although it was not meant.

| habit | report | native | constrained | text |
|---|---|---|---|---|
`, len(table), len(reports))
	for _, h := range table {
		star := ""
		if h.times == always {
			star = " *"
		}
		fmt.Fprintf(&b, "| %s%s | %s |", h.name, star, h.source)
		row(&b, cells, h, &jobs[0])
	}
	b.WriteString("\nThe ten that cost most, at two more tasks: the end of a file of 300 lines, and a file that has to be made (two requests in all).\n\n| habit | task | native | constrained | text |\n|---|---|---|---|---|\n")
	for _, h := range table {
		for at := 1; h.worst && at < len(jobs); at++ {
			fmt.Fprintf(&b, "| %s | %s |", h.name, jobs[at].name)
			row(&b, cells, h, &jobs[at])
		}
	}
	requests, tokens := 0, 0
	for _, c := range cells {
		requests, tokens = requests+c.requests, tokens+c.tokens
	}
	fmt.Fprintf(&b, "\n%d cells, %d requests, %d tokens sent in all (bytes of requests by four).\n", len(cells), requests, tokens)
	return b.String() + peerTable(cells)
}

// row ends a row of the matrix with its cells.
func row(b *strings.Builder, cells map[string]result, h habit, j *job) {
	for _, mode := range modes {
		for i, wire := range servers {
			c := cells[key(h, j, mode, wire)]
			sep := " "
			if i > 0 {
				sep = ", "
			}
			fmt.Fprintf(b, "%s%d", sep, c.requests)
			if c.status != "done" {
				fmt.Fprintf(b, " %s", strings.ReplaceAll(c.status, "_", " "))
			}
		}
		b.WriteString(" |")
	}
	b.WriteString("\n")
}

// write compares the page with the one in docs/dev, or writes it with -update.
func write(t testing.TB, cells map[string]result) {
	const file = "../../../docs/dev/habits.md"
	got := page(cells)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("docs/dev/habits.md is not what comes out: make habits writes it (%v)", err)
	}
}
