package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// Bounds of what files may say.
const (
	mostBook      = 256 << 10 // bytes of a file
	mostDetectors = 200       // of all files
	mostMoves     = 20
	mostPattern   = 4 << 10
	mostWait      = time.Hour
)

// Load reads the files NAME.yaml of layers; where several know a type, the last has
// its strategy. What is wrong with one is among the
// problems, and nothing of it is used.
func Load(layers ...agents.Layer) (*Book, agents.Problems) {
	b := &Book{Strategies: map[string]Strategy{}}
	var problems agents.Problems
	for i := len(layers) - 1; i >= 0; i-- {
		files, bad := agents.Files(layers[i], ".yaml", mostBook)
		problems = append(problems, bad...)
		for _, f := range files {
			if problems = append(problems, f.Problems...); f.Problems != nil {
				continue
			}
			one, found := Read(f.Path, f.Text)
			problems = append(problems, found...)
			if found.Err() == nil {
				b.add(one)
			}
		}
	}
	if len(b.Detectors) > mostDetectors {
		problems = append(problems, agents.Problem{Severity: agents.Error, Message: fmt.Sprintf("there are %d detectors; %d are used", len(b.Detectors), mostDetectors)})
		b.Detectors = b.Detectors[:mostDetectors]
	}
	return b, problems
}

// add takes over what another book has and b has not.
func (b *Book) add(o *Book) {
	for _, t := range o.Types {
		if !slices.Contains(b.Types, t) {
			b.Types = append(b.Types, t)
		}
	}
	b.Detectors = append(b.Detectors, o.Detectors...)
	b.mentioned = append(b.mentioned, o.mentioned...)
	for t, s := range o.Strategies {
		if _, ok := b.Strategies[t]; !ok {
			b.Strategies[t] = s
		}
	}
	for name, types := range o.Named {
		for t, s := range types {
			if _, ok := b.Named[name][t]; !ok {
				b.name(name, t, s)
			}
		}
	}
}

// Read reads the text of one file.
func Read(file string, src []byte) (*Book, agents.Problems) {
	r := &reader{file: file, b: &Book{Strategies: map[string]Strategy{}}, typ: strings.TrimSuffix(path.Base(file), ".yaml")}
	r.Nearest = spelling.Nearest
	r.Report = func(at plainyaml.Place, hint, words string) {
		r.list = append(r.list, agents.Problem{File: file, Line: at.Line, Col: at.Col, Severity: agents.Error, Message: words, Hint: hint})
	}
	top := plainyaml.At(1, 1)
	if len(src) > mostBook {
		r.Report(top, "", fmt.Sprintf("the file has %d bytes; %d are the most", len(src), mostBook))
		return r.b, r.list
	}
	text, unread := rootfs.Plain(src)
	if unread != nil {
		r.Report(top, "", "the file cannot be read: "+unread.Error())
		return r.b, r.list
	}
	doc, err := plainyaml.Parse(strings.ReplaceAll(text, "\r\n", "\n"), 1)
	if err != nil {
		r.Report(err.Place, err.Hint, "the file "+err.Message)
		return r.b, r.list
	}
	if root := doc.Read(r.Report); root != nil {
		r.book(root)
	} else if len(r.list) == 0 {
		r.Report(top, "see docs/fix.md", "the file is empty")
	}
	return r.b, r.list.Sort()
}

type reader struct {
	plainyaml.Decoder
	file, typ string
	b         *Book
	list      agents.Problems
}

type node = plainyaml.Node

func (r *reader) book(n *node) {
	at, about := n.Place, ""
	for i, k := range n.Keys { // first, for what follows
		if k.Text == "type" {
			at = n.Kids[i].Place
			r.String(n.Kids[i], "type", &r.typ)
		}
	}
	typ, known := problem.Canonical(r.typ)
	if r.typ = typ; !typeRule.MatchString(typ) {
		r.Report(at, "use lower case letters, digits and -, as in codegen", fmt.Sprintf("the type %q cannot be named so", typ))
	}
	seen := r.Fields(n, "", map[string]func(*node){
		"type":        func(*node) {},
		"description": func(v *node) { r.String(v, "description", &about) },
		"detectors":   r.detectors,
		"strategy":    func(v *node) { r.b.Strategies[r.typ] = r.strategy(v) },
		"strategies":  r.strategies,
	})
	if !known {
		r.b.Types = []string{typ}
	}
	if !seen["detectors"] && !seen["strategy"] && !seen["strategies"] {
		r.Report(n.Place, "add detectors:, strategy: or strategies:", "the file adds nothing")
	}
}

func (r *reader) detectors(n *node) {
	if n.Kind != plainyaml.List {
		r.Report(n.Place, "write each as - name: …", "detectors is "+string(n.Kind)+", not a list")
		return
	}
	for _, kid := range n.Kids {
		d := Detector{Type: r.typ}
		seen := r.Fields(kid, "a detector", map[string]func(*node){
			"name":      func(v *node) { r.String(v, "name", &d.Name) },
			"pattern":   func(v *node) { r.pattern(v, &d) },
			"exit_code": func(v *node) { d.Codes = r.codes(v) },
			"decision":  func(v *node) { r.decision(v, &d.Decision) },
			"reason":    func(v *node) { r.String(v, "reason", &d.Reason) },
			"hint":      func(v *node) { r.String(v, "hint", &d.Hint) },
			"wait":      func(v *node) { r.wait(v, &d.Wait) },
			"times":     func(v *node) { r.times(v, &d.Times) },
		})
		switch {
		case !typeRule.MatchString(d.Name):
			r.Report(kid.Place, "use lower case letters, digits and -, as in stale-stubs", fmt.Sprintf("the detector's name is %q", d.Name))
		case slices.ContainsFunc(r.b.Detectors, func(o Detector) bool { return o.Name == d.Name }):
			r.Report(kid.Place, "", "another detector is called "+d.Name)
		case !seen["pattern"] && !seen["exit_code"]:
			r.Report(kid.Place, "add pattern: or exit_code:", "the detector "+d.Name+" recognises nothing")
		case (seen["wait"] || seen["times"]) && d.Decision != Retry:
			r.Report(kid.Place, "add decision: retry", "wait and times are those of a retry")
		}
		r.b.Detectors = append(r.b.Detectors, d)
	}
}

func (r *reader) pattern(n *node, d *Detector) {
	r.String(n, "pattern", &d.Pattern)
	switch _, err := regexp.Compile(d.Pattern); {
	case err != nil:
		r.Report(n.Place, "it is a regular expression of Go (RE2)", "the pattern cannot be used: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	case len(d.Pattern) > mostPattern:
		r.Report(n.Place, "", fmt.Sprintf("the pattern has %d bytes; %d are the most", len(d.Pattern), mostPattern))
	case regexp.MustCompile(d.Pattern).MatchString(""):
		r.Report(n.Place, "make it match only what the failure prints", "the pattern matches every output")
	}
}

func (r *reader) codes(n *node) (out []int) {
	list := []*node{n}
	if n.Kind == plainyaml.List {
		list = n.Kids
	}
	for _, k := range list {
		code, err := strconv.Atoi(k.Text)
		if err != nil || code < 1 || code > 255 {
			r.Report(k.Place, "it is 1 to 255", fmt.Sprintf("the exit code is %q", k.Text))
			continue
		}
		out = append(out, code)
	}
	return out
}

func (r *reader) decision(n *node, into *Decision) {
	var s string
	r.String(n, "decision", &s)
	d := Decision(strings.ToUpper(s))
	if d == Delegate {
		r.Report(n.Place, "leave it out, and name the agent under strategy:", "a detector does not delegate")
		return
	}
	if d != Retry && d != Escalate && d != Fail {
		r.Report(n.Place, "it is one of retry, escalate, fail", fmt.Sprintf("the decision is %q", s))
		return
	}
	*into = d
}

func (r *reader) wait(n *node, into *time.Duration) {
	r.Duration(n, "wait", into)
	if *into < 0 || *into > mostWait {
		r.Report(n.Place, "", "wait is between 0 and 1h")
		*into = 0
	}
}

func (r *reader) times(n *node, into *int) {
	v := 1
	if r.Whole(n, "times", &v); v < 1 || v > mostAttempts {
		r.Report(n.Place, "", fmt.Sprintf("times is %d; it is 1 to %d", v, mostAttempts))
		v = 1
	}
	*into = v
}

// strategies reads the strategies with a name.
func (r *reader) strategies(n *node) {
	if n.Kind != plainyaml.Mapping {
		r.Report(n.Place, "write each as NAME: and its moves", "strategies is "+string(n.Kind)+", not strategies by name")
		return
	}
	for i, k := range n.Keys {
		if !typeRule.MatchString(k.Text) || k.Text == DefaultStrategy {
			r.Report(k.Place, "use lower case letters, digits and -, as in diagnose-first", fmt.Sprintf("a strategy cannot be called %q", k.Text))
			continue
		}
		r.b.name(k.Text, r.typ, r.strategy(n.Kids[i]))
	}
}

func (r *reader) strategy(n *node) (s Strategy) {
	if n.Kind != plainyaml.List || len(n.Kids) == 0 || len(n.Kids) > mostMoves {
		r.Report(n.Place, "write each as - agent: NAME", fmt.Sprintf("a strategy is no list of 1 to %d moves", mostMoves))
		return nil
	}
	for _, kid := range n.Kids {
		var m Move
		end := func(d Decision) func(*node) {
			return func(v *node) { m.End = d; r.String(v, strings.ToLower(string(d)), &m.Hint) }
		}
		seen := r.Fields(kid, "a move", map[string]func(*node){
			"retry": func(v *node) { m.Retry = true; r.times(v, &m.Times) },
			"run":   func(v *node) { r.String(v, "run", &m.Run) },
			"agent": func(v *node) {
				r.String(v, "agent", &m.Agent)
				r.b.mentioned = append(r.b.mentioned, namedAgent{m.Agent, r.file, v.Place})
			},
			"analyse":      func(v *node) { r.Bool(v, "analyse", &m.Decide) },
			"escalate":     end(Escalate),
			"fail":         end(Fail),
			"times":        func(v *node) { r.times(v, &m.Times) },
			"wait":         func(v *node) { r.wait(v, &m.Wait) },
			"instructions": func(v *node) { r.String(v, "instructions", &m.Instructions) },
			"diagnose":     func(v *node) { r.Bool(v, "diagnose", &m.Diagnose) },
			"undo":         func(v *node) { r.Bool(v, "undo", &m.Undo) },
		})
		r.fits(kid, seen)
		s = append(s, m)
	}
	return s
}

// fits checks that a move is one thing, and has only keys that mean something for it.
func (r *reader) fits(n *node, seen map[string]bool) {
	var kinds []string
	for _, k := range []string{"retry", "run", "agent", "analyse", "escalate", "fail"} {
		if seen[k] {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) != 1 {
		r.Report(n.Place, "give it one of retry, run, agent, analyse, escalate, fail", fmt.Sprintf("a move is %d things", len(kinds)))
		return
	}
	for key, of := range map[string]string{"times": " agent run ", "wait": " retry ", "instructions": " agent ", "diagnose": " agent ", "undo": " agent run analyse retry "} {
		if seen[key] && !strings.Contains(of, " "+kinds[0]+" ") {
			i := slices.IndexFunc(n.Keys, func(k *node) bool { return k.Text == key })
			r.Report(n.Keys[i].Place, "it belongs to "+strings.Join(strings.Fields(of), ", "), fmt.Sprintf("%s means nothing for %s", key, kinds[0]))
		}
	}
}

// Lint reports strategies that name agents which are not there or repair nothing.
func (b *Book) Lint(cat *agents.Catalog) (out agents.Problems) {
	for _, n := range b.mentioned {
		p := agents.Problem{File: n.file, Line: n.Line, Col: n.Col, Severity: agents.Error}
		switch a, err := cat.Lookup(n.name); {
		case err != nil:
			p.Message = "there is no agent " + n.name
			if near := spelling.Nearest(n.name, cat.Names()); near != "" {
				p.Hint = "did you mean " + near + "?"
			}
		case len(a.ProblemTypes) == 0:
			p.Message, p.Hint = fmt.Sprintf("the agent %s repairs no type of problem", n.name), "give it problem_types"
		default:
			continue
		}
		out = append(out, p)
	}
	return out.Sort()
}

// A Book is a user's extension of a coordinator: types of problems, detectors, and what
// is done about a type. A job has it by value from its beginning.
type Book struct {
	Types      []string            `json:"types,omitempty"` // beside those built in
	Detectors  []Detector          `json:"detectors,omitempty"`
	Strategies map[string]Strategy `json:"strategies,omitempty"` // by type
	// Named are other strategies, by name and type: see Policy.
	Named map[string]map[string]Strategy `json:"named,omitempty"`
	// Coded are detectors that are code of the program; without their code.
	Coded []Detector `json:"coded,omitempty"`

	mentioned []namedAgent
}

// A Detector recognises a failure by its output or its exit code, and says of what
// type it is. One with a Decision also says what happens, so that no model is asked.
type Detector struct {
	Name     string        `json:"name"`
	Type     string        `json:"type"`
	Pattern  string        `json:"pattern,omitempty"`
	Codes    []int         `json:"exit_codes,omitempty"`
	Decision Decision      `json:"decision,omitempty"` // RETRY, ESCALATE, FAIL, or empty
	Reason   string        `json:"reason,omitempty"`
	Hint     string        `json:"hint,omitempty"`
	Wait     time.Duration `json:"wait_ns,omitempty"`
	Times    int           `json:"times,omitempty"` // that a retry makes sense; then a person is asked

	// Match is the code of a detector that is code. It is called in a step of the job,
	// with the head and the tail of what the command has printed.
	Match func(command, output string, exitCode int) bool `json:"-"`
	re    interface {
		MatchString(string) bool
		FindStringIndex(string) []int
	}
}

// NewDetector checks a detector that is code.
func NewDetector(d Detector) (Detector, error) {
	d.Decision = Decision(strings.ToUpper(string(d.Decision)))
	d.Type, _ = problem.Canonical(d.Type)
	switch {
	case !typeRule.MatchString(d.Name):
		return d, errors.New("its name has other signs than lower case letters, digits and -")
	case !typeRule.MatchString(d.Type):
		return d, fmt.Errorf("its type is %q", d.Type)
	case d.Match == nil:
		return d, errors.New("it matches nothing")
	case d.Pattern != "" || len(d.Codes) > 0:
		return d, errors.New("it has a pattern or exit codes beside its Match, which is asked alone")
	case d.Decision != "" && d.Decision != Retry && d.Decision != Escalate && d.Decision != Fail:
		return d, fmt.Errorf("its decision is %q; it is retry, escalate or fail", d.Decision)
	}
	return d, nil
}

// name adds a strategy that has a name.
func (b *Book) name(name, typ string, s Strategy) {
	if b.Named == nil {
		b.Named = map[string]map[string]Strategy{}
	}
	if b.Named[name] == nil {
		b.Named[name] = map[string]Strategy{}
	}
	b.Named[name][typ] = s
}

// Empty reports whether nothing is added.
func (b *Book) Empty() bool {
	return len(b.Types) == 0 && len(b.Detectors) == 0 && len(b.Strategies) == 0 && len(b.Named) == 0 && len(b.Coded) == 0
}

// readBook makes of a pinned book one that can be used.
func readBook(raw json.RawMessage) (*Book, error) {
	b := &Book{}
	if len(raw) == 0 {
		return b, nil
	}
	if err := json.Unmarshal(raw, b); err != nil {
		return nil, fmt.Errorf("the detectors as they were pinned: %w", err)
	}
	for i := range b.Detectors {
		re, err := regexp.Compile(b.Detectors[i].Pattern)
		if err != nil {
			return nil, fmt.Errorf("detector %s: %w", b.Detectors[i].Name, err)
		}
		b.Detectors[i].re = re
	}
	return b, nil
}

// repairCommands are the commands that strategies of the task's book run, in order.
func repairCommands(sc *executor.Scope) (out []string, err error) {
	b, err := readBook(sc.Task.Problems)
	if err != nil {
		return nil, err
	}
	of := func(all map[string]Strategy) {
		for _, t := range slices.Sorted(maps.Keys(all)) {
			for _, m := range all[t] {
				if m.Run != "" {
					out = append(out, m.Run)
				}
			}
		}
	}
	of(b.Strategies)
	for _, name := range slices.Sorted(maps.Keys(b.Named)) {
		of(b.Named[name])
	}
	return out, nil
}

// matching is the line of a text that the pattern matches first, "" if it matches nothing
// that can be shown.
func (d *Detector) matching(text string) string {
	at := d.re.FindStringIndex(text)
	if at == nil || at[0] == at[1] {
		return ""
	}
	begin := strings.LastIndexByte(text[:at[0]], '\n') + 1
	line, _, _ := strings.Cut(text[begin:], "\n")
	if strings.TrimSpace(line) == "" {
		line = text[at[0]:at[1]]
	}
	return strings.TrimSpace(line)
}

// A namedAgent is an agent in a strategy, and its place.
type namedAgent struct {
	name, file string
	plainyaml.Place
}
