package show

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// maxDrawn bounds the number of nodes in a drawing of a run.
const maxDrawn = 300

// A Node is a node of a drawing: the job, one of its parts, or a step.
type Node struct {
	path    string
	what    string // turn, call, another kind of step; agent, step of parts
	title   string
	status  string
	note    string // what it did
	tries   int
	tokens  int
	cost    float64
	turns   int // of a part
	start   time.Duration
	took    time.Duration
	from    int64 // numbers of the first event and of the last, 0 if it goes on
	to      int64
	kids    []*Node
	omitted int // kids that are not drawn
	after   int // how many of the kids are before those
}

// Ways to draw.
const (
	Text    = "text"
	Mermaid = "mermaid"
)

// A graphBuilder makes a graph of a job's events, one after the other.
type graphBuilder struct {
	books        jobs.UsageReport
	root         *Node
	parts, steps map[string]*Node // by path
	turns        map[*Node]int
	ends         map[int64]int64 // numbers of events that end parts, by their time
	first, last  time.Time
}

// NewGraph builds the graph of a job from its events.
func NewGraph(j *jobs.Job, evs []event.Event, rate func(model string, u llm.Usage) float64) *Node {
	root := &Node{what: "job", title: strings.TrimSpace(j.ID + " " + j.Agent), status: string(j.Status)}
	g := &graphBuilder{root: root, parts: map[string]*Node{}, steps: map[string]*Node{}, turns: map[*Node]int{}, ends: map[int64]int64{}}
	g.books.Rate = rate
	for _, ev := range evs {
		g.add(ev)
	}
	for _, d := range g.steps {
		if d.to == 0 {
			d.status, d.took = string(j.Status), max(0, g.last.Sub(g.first)-d.start)
		}
	}
	all, _ := g.books.Parts(0, j.Status)
	for i := range all {
		if d := g.parts[all[i].Path]; d != nil {
			d.part(&all[i])
			d.to = g.ends[all[i].Ended.UnixNano()]
		}
	}
	sum := g.books.All()
	root.turns, root.tokens, root.cost, root.took = sum.Turns, sum.Usage.In+sum.Usage.Out, sum.Cost, g.last.Sub(g.first)
	root.bound(maxDrawn)
	return root
}

func (g *graphBuilder) add(ev event.Event) {
	if ev.Kind == event.StepRecalled && ev.Step == "" {
		return // it counts the steps that a resume recalled: they are drawn where they ended
	}
	if g.first.IsZero() {
		g.first = ev.Time
	}
	g.last = ev.Time
	g.books.Add(ev)
	g.addParts(ev)
	if ev.Kind == event.AgentFinished || ev.Kind == event.StageFinished || ev.Kind == event.StepRecalled {
		g.ends[ev.Time.UnixNano()] = ev.Seq
	}
	if _, ok := g.parts[ev.Path]; ok {
		return
	}
	switch ev.Kind {
	case event.StepStarted, event.StepFinished, event.StepRetried, event.StepRecalled, event.Approval:
	default:
		return
	}
	switch ev.Step {
	case "resolve", "pin", flow.KindSpawn, flow.Return, flow.Note, flow.KindCall:
		return
	}
	g.step(ev).take(ev)
}

// addParts adds the parts that an event is in: a part is there from the event on
// that its first word is.
func (g *graphBuilder) addParts(ev event.Event) {
	up := g.root
	around := g.books.Around(ev.Path)
	for i := range around {
		p := &around[i]
		d := g.parts[p.Path]
		if d == nil {
			d = &Node{path: p.Path, what: "agent", from: ev.Seq, start: p.Began.Sub(g.first)}
			if p.Step != "" {
				d.what = "step"
			}
			g.parts[p.Path], up.kids = d, append(up.kids, d)
		}
		up = d
	}
}

// step finds the node of an event's step, or adds it.
func (g *graphBuilder) step(ev event.Event) *Node {
	if d := g.steps[ev.Path]; d != nil {
		return d
	}
	in := g.root
	if around := g.books.Around(ev.Path); len(around) > 0 {
		in = g.parts[around[len(around)-1].Path]
	}
	d := &Node{path: ev.Path, what: ev.Step, title: ev.Name, from: ev.Seq, start: ev.Time.Sub(g.first), tries: 1}
	switch ev.Step {
	case turn.ModelStep:
		g.turns[in]++
		d.what, d.title = "turn", fmt.Sprintf("turn %d", g.turns[in])
	case turn.ToolStep:
		d.what = "call"
	case flow.KindAwait:
		if d.title = "waits for a person"; SignalName(ev.Name) == turn.MessageSignal {
			d.title = "message of a person"
		}
	default:
		d.title = strings.TrimSpace(ev.Step + " " + ev.Name)
	}
	g.steps[ev.Path], in.kids = d, append(in.kids, d)
	return d
}

// take adds an event of the node's step.
func (d *Node) take(ev event.Event) {
	switch ev.Kind {
	case event.StepRetried:
		d.tries++
	case event.StepFinished, event.StepRecalled:
		if ev.Kind == event.StepRecalled && d.to > 0 {
			return
		}
		var data struct {
			Calls        []string
			Failed, Asks bool
			Usage        llm.Usage
			Cost         float64 `json:"cost_usd"`
		}
		if json.Unmarshal(ev.Data, &data) == nil {
			d.tokens, d.cost = data.Usage.In+data.Usage.Out, data.Cost
		}
		d.status, d.to, d.took = "done", ev.Seq, ev.Took
		switch {
		case data.Asks: // the question and the call that it permits are steps of their own
			d.note = "asks"
		case ev.Error != "":
			d.status, d.note = "failed", ev.Error
		case data.Failed:
			d.status, d.note = "failed", ev.Text
		case len(data.Calls) > 0:
			d.note = strings.Join(data.Calls, ", ")
		default:
			d.note = ev.Text
		}
	}
}

// part copies a part's figures.
func (d *Node) part(p *jobs.Part) {
	d.title = p.Title()
	if p.Step != "" && p.Agent != "" && p.Agent != p.Step {
		d.title += " (" + p.Agent + ")"
	}
	d.status, d.took, d.turns, d.tokens, d.cost = p.Status, p.Took, p.Turns, p.Usage.In+p.Usage.Out, p.Cost
	d.tries = max(1, p.Attempts)
	if !jobs.Status(p.Status).Succeeded() {
		d.note = p.Reason
	}
}

// bound leaves out what a drawing of most nodes has no room for, the innermost
// first, and of long rows what is in the middle.
func (d *Node) bound(most int) {
	level := []*Node{d}
	for len(level) > 0 {
		var next []*Node
		total, rows := 0, 0
		for _, n := range level {
			if total += len(n.kids); len(n.kids) > 0 {
				rows++
			}
		}
		room := most
		if total > most && rows > 0 {
			room = most / rows
		}
		for _, n := range level {
			if len(n.kids) > room {
				head := (room + 1) / 2
				n.omitted, n.after = len(n.kids)-room, head
				n.kids = slices.Concat(n.kids[:head], n.kids[len(n.kids)-(room-head):])
			}
			most -= len(n.kids)
			next = append(next, n.kids...)
		}
		level = next
	}
}

// lanes are the children of a node in their order: each is a child or several at once.
type lanes [][]*Node

// rows puts kids that were at work at once into lanes, one for each branch.
func (d *Node) rows() (out []lanes) {
	for i := 0; i < len(d.kids); {
		end, open := d.kids[i].to, d.kids[i].to == 0
		n := i + 1
		for n < len(d.kids) && !(n == d.after && d.omitted > 0) && (open || d.kids[n].from < end) {
			open = open || d.kids[n].to == 0
			end = max(end, d.kids[n].to)
			n++
		}
		out = append(out, branches(d.kids[i:n]))
		i = n
	}
	return out
}

// branches sorts kids into the branches that their paths tell apart.
func branches(kids []*Node) lanes {
	if len(kids) == 1 {
		return lanes{kids}
	}
	paths := make([][]string, len(kids))
	for i, k := range kids {
		paths[i] = strings.Split(k.path, ".")
	}
	common := 0
	for ; ; common++ {
		if slices.ContainsFunc(paths, func(p []string) bool { return len(p) <= common || p[common] != paths[0][common] }) {
			break
		}
	}
	by := map[int][]*Node{}
	var order []int
	for i, k := range kids {
		at := 0
		if common < len(paths[i]) {
			at, _ = strconv.Atoi(paths[i][common])
		}
		if by[at] == nil {
			order = append(order, at)
		}
		by[at] = append(by[at], k)
	}
	slices.Sort(order)
	var out lanes
	for _, at := range order {
		out = append(out, by[at])
	}
	return out
}

// figures renders the status, attempts and usage that are printed beside a node's title.
func (d *Node) figures() string {
	var parts []string
	add := func(s string) { parts = append(parts, s) }
	if d.status != "" && (d.status != "done" || d.what == "agent" || d.what == "step" || d.what == "job") {
		add(d.status)
	}
	if d.tries > 1 {
		add(kit.Plural(d.tries, "attempt"))
	}
	if d.turns > 0 {
		add(kit.Plural(d.turns, "turn"))
	}
	if d.tokens > 0 {
		add(kit.Count(d.tokens) + " tokens")
	}
	if d.cost > 0 {
		add(fmt.Sprintf("%.4f USD", d.cost))
	}
	if d.start > 0 {
		add("at +" + kit.Duration(d.start))
	}
	add(kit.Duration(d.took))
	return strings.Join(parts, ", ")
}

// label returns the node's title and its note, shortened.
func (d *Node) label() string {
	note, _, _ := strings.Cut(strings.TrimSpace(d.note), "\n")
	if note == "" || note == d.title {
		return kit.Cut(kit.SanitizeLine(d.title), 60)
	}
	return kit.Cut(kit.SanitizeLine(d.title), 60) + ": " + kit.Cut(kit.SanitizeLine(note), 60)
}

// Text draws in lines. What was done at once has a bar beside it, one branch
// below the other.
func (d *Node) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", d.label(), d.figures())
	d.texts(&b, "  ")
	return b.String()
}

func (d *Node) texts(b *strings.Builder, indent string) {
	left := func() { fmt.Fprintf(b, "%s... %s left out\n", indent, kit.Plural(d.omitted, "node")) }
	drawnYet := 0
	for _, row := range d.rows() {
		if d.omitted > 0 && drawnYet == d.after {
			left()
		}
		for i, lane := range row {
			in := indent
			if len(row) > 1 {
				mark := "| "
				if i == 0 {
					fmt.Fprintf(b, "%s%d at once\n", indent, len(row))
				} else {
					fmt.Fprintf(b, "%s|\n", indent)
				}
				in += mark
			}
			for _, k := range lane {
				fmt.Fprintf(b, "%s%s  (%s)\n", in, k.label(), k.figures())
				k.texts(b, in+"  ")
				drawnYet++
			}
		}
	}
	if d.omitted > 0 && drawnYet <= d.after && len(d.kids) <= d.after {
		left()
	}
}
