package jobs

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A UsageReport sums up what a job has used, in all and by parts, from its events.
// They may come in any number of runs; what comes twice counts once. Its zero
// value is ready to use. It is not safe for concurrent use.
type UsageReport struct {
	// Rate returns the cost of a model's usage in USD, for events that do not state it.
	// May be nil.
	Rate func(model string, u llm.Usage) float64

	root    node
	nodes   []*node
	agents  map[string]*node   // by the path where they began
	steps   map[string][]*node // of pipelines, by scope
	counted map[string]bool    // paths of steps whose figures are in
}

// spent has the usage figures in the data of an event.
type spent struct {
	Model string    `json:"model"` // of a compaction, and of what pins a task
	Usage llm.Usage `json:"usage"`
	Cost  *float64  `json:"cost_usd"`
	Asks  bool      `json:"asks"`
	Spent []struct {
		Model string    `json:"model"`
		Usage llm.Usage `json:"usage"`
	} `json:"spent"`
	Work *struct {
		Turns int     `json:"turns"`
		Calls int     `json:"calls"`
		Cost  float64 `json:"cost_usd"`
	} `json:"work"`
}

// Add takes an event in.
func (a *UsageReport) Add(ev event.Event) {
	switch ev.Kind {
	case event.AgentStarted:
		a.begin(ev)
	case event.AgentFinished:
		a.end(ev, ev.Data)
	case event.StageStarted:
		a.beginStep(ev, ev.Text)
	case event.StageFinished:
		a.endStep(ev, ev.Text, ev.Data)
	case event.StageRetried:
		if n := a.open(ev.Path, ev.Text); n != nil {
			n.Attempts = max(n.Attempts, 1) + 1
		}
	case event.StepRetried:
		n := a.at(ev.Path)
		n.Retries++
		n.last = ev.Time
	case event.StepRecalled:
		a.recall(ev)
	case event.StepFinished:
		a.count(ev)
	}
}

// recall counts what a run that was stopped may not have emitted.
func (a *UsageReport) recall(ev event.Event) {
	switch ev.Step {
	case flow.KindSpawn:
		a.begin(ev)
	case flow.Return:
		var end struct{ Data json.RawMessage }
		if json.Unmarshal(ev.Data, &end) == nil {
			a.end(ev, end.Data)
		}
	case flow.Note:
		var note struct {
			Kind event.Kind
			Data json.RawMessage
		}
		if json.Unmarshal(ev.Data, &note) != nil {
			return
		}
		switch note.Kind {
		case event.StageStarted:
			a.beginStep(ev, ev.Name)
		case event.StageFinished:
			a.endStep(ev, ev.Name, note.Data)
		}
	default:
		a.count(ev)
	}
}

func (a *UsageReport) count(ev event.Event) {
	n := a.at(ev.Path)
	n.last = ev.Time
	if ev.Error != "" || a.counted[ev.Path] {
		return
	}
	var d spent
	if json.Unmarshal(ev.Data, &d) != nil && len(ev.Data) > 0 {
		return
	}
	var f Figures
	switch ev.Step {
	case "model":
		f = Figures{Turns: 1, Usage: d.Usage, Cost: a.price(ev.Name, d.Usage)}
		if d.Work != nil {
			f.Turns, f.Calls = max(1, d.Work.Turns), d.Work.Calls
			f.Cost = cmp.Or(f.Cost, d.Work.Cost)
		}
	case "compact":
		f = Figures{Usage: d.Usage, Cost: a.price(d.Model, d.Usage)}
	case "tool":
		if d.Asks {
			return
		}
		f.Calls = 1
	case "resolve":
		n.Model = d.Model
		return
	default:
		return
	}
	for _, s := range d.Spent {
		f.Usage = f.Usage.Add(s.Usage)
		f.Cost += a.price(s.Model, s.Usage)
	}
	if d.Cost != nil {
		f.Cost = *d.Cost
	}
	if a.counted == nil {
		a.counted = map[string]bool{}
	}
	a.counted[ev.Path] = true
	n.own = n.own.add(f)
}

func (a *UsageReport) price(model string, u llm.Usage) float64 {
	if a.Rate == nil {
		return 0
	}
	return a.Rate(model, u)
}

func (a *UsageReport) put(n *node, up *node) {
	n.up = up
	up.kids = append(up.kids, n)
	a.nodes = append(a.nodes, n)
}

func (a *UsageReport) begin(ev event.Event) {
	if a.agents[ev.Path] != nil {
		return
	}
	if a.agents == nil {
		a.agents = map[string]*node{}
	}
	n := &node{Part: Part{Path: ev.Path, Agent: ev.Name, About: ev.Text, Began: ev.Time}}
	a.put(n, a.at(ev.Path))
	a.agents[ev.Path] = n
}

// end closes the account of the agent whose steps were those before ev.
func (a *UsageReport) end(ev event.Event, data json.RawMessage) {
	scope, i := split(ev.Path)
	n := a.agents[scope+strconv.Itoa(i-1)]
	if n == nil {
		return
	}
	var d struct {
		Status, Reason string
		Took           time.Duration `json:"took_ns"`
		Below          Figures
	}
	if json.Unmarshal(data, &d) != nil {
		return
	}
	if ev.Kind == event.StepRecalled && n.reported != nil {
		return
	}
	n.Status, n.Reason, n.Took, n.Ended, n.reported = d.Status, d.Reason, d.Took, ev.Time, &d.Below
}

func (a *UsageReport) beginStep(ev event.Event, id string) {
	if a.open(ev.Path, id) != nil {
		return // a round more
	}
	a.step(ev, id)
}

func (a *UsageReport) step(ev event.Event, id string) *node {
	scope, i := split(ev.Path)
	for _, n := range a.steps[scope] {
		if n.lo == i {
			return n
		}
	}
	if a.steps == nil {
		a.steps = map[string][]*node{}
	}
	n := &node{Part: Part{Path: ev.Path, Step: id, Began: ev.Time}, lo: i}
	a.put(n, a.at(ev.Path))
	a.steps[scope] = append(a.steps[scope], n)
	return n
}

func (a *UsageReport) endStep(ev event.Event, id string, data json.RawMessage) {
	_, i := split(ev.Path)
	n := a.open(ev.Path, id)
	if n == nil {
		n = a.step(ev, id) // it was skipped, or comes once more
	}
	var d struct {
		Agent, Status, Error string
		Attempts             int
		Turns                int
		In                   int           `json:"tokens_in"`
		Out                  int           `json:"tokens_out"`
		Cost                 float64       `json:"cost_usd"`
		Took                 time.Duration `json:"took_ns"`
	}
	if json.Unmarshal(data, &d) != nil || n.hi > 0 && n.hi != i {
		return
	}
	n.hi = max(i, 1)
	n.Agent, n.Status, n.Reason, n.Attempts, n.Took, n.Ended = d.Agent, d.Status, d.Error, d.Attempts, d.Took, ev.Time
	n.reported = &Figures{Turns: d.Turns, Usage: llm.Usage{In: d.In, Out: d.Out}, Cost: d.Cost}
}

// open is the run of a pipeline's step that path is in.
func (a *UsageReport) open(path, id string) *node {
	scope, i := split(path)
	for _, n := range slices.Backward(a.steps[scope]) {
		if n.Step == id && n.lo < i && (n.hi == 0 || n.hi == i) {
			return n
		}
	}
	return nil
}

// at is the innermost part that the step at path belongs to, or the job.
func (a *UsageReport) at(path string) *node {
	if len(a.nodes) == 0 {
		return &a.root
	}
	for below := ""; path != ""; {
		if n := a.agents[path]; n != nil && below != "" {
			return n
		}
		scope, i := split(path)
		for _, n := range slices.Backward(a.steps[scope]) {
			if n.lo < i && (n.hi == 0 || i < n.hi) {
				return n
			}
		}
		below, path = path, strings.TrimSuffix(scope, ".")
	}
	return &a.root
}

// split cuts the last number off a path.
func split(path string) (scope string, i int) {
	at := strings.LastIndexByte(path, '.') + 1
	i, _ = strconv.Atoi(path[at:])
	return path[:at], i
}

// Around lists the parts that the step at path belongs to, the outermost
// first; the part that begins there is among them.
func (a *UsageReport) Around(path string) (out []Part) {
	n := a.agents[path]
	if n == nil {
		n = a.at(path)
	}
	for ; n != &a.root; n = n.up {
		out = append(out, n.part(""))
	}
	slices.Reverse(out)
	return out
}

// Busy counts the parts at work that have none at work in them. With several,
// a report must name the part.
func (a *UsageReport) Busy() (count int) {
	for _, n := range a.nodes {
		if n.Ended.IsZero() && !slices.ContainsFunc(n.kids, func(k *node) bool { return k.Ended.IsZero() }) {
			count++
		}
	}
	return count
}

// Ended is the part that an event at path ends.
func (a *UsageReport) Ended(path string) (Part, bool) {
	scope, i := split(path)
	n := a.agents[scope+strconv.Itoa(i-1)]
	if n == nil {
		return Part{}, false
	}
	return n.part(""), true
}

// Parts lists the parts so far, each after its parent, siblings by path. If there are
// more than limit, the deepest are left out, and more is their number; 0 means no limit.
// status is the status of parts which have not ended.
func (a *UsageReport) Parts(limit int, status Status) (parts []Part, more int) {
	all := slices.Clone(a.nodes)
	if limit > 0 && len(all) > limit {
		slices.SortStableFunc(all, func(m, n *node) int {
			return cmp.Or(cmp.Compare(m.depth(), n.depth()), flow.Compare(m.Path, n.Path))
		})
		all, more = all[:limit], len(all)-limit
	}
	kept := map[*node]bool{}
	for _, n := range all {
		kept[n] = true
	}
	var walk func(n *node)
	walk = func(n *node) {
		kids := slices.Clone(n.kids)
		slices.SortFunc(kids, func(m, n *node) int { return flow.Compare(m.Path, n.Path) })
		for _, k := range kids {
			if kept[k] {
				parts = append(parts, k.part(status))
				walk(k)
			}
		}
	}
	walk(&a.root)
	return parts, more
}

// Own returns the usage outside of all parts.
func (a *UsageReport) Own() Figures { return a.root.own }

// All returns the usage of the job so far, its parts included.
func (a *UsageReport) All() Figures { return a.root.all() }

// Figures are the usage of a job or of a part of it.
type Figures struct {
	Turns int       `json:"turns,omitempty"` // answers of models
	Calls int       `json:"calls,omitempty"` // tool calls
	Usage llm.Usage `json:"usage,omitzero"`
	Cost  float64   `json:"cost_usd,omitempty"` // as far as the models have prices
}

func (f Figures) add(o Figures) Figures {
	return Figures{f.Turns + o.Turns, f.Calls + o.Calls, f.Usage.Add(o.Usage), f.Cost + o.Cost}
}

// A Part is a part of a job with an account of its own: a sub-agent, or one run of a step
// of a pipeline. Its figures include the parts in it.
type Part struct {
	Path     string        `json:"path"`             // where it began
	Within   string        `json:"within,omitempty"` // the path of the part that it is in
	Agent    string        `json:"agent,omitempty"`
	About    string        `json:"about,omitempty"` // what it is to do, in a line
	Step     string        `json:"step,omitempty"`  // id of the pipeline's step
	Model    string        `json:"model,omitempty"`
	Status   string        `json:"status"` // of an unfinished one, the job's
	Reason   string        `json:"reason,omitempty"`
	Attempts int           `json:"attempts,omitempty"` // of a pipeline's step
	Retries  int           `json:"retries,omitempty"`  // of its own steps
	Took     time.Duration `json:"took_ns,omitempty"`  // its work, waiting for people not counted
	Began    time.Time     `json:"began,omitzero"`
	Ended    time.Time     `json:"ended,omitzero"` // zero of an unfinished one
	Figures
}

// Title returns the title of a part: the step's id, or the agent's name.
func (p *Part) Title() string { return cmp.Or(p.Step, p.Agent) }

// A node is a part and its figures so far.
type node struct {
	Part
	own      Figures
	reported *Figures // by itself, at its end
	kids     []*node
	up       *node
	lo, hi   int // of a step: its events are those between, in their scope; hi 0 is open
	last     time.Time
}

// all returns the usage of a node and of its descendants.
func (n *node) all() Figures {
	sum := n.own
	for _, k := range n.kids {
		sum = sum.add(k.all())
	}
	if r := n.reported; r != nil {
		if n.Step != "" { // a row has neither of these
			r.Calls, r.Usage.Cached = sum.Calls, sum.Usage.Cached
		}
		return *r
	}
	return sum
}

func (n *node) depth() (d int) {
	for n = n.up; n != nil && n.up != nil; n = n.up {
		d++
	}
	return d
}

// part returns the exported form of a node; status is the status of one that has not
// ended.
func (n *node) part(status Status) Part {
	p := n.Part
	p.Figures = n.all()
	if n.up != nil {
		p.Within = n.up.Path
	}
	p.Status = cmp.Or(p.Status, string(status))
	if p.Took == 0 && p.Ended.IsZero() && !n.last.IsZero() {
		p.Took = n.last.Sub(p.Began)
	}
	return p
}

// A Final is the data of the last event of a run, job.finished or
// job.waiting: what scripts read to know how it went. What the workflow's
// output does not have is left out.
type Final struct {
	Status    Status               `json:"status"`
	Stopped   string               `json:"stopped"` // one word: the limit that was reached (turns, tokens, cost, time), else the status
	Reason    string               `json:"reason,omitempty"`
	Code      string               `json:"code,omitempty"` // of a failure
	Met       []string             `json:"met,omitempty"`
	Unmet     []string             `json:"unmet,omitempty"`
	Unchecked []string             `json:"unchecked,omitempty"` // those of both that neither passed nor failed
	Summary   string               `json:"summary,omitempty"`
	Evidence  string               `json:"evidence,omitempty"`
	Turns     int                  `json:"turns,omitempty"`
	Calls     int                  `json:"calls,omitempty"`
	Agents    int                  `json:"agents,omitempty"` // sub-agents, whose figures are in these
	Parts     []Part               `json:"parts,omitempty"`  // sub-agents and steps of pipelines, no more than 100
	More      int                  `json:"more,omitempty"`   // parts that are not listed, the innermost
	Own       *Figures             `json:"own,omitempty"`    // what was taken outside of parts, if there are parts
	Usage     llm.Usage            `json:"usage,omitzero"`
	Cost      float64              `json:"cost_usd,omitempty"`
	Used      map[string]llm.Usage `json:"used,omitempty"`      // Usage by provider/model, if it was not one alone
	Artifacts []string             `json:"artifacts,omitempty"` // names, sorted
	Waiting   *Question            `json:"waiting,omitempty"`   // of job.waiting
}

// maxParts bounds the number of parts that a [Final] lists.
const maxParts = 100

// own returns the usage of a job's own model, by the model's name.
func own(used map[string]llm.Usage, all llm.Usage, model string) map[string]llm.Usage {
	if used == nil && all != (llm.Usage{}) {
		return map[string]llm.Usage{model: all}
	}
	return used
}

// result has the fields that a Final takes from a workflow's output. Workflows are free
// to return anything; the executor's State has these fields.
type result struct {
	Turns int                  `json:"turns"`
	Calls int                  `json:"calls"`
	Usage llm.Usage            `json:"usage"`
	Cost  float64              `json:"cost_usd"`
	Used  map[string]llm.Usage `json:"used"`
	Last  string               `json:"last"`
	Below struct {
		Agents int                  `json:"agents"`
		Turns  int                  `json:"turns"`
		Calls  int                  `json:"calls"`
		Usage  llm.Usage            `json:"usage"`
		Cost   float64              `json:"cost_usd"`
		Used   map[string]llm.Usage `json:"used"`
	} `json:"below"`
	Artifacts map[string]json.RawMessage `json:"artifacts"`
	Outcome   struct {
		Code      string   `json:"code"`
		Limit     string   `json:"limit"`
		Met       []string `json:"met"`
		Unmet     []string `json:"unmet"`
		Unchecked []string `json:"unchecked"`
		Summary   string   `json:"summary"`
		Evidence  string   `json:"evidence"`
	} `json:"outcome"`
}

// final builds the Final of j from its status, reason and output at the end.
func final(j *Job, parked *flow.ParkedError) Final {
	f := Final{Status: j.Status, Stopped: string(j.Status), Reason: j.Reason}
	if parked != nil {
		f.Waiting = &Question{Path: parked.Path, Signals: parked.Signals, About: parked.About}
	}
	var out result
	if json.Unmarshal(j.Output, &out) != nil {
		return f // an output of another shape has nothing to add
	}
	if j.Status == Limit && out.Outcome.Limit != "" {
		f.Stopped = out.Outcome.Limit
	}
	f.Code, f.Met, f.Unmet, f.Unchecked = out.Outcome.Code, out.Outcome.Met, out.Outcome.Unmet, out.Outcome.Unchecked
	f.Summary, f.Evidence = out.Outcome.Summary, out.Outcome.Evidence
	f.Summary = cmp.Or(f.Summary, out.Last)
	f.Turns, f.Calls, f.Usage, f.Cost, f.Used = out.Turns, out.Calls, out.Usage, out.Cost, out.Used
	if below := out.Below; below.Agents > 0 {
		f.Agents, f.Turns, f.Calls = below.Agents, f.Turns+below.Turns, f.Calls+below.Calls
		f.Usage, f.Cost = f.Usage.Add(below.Usage), f.Cost+below.Cost
		f.Used = maps.Clone(below.Used)
		for m, u := range own(out.Used, out.Usage, j.Model) {
			if f.Used == nil {
				f.Used = map[string]llm.Usage{}
			}
			f.Used[m] = f.Used[m].Add(u)
		}
	}
	f.Artifacts = slices.Sorted(maps.Keys(out.Artifacts))
	return f
}

// bare reports whether the output has no figures.
func (f *Final) bare() bool {
	return f.Turns == 0 && f.Calls == 0 && f.Usage == (llm.Usage{}) && !f.Status.Succeeded()
}

// addUsage adds to f what the job's events have: its parts, and its figures if the
// output has none.
func (f *Final) addUsage(a *UsageReport) {
	if all := a.All(); f.bare() {
		f.Turns, f.Calls, f.Usage, f.Cost = all.Turns, all.Calls, all.Usage, all.Cost
	}
	if f.Parts, f.More = a.Parts(maxParts, f.Status); f.Parts != nil {
		own := a.Own()
		own.Calls = f.Calls // not every call is a step: those that spawn are not
		for i := range f.Parts {
			if f.Parts[i].Within == "" {
				own.Calls -= f.Parts[i].Calls
			}
		}
		f.Own = &own
	}
}

// An Answer is the data of an [event.Answer]: a job's signal and its sender.
type Answer struct {
	By       string          `json:"by"`                 // the name of a token, or owner for adroit's user
	From     string          `json:"from"`               // an address, or host:pid of a process
	Question string          `json:"question,omitempty"` // the path of the question that it answers
	Value    json.RawMessage `json:"value,omitempty"`
}
