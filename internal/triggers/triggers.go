// Package triggers starts jobs when something happens: at a time, when files change, when a
// signed request comes in, when another job has ended; and notifies people of jobs that wait or
// have ended. A server runs it:
//
//	e, err := triggers.New(triggers.Options{Client: c, Data: dir, Triggers: conf.Triggers})
//	err = e.Run(ctx) // until ctx ends
//
// Jobs are submitted through the client as anybody submits them. What happened is recorded before a
// job is submitted for it, and the job's key names it: after a kill it is neither lost nor done
// twice. What others wrote reaches a job as quoted data that is marked untrusted, never a command.
//
// It is no scheduler of a cluster: one process of a data directory runs it at a time.
package triggers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A Trigger defines when a job starts, and which. It has one of Cron, Files, Webhook and Job.
type Trigger struct {
	Cron     string        `yaml:"cron"`
	TimeZone string        `yaml:"time_zone"` // of Cron; "": the machine's
	CatchUp  int           `yaml:"catch_up"`  // how many missed times are made up for
	Files    []string      `yaml:"files"`     // globs below Dir
	Quiet    time.Duration `yaml:"quiet"`     // for how long nothing changes before Files starts a job
	Webhook  Webhook       `yaml:"webhook"`
	Job      Ended         `yaml:"job"`

	// When has values of the payload by their path: one of each list must be there.
	When map[string][]string `yaml:"when"`

	Run      string            `yaml:"run"` // an agent or a pipeline
	Dir      string            `yaml:"dir"`
	Prompt   string            `yaml:"prompt"` // {{path}} is a value of the payload, quoted as data
	Inputs   map[string]string `yaml:"inputs"` // {{path}} as above
	Model    string            `yaml:"model"`
	Mode     executor.Mode     `yaml:"mode"`
	Approve  executor.Approve  `yaml:"approve"`
	Worktree bool              `yaml:"worktree"`
	Overlap  bool              `yaml:"overlap"` // start a job while the one before it runs
}

// Triggers are triggers by name.
type Triggers map[string]Trigger

// String lists the triggers for people.
func (l Triggers) String() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		words = append(words, fmt.Sprintf("%s (%s): %s", name, l[name].kind(), l[name].Run))
	}
	return strings.Join(words, "; ")
}

// A Webhook describes how requests to /hooks/NAME are signed.
type Webhook struct {
	Scheme    string   `yaml:"scheme"`     // github, standard or hmac
	SecretEnv string   `yaml:"secret_env"` // the variable with the secret
	Events    []string `yaml:"events"`     // of github: the values of X-GitHub-Event
	Header    string   `yaml:"header"`     // of hmac: with the signature
	Prefix    string   `yaml:"prefix"`     // of hmac: before the signature, as in sha256=
	Encoding  string   `yaml:"encoding"`   // of hmac: hex or base64
	Timestamp string   `yaml:"timestamp"`  // of hmac: the header with Unix seconds; Signed has {timestamp} then
	Signed    string   `yaml:"signed"`     // of hmac: what is signed, as in v0:{timestamp}:{body}
}

// An Ended selects jobs that have ended.
type Ended struct {
	Agent    string        `yaml:"agent"`
	Pipeline string        `yaml:"pipeline"`
	Status   []jobs.Status `yaml:"status"`
	Depth    int           `yaml:"depth"` // how many jobs may follow from one another; 0 is defaultDepth
}

func (e Ended) set() bool {
	return e.Agent != "" || e.Pipeline != "" || len(e.Status) > 0 || e.Depth > 0
}

// Bounds.
const (
	defaultQuiet = 2 * time.Second
	defaultDepth = 3
	maxDepth     = 10
	maxCatchUp   = 100
	maxBody      = 4 << 20         // bytes of a request
	maxPending   = 200             // firings of one trigger that wait
	maxSeen      = 10_000          // ids that are remembered of one trigger
	window       = 5 * time.Minute // how far the timestamp of a request may be off
	late         = time.Minute     // a scheduled time that is further back was missed
)

// Schemes of webhooks.
const (
	schemeGitHub   = "github"
	schemeStandard = "standard"
	schemeHMAC     = "hmac"
)

// A Fault calls for each mistake: what it is, what to do, and the keys below the section that lead to it.
type Fault func(err error, hint string, keys ...string)

const example = "docs/serve.md has examples"

// Check reports what is wrong with triggers.
func Check(all Triggers, fault Fault) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t := all[name]
		if !named(name) {
			fault(fmt.Errorf("triggers: the name %q is not of lower-case letters, digits, - and _, at most 40", name), example, name)
		}
		t.check(func(key, format string, args ...any) {
			fault(fmt.Errorf("triggers.%s: %w", name, fmt.Errorf(format, args...)), example, name, key)
		})
	}
}

func named(name string) bool {
	return name != "" && len(name) <= 40 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func (t Trigger) check(fault func(key, format string, args ...any)) {
	kinds := 0
	for _, has := range []bool{t.Cron != "", len(t.Files) > 0, t.Webhook.Scheme != "", t.Job.set()} {
		if has {
			kinds++
		}
	}
	if kinds != 1 {
		fault("", "it needs exactly one of cron, files, webhook with a scheme, and job")
	}
	if t.Run == "" {
		fault("run", "run is missing; it is the name of an agent or a pipeline")
	}
	if !strings.HasPrefix(t.Dir, "~/") && !filepath.IsAbs(t.Dir) {
		fault("dir", "dir is %q; it is an absolute path or begins with ~/", t.Dir)
	}
	if t.Mode != "" && !slices.Contains(executor.Modes, t.Mode) {
		fault("mode", "mode is %q; it is plan, edits or auto", t.Mode)
	}
	if t.Approve != "" && !slices.Contains(agents.Approvals, t.Approve) {
		fault("approve", "approve is %q; it is ask, edits, all or none", t.Approve)
	}
	for _, text := range append(slices.Collect(maps.Values(t.Inputs)), t.Prompt) {
		if _, err := fill(text, func(string) (string, error) { return "", nil }); err != nil {
			fault("prompt", "%v", err)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(t.When)) {
		if _, err := parsePath(p); err != nil {
			fault("when", "when: %v", err)
		}
	}
	t.checkCron(fault)
	t.checkFiles(fault)
	if t.Webhook.Scheme != "" || t.Webhook.SecretEnv != "" {
		t.Webhook.check(fault)
	}
	for _, s := range t.Job.Status {
		if !s.Final() {
			fault("job", "job.status has %q, which is no status of a job that has ended", s)
		}
	}
	if t.Job.Depth > maxDepth {
		fault("job", "job.depth is %d; it is at most %d", t.Job.Depth, maxDepth)
	}
}

func (t Trigger) checkCron(fault func(key, format string, args ...any)) {
	if t.Cron == "" {
		if t.TimeZone != "" || t.CatchUp != 0 {
			fault("time_zone", "time_zone and catch_up are for cron")
		}
		return
	}
	if _, err := parseCron(t.Cron); err != nil {
		fault("cron", "%v", err)
	}
	if _, err := location(t.TimeZone); err != nil {
		fault("time_zone", "%v; a name is for example Europe/Berlin", err)
	}
	if t.CatchUp > maxCatchUp {
		fault("catch_up", "catch_up is %d; it is at most %d", t.CatchUp, maxCatchUp)
	}
}

func (t Trigger) checkFiles(fault func(key, format string, args ...any)) {
	for _, g := range t.Files {
		if !doublestar.ValidatePattern(g) || filepath.IsAbs(g) || strings.HasPrefix(g, "../") {
			fault("files", "files has %q, which is no pattern below dir, as src/**/*.go is", g)
		}
	}
	if len(t.Files) == 0 && t.Quiet != 0 {
		fault("quiet", "quiet is for files")
	}
	if t.Quiet > time.Hour {
		fault("quiet", "quiet is %s; it is at most an hour", t.Quiet)
	}
}

func (w Webhook) check(fault func(key, format string, args ...any)) {
	bad := func(format string, args ...any) { fault("webhook", format, args...) }
	if w.SecretEnv == "" {
		bad("webhook.secret_env is missing; it names the variable with the secret that requests are signed with")
	}
	if len(w.Events) > 0 && w.Scheme != schemeGitHub {
		bad("webhook.events is for the scheme github")
	}
	own := w.Header + w.Prefix + w.Encoding + w.Timestamp + w.Signed
	switch w.Scheme {
	case schemeGitHub, schemeStandard:
		if own != "" {
			bad("webhook: header, prefix, encoding, timestamp and signed are for the scheme hmac")
		}
	case schemeHMAC:
		if w.Header == "" {
			bad("webhook.header is missing; it is the header with the signature")
		}
		if w.Encoding != "" && w.Encoding != "hex" && w.Encoding != "base64" {
			bad("webhook.encoding is %q; it is hex or base64", w.Encoding)
		}
		if w.Signed != "" && !strings.Contains(w.Signed, "{body}") {
			bad("webhook.signed is %q, in which {body} is missing", w.Signed)
		}
		if (w.Timestamp != "") != strings.Contains(w.Signed, "{timestamp}") {
			bad("webhook.timestamp names a header, and {timestamp} in webhook.signed has it signed; neither goes without the other")
		}
	default:
		bad("webhook.scheme is %q; it is github, standard or hmac", w.Scheme)
	}
}

// Secrets are the variables whose values are shown nowhere.
func Secrets(triggers Triggers, notices Notices) (names []string) {
	for _, t := range triggers {
		names = append(names, t.Webhook.SecretEnv)
	}
	for _, n := range notices {
		names = append(names, n.SecretEnv, n.Mail.PasswordEnv)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(s string) bool { return s == "" })
}

// kind describes a trigger's event, for people.
func (t Trigger) kind() string {
	switch {
	case t.Cron != "":
		return strings.TrimSpace("cron " + t.Cron + " " + t.TimeZone)
	case len(t.Files) > 0:
		return "files " + strings.Join(t.Files, ", ")
	case t.Webhook.Scheme != "":
		return "webhook " + t.Webhook.Scheme
	}
	var of []string
	for _, s := range t.Job.Status {
		of = append(of, string(s))
	}
	return strings.Join(slices.DeleteFunc([]string{"job", t.Job.Agent, t.Job.Pipeline, strings.Join(of, "|")}, func(s string) bool { return s == "" }), " ")
}

// A Listed is a trigger as lists have it.
type Listed struct {
	Name    string    `json:"name"`
	On      string    `json:"on"`
	Run     string    `json:"run"`
	Dir     string    `json:"dir"`
	Next    time.Time `json:"next,omitzero"` // of cron
	Fired   time.Time `json:"fired,omitzero"`
	Job     string    `json:"job,omitempty"`     // the last one
	Waiting int       `json:"waiting,omitempty"` // firings that are no jobs yet
	Error   string    `json:"error,omitempty"`   // why the last one has no job
}

// List describes triggers by what a data directory knows of them.
func List(data string, all Triggers, now time.Time) ([]Listed, error) {
	s, err := readState(data)
	if err != nil {
		return nil, err
	}
	e := &Engine{s: s}
	out := []Listed{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t, r := all[name], e.record(name)
		l := Listed{Name: name, On: t.kind(), Run: t.Run, Dir: t.Dir, Fired: r.Fired, Job: r.Job, Waiting: e.waiting(name), Error: r.Error}
		if t.Cron != "" {
			c, err := parseCron(t.Cron)
			in, zoneErr := location(t.TimeZone)
			if err := errors.Join(err, zoneErr); err != nil {
				return nil, err
			}
			l.Next = c.next(now, in)
		}
		out = append(out, l)
	}
	return out, nil
}

// Test is the request of a firing that has not happened, with a payload as JSON; "" is one with the
// trigger's name and the time.
func Test(all Triggers, name, home, payload string, now time.Time) (adroit.Request, error) {
	t, ok := all[name]
	if !ok {
		return adroit.Request{}, &problem.Error{Kind: problem.NotFound, Message: fmt.Sprintf("there is no trigger %q", name), Hint: "its configuration is the key triggers; " + example}
	}
	var given any = map[string]any{"trigger": name, "time": now.Format(time.RFC3339)}
	if payload != "" {
		var err error
		if given, err = decodePayload([]byte(payload)); err != nil {
			return adroit.Request{}, problem.Invalidf("it is one value of JSON", "%v", err)
		}
	}
	if !t.matches(given) {
		return adroit.Request{}, problem.Invalidf("when in the configuration says what it wants", "%v", errFiltered)
	}
	r, err := t.Request(name, home, given)
	if err != nil {
		return r, problem.Invalidf("give one that has it with --payload FILE", "%v", err)
	}
	r.Key = keyOf(name, 0, "test-"+rand.Text())
	return r, nil
}
