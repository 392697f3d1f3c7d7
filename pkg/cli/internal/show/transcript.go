package show

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Transcript renders what a job's models were sent and answered, whole.
func Transcript(s *kit.Screen, t *adroit.Transcript) {
	for i := range t.Turns {
		turn := &t.Turns[i]
		offered := ""
		head := fmt.Sprintf("== turn %d: %s", turn.Turn, turn.Model)
		switch {
		case turn.After == 0 && turn.Turn > 1:
			head += ", a new conversation"
		case turn.After > 0 && turn.After != turn.Turn-1:
			head += fmt.Sprintf(", continues turn %d", turn.After)
		}
		if len(turn.Tools) > 0 {
			var names []string
			for _, tool := range turn.Tools {
				names = append(names, tool.Name)
			}
			offered = "   offered: " + strings.Join(names, ", ")
		}
		fmt.Fprintln(s, s.Paint(kit.Bold, kit.SanitizeLine(head)))
		if offered != "" {
			fmt.Fprintln(s, s.Paint(kit.Dim, strings.Join(kit.Wrap(kit.SanitizeLine(offered), kit.RowWidth(s, 0)), "\n   ")))
		}
		for _, m := range turn.New {
			message(s, m)
		}
		if turn.Response == nil {
			fmt.Fprintln(s, s.Paint(kit.Dim, "-- its response is not in a later request; "+hint.Command("jobs logs %s", t.Job)+" has its text if it came"))
			continue
		}
		message(s, *turn.Response)
	}
	for _, m := range t.Rest {
		message(s, m)
	}
}

// message renders one message of a conversation.
func message(s *kit.Screen, m llm.Message) {
	label := string(m.Role)
	if m.Role == llm.Tool {
		label = "result of " + m.Name
		if m.Failed {
			label += ", failed"
		}
	}
	fmt.Fprintln(s, s.Paint(kit.Magenta, kit.SanitizeLine("-- "+label)))
	if m.Thinking != "" {
		fmt.Fprintln(s, s.Paint(kit.Dim, "(thinking)"))
		block(s, kit.Dim, m.Thinking)
	}
	if m.Text != "" {
		block(s, kit.Plain, m.Text)
	}
	for _, c := range m.Calls {
		fmt.Fprintln(s, s.Paint(kit.Bold, "-> "+kit.SanitizeLine(c.Name)))
		arguments(s, c)
	}
}

func block(s *kit.Screen, style, text string) {
	for l := range strings.Lines(text) {
		fmt.Fprintln(s, s.Paint(style, kit.Sanitize(strings.TrimSuffix(l, "\n"))))
	}
}

// arguments renders those of a call, each on lines of its own.
func arguments(s *kit.Screen, c llm.Call) {
	if c.Malformed != "" {
		fmt.Fprintf(s, "   %s\n", s.Paint(kit.Red, kit.SanitizeLine(c.Malformed)))
		block(s, kit.Plain, c.Raw)
		return
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil {
		fmt.Fprintf(s, "   %s\n", kit.SanitizeLine(string(c.Args)))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value := Readable(args[name])
		var text string
		if json.Unmarshal(args[name], &text) == nil {
			value = text
		}
		value = strings.ReplaceAll(strings.TrimSuffix(value, "\n"), "\n", "\n      ")
		fmt.Fprintf(s, "   %s: %s\n", kit.SanitizeLine(name), kit.Sanitize(value))
	}
}
