package show

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
)

// maxProductLines bounds the lines of a text artifact that are shown.
const maxProductLines = 60

// workings are artifacts that are evidence or material, not what was asked for;
// jobs diff shows the diff.
var workings = []string{"diff", "test_result", "checks", "git_diff", "output", "page", "links", "search_results", "feed_items", "citations", "analysis", "outline", "link_report", "own_figures", "todo"}

// Product renders what a job produced: findings and a triage line by line, texts as
// they are, all else by name and size. words are the model's last, which are on the
// screen already.
func Product(s *kit.Screen, list *adroit.ArtifactList, words string) {
	var rest []string
	for _, name := range slices.Sorted(maps.Keys(list.Artifacts)) {
		value := list.Artifacts[name].Value
		shown := false
		switch name {
		case "findings":
			shown = findings(s, value)
		case "triage":
			shown = triage(s, value)
		case "content", "show_notes", "published":
			shown = text(s, list.Job, name, value, words)
		}
		if !shown && !slices.Contains(workings, name) && !strings.HasPrefix(name, "section/") && !strings.HasPrefix(name, "figures/") {
			rest = append(rest, fmt.Sprintf("%s (%s)", kit.SanitizeLine(name), kit.Bytes(int64(len(value)))))
		}
	}
	if len(rest) > 0 {
		fmt.Fprintf(s, "produced: %s    %s\n", strings.Join(spelling.First(rest, 6), ", "), hint.Command("jobs artifacts %s", list.Job))
	}
}

func severityStyle(severity string) string {
	switch severity {
	case "critical", "major":
		return kit.Red
	case "nit":
		return kit.Dim
	}
	return kit.Plain
}

// findings renders the artifact of report_findings: file:line severity title.
func findings(s *kit.Screen, value json.RawMessage) bool {
	var list []struct {
		File, Severity, Title, Suggestion string
		Line                              int
	}
	if json.Unmarshal(value, &list) != nil {
		return false
	}
	for _, f := range list {
		if f.File == "" || f.Title == "" {
			return false // an artifact of another form
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(s, "no findings")
	}
	for _, f := range list {
		place := fmt.Sprintf("%s:%d", kit.Path(f.File), f.Line)
		severity := kit.SanitizeLine(f.Severity)
		for i, row := range kit.Wrap(kit.SanitizeLine(f.Title), kit.RowWidth(s, kit.Columns(place+severity)+2)) {
			if i == 0 {
				fmt.Fprintf(s, "%s %s %s\n", s.Paint(kit.Bold, place), s.Paint(severityStyle(f.Severity), severity), row)
				continue
			}
			fmt.Fprintf(s, "    %s\n", row)
		}
		if f.Suggestion != "" {
			for _, row := range kit.Wrap(kit.SanitizeLine(f.Suggestion), kit.RowWidth(s, 4)) {
				fmt.Fprintf(s, "    %s\n", s.Paint(kit.Dim, row))
			}
		}
	}
	return true
}

// triage renders the artifact of report_triage.
func triage(s *kit.Screen, value json.RawMessage) bool {
	var t struct {
		Kind, Severity, Area, Reproduction, Confidence string
		NextStep                                       string `json:"next_step"`
		Files                                          []struct{ Path, Reason string }
	}
	if json.Unmarshal(value, &t) != nil || t.Kind == "" || t.NextStep == "" {
		return false
	}
	fmt.Fprintf(s, "%s %s in %s, confidence %s\n", s.Paint(severityStyle(t.Severity), kit.SanitizeLine(t.Severity)), kit.SanitizeLine(t.Kind), kit.SanitizeLine(t.Area), kit.SanitizeLine(t.Confidence))
	put := func(label, text string) {
		for i, row := range kit.Wrap(kit.SanitizeLine(text), kit.RowWidth(s, len(label)+1)) {
			if i > 0 {
				label = strings.Repeat(" ", len(label))
			}
			fmt.Fprintf(s, "%s %s\n", s.Paint(kit.Bold, label), row)
		}
	}
	for _, f := range t.Files {
		put("  "+kit.Path(f.Path)+":", f.Reason)
	}
	if t.Reproduction != "" {
		put("  reproduce:", t.Reproduction)
	}
	put("  next:", t.NextStep)
	return true
}

// text renders an artifact that is a text, or has one in the field markdown or text.
func text(s *kit.Screen, job, name string, value json.RawMessage, words string) bool {
	var whole string
	if json.Unmarshal(value, &whole) != nil {
		var in struct{ Markdown, Text string }
		if json.Unmarshal(value, &in) != nil {
			return false
		}
		if whole = in.Markdown; whole == "" {
			whole = in.Text
		}
	}
	if whole = strings.TrimSpace(whole); whole == "" {
		return false
	}
	if whole == words {
		return true
	}
	lines := strings.Split(whole, "\n")
	more := len(lines) - maxProductLines
	if more > 0 {
		lines = lines[:maxProductLines]
	}
	fmt.Fprintf(s, "%s\n", s.Paint(kit.Dim, "-- "+name+" --"))
	fmt.Fprint(s, kit.NewMarkdown(s, kit.Plain, "").Text(strings.Join(lines, "\n")))
	if more > 0 {
		fmt.Fprintf(s, "... %s    %s\n", kit.Plural(more, "more line"), hint.Command("jobs artifacts %s %s", job, name))
	}
	return true
}

// Artifacts renders the list of what a job has produced.
func Artifacts(w io.Writer, list *adroit.ArtifactList) {
	var t kit.Table
	for _, name := range slices.Sorted(maps.Keys(list.Artifacts)) {
		a := list.Artifacts[name]
		t.Row(name, kit.Plural(len(a.Value), "byte"), "by "+a.Tool, fmt.Sprintf("version %d", a.Version))
	}
	t.Write(w)
}

// Artifact renders an artifact: text as it is, escaped on a terminal, all else as
// JSON.
func Artifact(s *kit.Screen, a executor.Artifact) error {
	var text string
	if json.Unmarshal(a.Value, &text) != nil {
		return kit.JSON(s, a.Value)
	}
	if s.IsTerminal() {
		text = kit.Sanitize(text)
	}
	fmt.Fprintln(s, strings.TrimSuffix(text, "\n"))
	return nil
}
