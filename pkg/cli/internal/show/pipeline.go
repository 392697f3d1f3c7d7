package show

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// stage shows what happens to the steps of a pipeline; it reports whether ev is
// about that.
func (v *Viewer) stage(ev event.Event) bool {
	switch ev.Kind {
	case event.PipelineStarted:
	case event.StageStarted:
		var d struct {
			Name, Kind, Agent string
			Round             int
		}
		if json.Unmarshal(ev.Data, &d) != nil {
			return true
		}
		text := "step " + ev.Text
		if d.Name != "" && d.Name != ev.Text {
			text += " (" + d.Name + ")"
		}
		text += ": " + d.Kind
		if d.Agent != "" {
			text += " " + d.Agent
		}
		if d.Round > 1 {
			text += fmt.Sprintf(", run %d", d.Round)
		}
		v.recalled()
		v.aside(kit.Bold, text)
	case event.StageRetried:
		var d struct {
			Error       string
			Attempt, Of int
			Wait        time.Duration `json:"wait_ns"`
		}
		if json.Unmarshal(ev.Data, &d) != nil {
			return true
		}
		text := fmt.Sprintf("step %s: attempt %d of %d", ev.Text, d.Attempt, d.Of)
		if d.Wait > 0 {
			text += " in " + d.Wait.String()
		}
		v.recalled()
		v.aside(kit.Plain, text+": "+kit.FirstSentence(d.Error))
	case event.StageRecovery:
		v.recalled()
		v.aside(kit.Plain, "recovery: "+ev.Text)
	case event.StageFinished:
		var r pipeline.Row
		if json.Unmarshal(ev.Data, &r) != nil {
			return true
		}
		v.recalled()
		style, text := kit.Plain, "step "+r.ID+": "+r.Status
		if r.Status == pipeline.Failed {
			style = kit.Red
		}
		if r.Error != "" {
			text += ": " + kit.FirstSentence(r.Error)
		}
		v.aside(style, text)
	case event.PipelineFinished:
		var r pipeline.Result
		if json.Unmarshal(ev.Data, &r) != nil || r.Within {
			return true
		}
		v.recalled()
		v.clear()
		stages(r.Rows).Write(v)
	default:
		return false
	}
	return true
}

// stages is the table of what became of a pipeline's steps.
func stages(rows []pipeline.Row) *kit.Table {
	t := new(kit.Table)
	t.Row("     step", "status", "attempts", "turns", "tokens in", "out", "cost", "time")
	var add func(rows []pipeline.Row, indent string)
	add = func(rows []pipeline.Row, indent string) {
		for i := range rows {
			r := &rows[i]
			id := r.ID
			if r.Round > 1 {
				id += fmt.Sprintf(" (run %d)", r.Round)
			}
			cost := "-"
			if r.Cost > 0 {
				cost = fmt.Sprintf("%.4f USD", r.Cost)
			}
			t.Row("     "+indent+id, r.Status, kit.Count(r.Attempts), kit.Count(r.Turns), kit.Count(r.In), kit.Count(r.Out), cost, strings.TrimSpace(kit.Duration(r.Took)))
			add(r.Rows, indent+"  ")
		}
	}
	add(rows, "")
	return t
}
