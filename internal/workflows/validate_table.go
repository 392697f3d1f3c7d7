package workflows

import (
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/spelling"
)

// Headline sums up how the validation went.
func (v Validation) Headline() string {
	good := 0
	var bad []string
	cancelled := false
	for _, s := range v.Stages {
		switch s.Status {
		case StagePassed, StageFixed:
			good++
		case StageFailed:
			bad = append(bad, s.Name+" failed: "+spelling.FirstLine(s.Error))
		case StageCancelled:
			cancelled = true
		}
	}
	text := fmt.Sprintf("%d of %d stages pass", good, len(v.Stages))
	if cancelled {
		bad = append(bad, "the rest was cancelled")
	}
	if len(bad) > 0 {
		text += "; " + strings.Join(bad, "; ")
	}
	return text
}

// Table shows every stage, for people.
func (v Validation) Table() string {
	rows := make([][]string, len(v.Stages))
	var width [3]int
	for i, s := range v.Stages {
		what := ""
		switch {
		case len(s.Fixes) == 0 && s.Repair != "":
			what = "after " + s.Repair
		case len(s.Fixes) > 0:
			what = fmt.Sprintf("after %d", len(s.Fixes))
			if what += " attempts"; len(s.Fixes) == 1 {
				what = "after 1 attempt"
			}
		}
		if s.Took > 0 {
			what = strings.TrimPrefix(what+", "+s.Took.Round(10*time.Millisecond).String(), ", ")
		}
		if n := s.Usage.In + s.Usage.Out; n > 0 {
			what += fmt.Sprintf(", %d tokens", n)
		}
		rows[i] = []string{s.Name, s.Status, what, s.Command}
		for k := range width {
			width[k] = max(width[k], len([]rune(rows[i][k])))
		}
		if s.Error != "" {
			rows[i][3] += "\n    " + spelling.FirstLine(s.Error)
		}
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for k, w := range width {
			line += r[k] + strings.Repeat(" ", w-len([]rune(r[k]))+2)
		}
		b.WriteString(strings.TrimRight(line+r[3], " ") + "\n")
	}
	return b.String()
}
