package executor

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

const (
	leastRepeat = 400 // bytes of a text that is worth a reference
	mostShown   = 500 // texts
)

// fitReplies has the model shown no text of a call that only reads which stands in the
// conversation already, and has large results take the room that small ones leave.
func (t *Task) fitReplies(s *State, calls []llm.Call, replies []ToolResult) {
	if t.Revision < turn.SharedRoom {
		return
	}
	digests, sizes := make([]string, len(replies)), make([]int, len(replies))
	for i := range replies {
		r := &replies[i]
		if tool := t.tool(calls[i].Name); tool != nil && tool.Needs == tools.Read && t.pure(calls[i]) && !r.Failed && len(r.Images) == 0 && len(r.Text) >= leastRepeat {
			digests[i] = flow.Digest([]byte(calls[i].Name + "\n" + r.Text))[:16]
			if slices.Contains(s.Shown, digests[i]) || slices.Contains(digests[:i], digests[i]) {
				digests[i], r.shown = "", "Nothing of this has changed: it stands word for word in the result of your earlier call of "+calls[i].Name+".\n"
			}
		}
		sizes[i] = len(cmp.Or(r.shown, r.Text))
	}
	_, share := t.resultRoom(s, callContext{calls: len(calls)})
	var more []string
	for i, room := range turn.Share(sizes, share*len(calls)) {
		r := &replies[i]
		if share == 0 || room >= sizes[i] {
			continue
		}
		digests[i] = ""
		if next := r.cut(calls[i], room); next != "" {
			more = append(more, next)
		}
	}
	if more != nil {
		last := &replies[len(replies)-1]
		last.shown = strings.TrimSuffix(cmp.Or(last.shown, last.Text), "\n") + "\n[Together the results of this answer are too long. What was cut goes on with " + strings.Join(more, ", ") + "]\n"
	}
	for _, d := range digests {
		if d != "" {
			s.Shown = append(s.Shown, d)
		}
	}
	s.Shown = s.Shown[max(0, len(s.Shown)-mostShown):]
}

// cut shows less of a result and returns the call that shows more, "" if there is none.
func (r *ToolResult) cut(c llm.Call, room int) string {
	if r.Page != nil && r.Kept == nil {
		text, last := turn.CutPage(r.Text, *r.Page, room)
		r.shown = text
		var args map[string]any
		if last >= r.Page.To || json.Unmarshal(c.Args, &args) != nil {
			return ""
		}
		if args["from"] = last + 1; args["lines"] != nil {
			args["lines"] = r.Page.To - last
		}
		return callText(c.Name, args)
	}
	id, whole := "", len(r.Text)
	if r.Kept != nil {
		id, whole = r.Kept.ID, r.Kept.Bytes
	}
	text, lines := turn.CutMore(r.Text, whole, room, id)
	if r.shown = text; id == "" {
		return ""
	}
	return callText(turn.ReadResult, map[string]any{"id": id, "from": lines + 1})
}

// callText is a call as a model is shown it, "" if there is none.
func callText(name string, args map[string]any) string {
	b, err := jsontext.Marshal(args)
	if err != nil {
		return ""
	}
	return name + " " + string(b)
}
