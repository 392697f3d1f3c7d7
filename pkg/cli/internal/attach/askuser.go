package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// askUser puts what a tool asks to the person at the terminal, field by field, and
// sends the answer. Nothing that is typed is sent before a yes.
func (s *session) askUser(ctx context.Context, q *jobs.Question) (answered bool, err error) {
	d := s.show(ctx, q)
	fields, answer := render.Fields(q), map[string]json.RawMessage{}
	for _, f := range fields {
		fmt.Fprintf(s.e.Err, "     %s: ", render.Quote(format.SanitizeLine(f.Name)))
		line, err := d.in.ReadLine()
		if err != nil {
			fmt.Fprintln(s.e.Err)
			return false, nil
		}
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "" && !f.Required:
		case f.Text || !json.Valid([]byte(line)):
			if answer[f.Name], err = json.Marshal(line); err != nil {
				return false, err
			}
		default:
			answer[f.Name] = json.RawMessage(line)
		}
	}
	sig := adroit.Signal{}
	switch d.choose("send it? [y]es, [n]o: ", false) {
	case "yes":
		sig.Name = signalOf(q, "answer")
		if len(fields) > 0 {
			if sig.Value, err = json.Marshal(answer); err != nil {
				return false, err
			}
		}
	case "no":
		sig.Name = signalOf(q, "decline")
	default:
		return false, nil
	}
	_, err = s.c.Signal(ctx, s.id, sig)
	return err == nil, err
}
