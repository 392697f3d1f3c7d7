package problem

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/match"
)

// A Failure is a failure that a coordinator met, with one thing it did about it.
type Failure struct {
	Key       string    `json:"key"`     // JOB/N of the attempt
	Project   string    `json:"project"` // its directory
	Signature string    `json:"signature"`
	Type      string    `json:"type"`
	Message   string    `json:"message"`
	Text      string    `json:"text,omitempty"` // the lines that tell it from another, normalised
	Action    Action    `json:"action"`
	Outcome   string    `json:"outcome"`
	Tokens    int       `json:"tokens,omitempty"`
	Cost      float64   `json:"cost_usd,omitempty"`
	At        time.Time `json:"at"`
}

// Outcomes of an action.
const (
	Works    = "works"     // the command worked after it
	Changed  = "changed"   // it failed in another way
	Same     = "same"      // it failed as before
	NoChange = "no change" // nothing was changed
	Person   = "person"    // it worked after a person had said continue
	Given    = "given up"  // nobody knew what to do
	// Unfinished is the repair of an agent that was stopped, or after which the command was.
	Unfinished = "unfinished"
)

// An Action is the reaction to a failure, with its result.
type Action struct {
	Decision string   `json:"decision"`
	By       string   `json:"by,omitempty"`
	Agent    string   `json:"agent,omitempty"` // that repaired it, or whose repair was applied again
	Diagnose bool     `json:"diagnose,omitempty"`
	Summary  string   `json:"summary,omitempty"`
	Files    []string `json:"files,omitempty"`   // that it changed
	Fix      string   `json:"fix,omitempty"`     // the change as a unified diff
	Of       string   `json:"of,omitempty"`      // the Key of the failure whose Fix was applied again
	Run      string   `json:"run,omitempty"`     // the command that repaired it instead of an agent
	Command  string   `json:"command,omitempty"` // that failed, and was run again after it
}

// Worked reports whether the command worked after it.
func (f Failure) Worked() bool { return f.Outcome == Works }

// Failed reports whether it did not help.
func (f Failure) Failed() bool { return f.Outcome == Same || f.Outcome == NoChange }

// A Query selects failures; the zero value is all of them.
type Query struct {
	Project   string    `json:"project,omitempty"`   // "" is any
	Signature string    `json:"signature,omitempty"` // "" is any
	Key       string    `json:"key,omitempty"`       // "" is any; a job and a slash are all of the job
	Words     []string  `json:"words,omitempty"`     // any of these
	Before    time.Time `json:"before,omitzero"`     // only what is older
	Skip      int       `json:"skip,omitempty"`      // the first of them
	Limit     int       `json:"limit,omitempty"`
}

// A Store keeps failures. Its methods are safe for concurrent use, and their effects are as
// durable as the store. Package failurestest has the suite that each Store passes.
type Store interface {
	// Add keeps a failure, once for each Key.
	Add(ctx context.Context, f Failure) error
	// Find returns failures, the newest first, or with Query.Words the likest first.
	Find(ctx context.Context, q Query) ([]Failure, error)
	// Forget removes failures and returns how many there were. Words, Skip and Limit
	// of the query do not count.
	Forget(ctx context.Context, q Query) (int, error)
}

const (
	// MostShown bounds the number of similar failures that a model is shown.
	MostShown = 3
	// Retention is the time for which failures are remembered, and Most the number of them in a
	// project.
	Retention = 180 * 24 * time.Hour
	Most      = 2000

	mostSame   = 50  // of one signature
	considered = 50  // similar ones that are weighed
	alike      = 0.3 // of the words that two failures must share
	halfLife   = 30 * 24 * time.Hour
)

// A Question is a coordinator's query about a failure.
type Question struct {
	Project   string // "" asks about all of the user's
	Signature string
	Text      string // normalised, as in Failure
	Now       time.Time
	Job       string // whose own failures do not count
}

// Recall returns the earlier occurrences of the same failure, newest first, and at most MostShown
// similar failures, best first: ranked by the words they have in common, by age, and by whether
// the action helped.
func Recall(ctx context.Context, s Store, q Question) (same, similar []Failure, err error) {
	own := func(f Failure) bool { return q.Job != "" && jobOf(f.Key) == q.Job }
	if same, err = s.Find(ctx, Query{Project: q.Project, Signature: q.Signature, Limit: mostSame}); err != nil {
		return nil, nil, err
	}
	same = slices.DeleteFunc(same, own)
	words := match.Words(q.Text)
	if len(words) == 0 {
		return same, nil, nil
	}
	found, err := s.Find(ctx, Query{Project: q.Project, Words: words, Limit: considered})
	if err != nil {
		return same, nil, err
	}
	weights := map[string]float64{}
	found = slices.DeleteFunc(found, func(f Failure) bool {
		shared := match.SharedWords(words, match.Words(f.Text))
		weights[f.Key] = shared * f.weight(q.Now)
		return own(f) || f.Signature == q.Signature || shared < alike
	})
	// A stable sort: of two that weigh the same, that with the better bm25 is first.
	slices.SortStableFunc(found, func(a, b Failure) int { return cmp.Compare(weights[b.Key], weights[a.Key]) })
	for _, f := range found {
		if len(similar) < MostShown && !slices.ContainsFunc(similar, func(g Failure) bool {
			return g.Signature == f.Signature && g.Action.Agent == f.Action.Agent && g.Outcome == f.Outcome
		}) {
			similar = append(similar, f)
		}
	}
	return same, similar, nil
}

// weight ranks a failure by age and outcome: a remedy that helped counts most, one known not to
// have helped less, and the weight of a failure a month old is half that of a new one.
func (f Failure) weight(now time.Time) float64 {
	w := 1 / (1 + float64(max(0, now.Sub(f.At)))/float64(halfLife))
	switch {
	case f.Worked():
		return w * 2
	case f.Failed():
		return w * 0.75
	}
	return w
}

func jobOf(key string) string {
	for i := range key {
		if key[i] == '/' {
			return key[:i]
		}
	}
	return key
}

// Remember adds a failure, and removes those that are too old or too many for a project.
func Remember(ctx context.Context, s Store, f Failure) error {
	if err := s.Add(ctx, f); err != nil {
		return err
	}
	if _, err := s.Forget(ctx, Query{Before: f.At.Add(-Retention)}); err != nil {
		return err
	}
	over, err := s.Find(ctx, Query{Project: f.Project, Skip: Most, Limit: 1})
	if err != nil || len(over) == 0 {
		return err
	}
	_, err = s.Forget(ctx, Query{Project: f.Project, Before: over[0].At.Add(1)})
	return err
}

// Memory is a Store that lasts as long as the process. The zero value is ready.
type Memory struct {
	mu  sync.Mutex
	all []Failure // the oldest first
}

var _ Store = (*Memory)(nil)

// Add implements Store.
func (m *Memory) Add(ctx context.Context, f Failure) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !slices.ContainsFunc(m.all, func(g Failure) bool { return g.Key == f.Key }) {
		m.all = append(m.all, f)
	}
	return nil
}

// matches reports whether a query selects f, apart from its words.
func (q Query) matches(f Failure) bool {
	return (q.Project == "" || f.Project == q.Project) && (q.Signature == "" || f.Signature == q.Signature) &&
		(q.Before.IsZero() || f.At.Before(q.Before)) &&
		(q.Key == "" || f.Key == q.Key || strings.HasSuffix(q.Key, "/") && strings.HasPrefix(f.Key, q.Key))
}

// Find implements Store.
func (m *Memory) Find(ctx context.Context, q Query) ([]Failure, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var out []Failure
	for _, f := range slices.Backward(m.all) {
		if q.matches(f) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b Failure) int { return b.At.Compare(a.At) })
	if len(q.Words) > 0 {
		out = mostSimilar(out, q.Words)
	}
	out = out[min(q.Skip, len(out)):]
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return slices.Clone(out), nil
}

// mostSimilar returns the failures that share a word with words, most similar first.
func mostSimilar(all []Failure, words []string) (out []Failure) {
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = f.Text
	}
	scores, at := match.BM25(words, texts), make([]int, len(all))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	for _, i := range at {
		if scores[i] > 0 {
			out = append(out, all[i])
		}
	}
	return out
}

// Forget implements Store.
func (m *Memory) Forget(ctx context.Context, q Query) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	before := len(m.all)
	m.all = slices.DeleteFunc(m.all, q.matches)
	return before - len(m.all), nil
}

// A Database has the tables of failures: *sqlite.DB.
type Database interface {
	Exec(ctx context.Context, statement string, args ...any) (rows int64, err error)
	Query(ctx context.Context, query string, args []any, row func(scan func(...any) error) error) error
}

// In returns the store in a database, which other processes use too.
func In(d Database) Store { return database{d} }

type database struct{ Database }

// Add implements Store.
func (d database) Add(ctx context.Context, f Failure) error {
	action, err := json.Marshal(f.Action)
	if err != nil {
		return fmt.Errorf("failure %s: %w", f.Key, err)
	}
	_, err = d.Exec(ctx, `insert into failures (key, project, signature, type, message, text, outcome, action, tokens, cost, at)
		values (?,?,?,?,?,?,?,?,?,?,?) on conflict (key) do nothing`,
		f.Key, f.Project, f.Signature, f.Type, f.Message, f.Text, f.Outcome, string(action), f.Tokens, f.Cost, f.At.UnixNano())
	return err
}

// where returns the SQL condition of a query, apart from its words.
func (q Query) where() (string, []any) {
	var all []string
	var args []any
	add := func(condition string, values ...any) { all, args = append(all, condition), append(args, values...) }
	if q.Project != "" {
		add("project = ?", q.Project)
	}
	if q.Signature != "" {
		add("signature = ?", q.Signature)
	}
	if job, ok := strings.CutSuffix(q.Key, "/"); ok {
		add("key >= ? and key < ?", q.Key, job+"0") // the character after the slash
	} else if q.Key != "" {
		add("key = ?", q.Key)
	}
	if !q.Before.IsZero() {
		add("at < ?", q.Before.UnixNano())
	}
	if len(all) == 0 {
		return "true", nil
	}
	return strings.Join(all, " and "), args
}

const failureColumns = "key, project, signature, type, message, failures.text, outcome, action, tokens, cost, at"

// Find implements Store.
func (d database) Find(ctx context.Context, q Query) ([]Failure, error) {
	where, args := q.where()
	query := "select " + failureColumns + " from failures where " + where + " order by at desc, n desc"
	if len(q.Words) > 0 {
		query = "select " + failureColumns + " from failures_text join failures on n = failures_text.rowid where failures_text match ? and " +
			where + " order by bm25(failures_text), at desc, n desc"
		args = append([]any{match.AnyWord(q.Words)}, args...)
	}
	limit := -1
	if q.Limit > 0 {
		limit = q.Limit
	}
	var out []Failure
	err := d.Query(ctx, query+" limit ? offset ?", append(args, limit, q.Skip), func(scan func(...any) error) error {
		var f Failure
		var action string
		var at int64
		if err := scan(&f.Key, &f.Project, &f.Signature, &f.Type, &f.Message, &f.Text, &f.Outcome, &action, &f.Tokens, &f.Cost, &at); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(action), &f.Action); err != nil {
			return fmt.Errorf("failure %s: %w", f.Key, err)
		}
		f.At = time.Unix(0, at).UTC()
		out = append(out, f)
		return nil
	})
	return out, err
}

// Forget implements Store.
func (d database) Forget(ctx context.Context, q Query) (int, error) {
	where, args := q.where()
	n, err := d.Exec(ctx, "delete from failures where "+where, args...)
	return int(n), err
}

// notStarted are the lines by which a program that runs others reports that it has nothing
// of the name to run, or was called wrongly. A file that a rule of make needs and nobody
// makes is a fault of the build, and not among them.
var notStarted = []*lazyregexp.Regexp{
	lazyregexp.New(`(?m)^npm (?:ERR!|error) [Mm]issing script: .*$`),
	lazyregexp.New(`(?m)^error Command "[^"\n]+" not found\.$|^(?:➤ )?(?:YN0000: )?Usage Error: Couldn't find a script named .*$`), // yarn
	lazyregexp.New(`(?m)^\s*ERR_PNPM_(?:RECURSIVE_RUN_)?NO_SCRIPT\s.*$`),
	lazyregexp.New(`(?m)^error: Script not found "[^"\n]+"$`), // bun
	lazyregexp.New(`(?m)^(?:error: )?Task not found: .*$`),    // deno
	lazyregexp.New(`(?m)^\s*(?:\[Symfony.*\]\s*)?Command "[^"\n]+" is not defined\.`),
	lazyregexp.New(`(?m)^g?make(?:\[\d+\])?: \*\*\* (?:No rule to make target [^,\n]*|No targets specified and no makefile found\.|No targets\.)\s+Stop\.$`),
	lazyregexp.New(`(?m)^error: [Jj]ustfile does not contain recipe .*$`),
	lazyregexp.New(`(?m)^task: Task "[^"\n]+" does not exist.*$`),
	lazyregexp.New(`(?m)^(?:rake aborted!\n)?Don't know how to build task .*$`),
	lazyregexp.New(`(?m)^Task '[^'\n]+' not found in (?:root )?project.*$`), // gradle
	lazyregexp.New(`(?m)^\[ERROR\] (?:Unknown lifecycle phase|The goal you specified requires a project to execute) .*$`),
	lazyregexp.New(`(?m)^error: no such (?:sub)?command: .*$`), // cargo
	lazyregexp.New(`(?m)^(?:pytest|__main__\.py|\S*pytest): error: .*$|^ERROR: file or directory not found: .*$`),
	lazyregexp.New(`(?m)^\S*python[\d.]*: (?:can't open file .*|No module named .*)$`),
	lazyregexp.New(`(?m)^npm (?:ERR!|error) (?:enoent )?Could not read package\.json.*$`),
	lazyregexp.New("(?m)^error: could not find `Cargo\\.toml` in .*$|^go: go\\.mod file not found in .*$"),
	lazyregexp.New(`(?m)^Could not find '[^'\n]+'$`), // node --test
}

// NotStarted returns the line of an output by which a program reports that it could not start, or
// "".
func NotStarted(output string) string {
	output = bounded(output)
	for _, re := range notStarted {
		if line := re.FindString(output); line != "" {
			line = line[strings.LastIndex(strings.TrimSpace(line), "\n")+1:]
			return strings.TrimSpace(line)
		}
	}
	return ""
}
