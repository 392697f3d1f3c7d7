package show

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/text/mermaid"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A logbook makes events as a job emits them.
type logbook struct {
	evs []event.Event
	now time.Time
}

func (l *logbook) add(ev event.Event, data any) {
	l.now = l.now.Add(time.Second)
	ev.Seq, ev.Time = int64(len(l.evs)+1), l.now
	if data != nil {
		ev.Data, _ = json.Marshal(data)
	}
	l.evs = append(l.evs, ev)
}

func (l *logbook) step(path, kind, name, text string, data any) {
	l.add(event.Event{Kind: event.StepStarted, Path: path, Step: kind, Name: name}, nil)
	l.add(event.Event{Kind: event.StepFinished, Path: path, Step: kind, Name: name, Text: text, Took: time.Second}, data)
}

func (l *logbook) draw(status jobs.Status) *Node {
	return NewGraph(&jobs.Job{ID: "J1", Agent: "lead", Status: status}, l.evs, nil)
}

// The grammar of the flowcharts that are written, which is a part of Mermaid's.
var (
	chartText = `"(?:[\p{L}\p{M}\p{N} .,:_/()+-]|#[0-9]+;|<br/>)*"`
	chartLine = []*regexp.Regexp{
		regexp.MustCompile(`^ *(n[0-9]+)(?:\[` + chartText + `\]|\(` + chartText + `\)|\(\[` + chartText + `\]\)|\(\( \)\))$`),
		regexp.MustCompile(`^ *subgraph (n[0-9]+) \[` + chartText + `\]$`),
		regexp.MustCompile(`^ *end$`),
		regexp.MustCompile(`^  (n[0-9]+) --> (n[0-9]+)$`),
		regexp.MustCompile(`^  classDef [a-z]+ [a-z-]+:#?[0-9a-f]+$`),
		regexp.MustCompile(`^  class (n[0-9]+(?:,n[0-9]+)*) [a-z]+$`),
	}
)

// parsed checks a chart against the grammar: each line is one of its forms,
// boxes are closed, and what edges and classes name is there, once.
func parsed(t *testing.T, chart string) (nodes, edges int) {
	t.Helper()
	rest, ok := strings.CutPrefix(chart, "flowchart TD\n")
	if !ok {
		t.Fatalf("it does not begin as a flowchart:\n%s", chart)
	}
	known, open, named := map[string]bool{}, 0, []string{}
	for l := range strings.SplitSeq(strings.TrimSuffix(rest, "\n"), "\n") {
		form := -1
		var m []string
		for i, re := range chartLine {
			if m = re.FindStringSubmatch(l); m != nil {
				form = i
				break
			}
		}
		switch form {
		case -1:
			t.Fatalf("not in the grammar: %q", l)
		case 0, 1:
			if known[m[1]] {
				t.Fatalf("twice: %q", l)
			}
			known[m[1]] = true
			nodes++
			open += form
		case 2:
			if open--; open < 0 {
				t.Fatalf("a box is closed that is not open:\n%s", chart)
			}
		case 3:
			edges++
			named = append(named, m[1], m[2])
		case 5:
			named = append(named, strings.Split(m[1], ",")...)
		}
	}
	if open != 0 {
		t.Fatalf("a box is not closed:\n%s", chart)
	}
	for _, id := range named {
		if !known[id] {
			t.Fatalf("there is no %s:\n%s", id, chart)
		}
	}
	return nodes, edges
}

var hostile = []string{
	`"]; click n1 call alert(1); n9["`, "x\n  n1 --> n2\nend", "end", "`**bold**`", "%%{init: {'securityLevel': 'loose'}}%%", "<img src=x onerror=alert(1)>",
	"#quot;", "a --> b", "\x1b[31m", "\u202e", "subgraph", "---\ntitle: x\n---", "]]))}}", "javascript:alert(1)", "\xff\xfe", "&quot;", "|x|", "日本語 é",
}

// Whatever tools, agents, models and errors are called, the drawing is the same.
func TestGraphHostile(t *testing.T) {
	draw := func(words string) string {
		l := &logbook{}
		l.step("1.0", "model", words, words, map[string]any{"calls": []string{words}})
		l.add(event.Event{Kind: event.AgentStarted, Path: "1.1", Name: words}, nil)
		l.step("1.1.1.0", "tool", words, words, map[string]any{"failed": true})
		l.add(event.Event{Kind: event.AgentFinished, Path: "1.2", Name: words}, map[string]any{"status": "failed", "reason": words})
		l.add(event.Event{Kind: event.StageStarted, Path: "1.3", Text: words}, nil)
		l.step("1.4", words, words, words, nil)
		d := l.draw(jobs.Running)
		if text := d.Text(); strings.ContainsAny(text, "\x1b\u202e") || strings.Count(text, "\n") != 6 {
			t.Errorf("%q gets into the text:\n%s", words, text)
		}
		return d.Mermaid()
	}
	nodes, edges := parsed(t, draw("plain"))
	for _, words := range hostile {
		if n, e := parsed(t, draw(words)); n != nodes || e != edges {
			t.Errorf("%q draws %d nodes and %d edges, want %d and %d", words, n, e, nodes, edges)
		}
	}
}

func FuzzGraphLabel(f *testing.F) {
	for _, words := range hostile {
		f.Add(words)
	}
	whole := regexp.MustCompile(`^` + chartText + `$`)
	f.Fuzz(func(t *testing.T, words string) {
		if got := mermaid.Label((&Node{title: words, note: words}).label(), words); !whole.MatchString(got) {
			t.Errorf("%q is written as %q", words, got)
		}
	})
}

// Branches that were at work at once stand side by side, also when one goes on;
// those that were not follow each other.
func TestGraphBranches(t *testing.T) {
	l := &logbook{}
	l.step("1.0", "model", "m", "", map[string]any{"calls": []string{"a", "b"}})
	l.add(event.Event{Kind: event.AgentStarted, Path: "1.1.0.0", Name: "a"}, nil)
	l.add(event.Event{Kind: event.AgentStarted, Path: "1.1.1.0", Name: "b"}, nil)
	l.step("1.1.1.0.1.0", "tool", "look", "seen", nil)
	l.step("1.1.0.0.1.0", "tool", "look", "seen", nil)
	l.add(event.Event{Kind: event.AgentFinished, Path: "1.1.0.1", Name: "a"}, map[string]any{"status": "done"})
	l.add(event.Event{Kind: event.AgentFinished, Path: "1.1.1.1", Name: "b"}, map[string]any{"status": "done"})
	l.step("1.2", "model", "m", "Fine.", nil)
	chart := l.draw(jobs.Done).Mermaid()
	parsed(t, chart)
	// n1 the job, n2 turn 1, n3 a, n5 b, n7 turn 2.
	for _, edge := range []string{"n1 --> n2", "n2 --> n3", "n2 --> n5", "n3 --> n7", "n5 --> n7"} {
		if !strings.Contains(chart, "  "+edge+"\n") {
			t.Errorf("there is no %s:\n%s", edge, chart)
		}
	}
	if strings.Contains(chart, "n3 --> n5") {
		t.Errorf("branches follow each other:\n%s", chart)
	}
	if text := l.draw(jobs.Done).Text(); !strings.Contains(text, "\n  2 at once\n  | a  (done, ") || !strings.Contains(text, "\n  |\n  | b  (done, ") {
		t.Errorf("the text has no branches:\n%s", text)
	}
	// The same, still at work.
	l.evs = l.evs[:8]
	open := l.draw(jobs.Running).Mermaid()
	parsed(t, open)
	if !strings.Contains(open, "n2 --> n3") || !strings.Contains(open, "n2 --> n5") || !strings.Contains(open, "class n3,n5 open") {
		t.Errorf("what is at work is not drawn as that:\n%s", open)
	}
}

// A resume recalls steps, which is none itself, and a call that asks has ended: nothing
// of a job whose steps follow each other is drawn as done at once.
func TestGraphResumed(t *testing.T) {
	l := &logbook{}
	l.step("1.0", "tool", "one", "first", nil)
	l.step("1.1", "tool", "two", "", map[string]any{"asks": true})
	l.add(event.Event{Kind: event.StepStarted, Path: "1.2", Step: "await"}, nil)
	l.add(event.Event{Kind: event.StepRecalled, Text: "2 steps recalled, 1.0 to 1.1"}, map[string]any{"steps": 2, "from": "1.0", "to": "1.1"})
	l.add(event.Event{Kind: event.StepFinished, Path: "1.2", Step: "await", Text: "signal received"}, nil)
	l.step("1.3", "tool", "two", "second", nil)
	text := l.draw(jobs.Done).Text()
	want := []string{"J1 lead", "one: first", "two: asks", "waits for a person: signal received", "two: second"}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), text)
	}
	for i, w := range want {
		if !strings.HasPrefix(strings.TrimSpace(lines[i]), w+"  ") {
			t.Errorf("line %d is not %q:\n%s", i, w, text)
		}
	}
}

// A drawing has a bounded size, and says what is left out.
func TestGraphBounded(t *testing.T) {
	long, wide := &logbook{}, &logbook{}
	for i := range 2000 {
		long.step(fmt.Sprintf("1.%d", i), "tool", "look", "", nil)
		path := fmt.Sprintf("1.1.%d", i)
		wide.add(event.Event{Kind: event.AgentStarted, Path: path + ".0", Name: "a"}, nil)
		for k := range 5 {
			wide.step(fmt.Sprintf("%s.0.1.%d", path, k), "tool", "look", "", nil)
		}
		wide.add(event.Event{Kind: event.AgentFinished, Path: path + ".1", Name: "a"}, map[string]any{"status": "done"})
	}
	for name, l := range map[string]*logbook{"long": long, "wide": wide} {
		d := l.draw(jobs.Done)
		nodes, _ := parsed(t, d.Mermaid())
		if nodes < maxDrawn/2 || nodes > maxDrawn+10 {
			t.Errorf("%s: %d nodes are drawn", name, nodes)
		}
		if chart, text := d.Mermaid(), d.Text(); !strings.Contains(chart, "1,700 nodes left out") || !strings.Contains(text, "... 1,700 nodes left out\n") || len(text) > 100_000 {
			t.Errorf("%s: it does not say what is left out, or is too long:\n%s\n%s", name, chart[:1000], text[:1000])
		}
	}
}
