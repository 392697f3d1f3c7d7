package adroit

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Options configure a Runtime. Models must be set. Groups are embedded:
// o.Agents is o.Definitions.Agents.
type Options struct {
	Models map[string]llm.Model // by the part of provider/model before the slash
	Model  string               // of requests and agents that name none
	Source ModelSource          // instead of Models: opens them by reference
	// ModelWait bounds the time a request waits for a server that loads its model or limits the
	// rate. Zero: as long as five attempts take.
	ModelWait time.Duration
	// Tools lists what agents may use and name as checks. executor.NewCheck makes a check over
	// the state of a run.
	Tools []tools.Tool
	// ToolServers have more tools, for agents that name a server. Close closes
	// them. May be nil.
	ToolServers ToolServers
	// Defaults for what neither requests nor agents say. Its Model is not
	// read: see Model. Without Instead, models get the tools of the form of
	// editing that is known to suit them, as far as Tools has them.
	Defaults agents.Defaults
	Definitions
	Workspace
	Storage
	Callbacks
	// Examine looks at what parts need of the machine, for Doctor.
	Examine []func(ctx context.Context) []Finding
	// Coordination has jobs learn from the failures of earlier ones: see docs/fix.md.
	Coordination Coordination
}

// Definitions lists what requests may name.
type Definitions struct {
	Agents []agents.Layer // files, for Lookup and by name
	// Literals are agents built in Go, which requests, Spawn and pipelines name as they
	// name those of files. They are over files with the same name, a project's too.
	Literals []agents.DynamicAgent
	Agent    string // of requests that name none; empty: assistant
	// Pipelines are files, for requests that name one; Skills are files for all agents.
	Pipelines []agents.Layer
	Skills    []agents.Layer
	// Workflows lists the workflows that agents name with workflow:, of agents.Define. The
	// agent loop and that of pipelines are there without being named.
	Workflows []flow.Workflow
}

// A Workspace describes where jobs work, what is known of it, and what they reach from it.
//
// A job opens it only if something may need it: a tool of its agent or a check in its definition
// of done by the tool's Needs; a criterion about changes; memory, skills, sub-agents, files that
// go with the request; Trust, ToolServers or hooks of calls. Of an agent in a file, a pipeline or
// another workflow nobody knows beforehand. A job that opens none looks at no file, starts no
// program, and takes no lock; where jobs are kept, it looks at .env* files for secrets, and
// its record has a lock.
type Workspace struct {
	// Dir is the workspace of requests that name none; empty means the
	// current directory. "last" in place of a job's id is the newest job that works
	// there, or of all where Dir is empty.
	Dir string
	// Trust is the directory with the record of which agents, pipelines, skills and
	// instructions of workspaces their operator trusts, usually Data. Empty: none are
	// looked at, but for a request with Trust.
	Trust string
	// ProjectBytes bounds what a project's AGENTS.md may take of a prompt; 0 is
	// the default, -1 none of it.
	ProjectBytes int
	// TestCommands are the command lines that run tests, by directory or "*".
	TestCommands map[string]string
	// ConfigFile is the configuration's name in findings of Doctor.
	ConfigFile string
	// OwnFiles lists files that no job may write, such as programs that run outside of the
	// sandbox, beside ConfigFile and those of Hooks. It is called whenever a job starts;
	// nil means none.
	OwnFiles func() []string
	// Servers are the language servers that look at what jobs change; nil means
	// those of lsp.Known that are installed, an empty list none.
	Servers []LanguageServer
	// NoDiagnostics keeps the language servers from checking what calls change.
	NoDiagnostics bool
	// Sandbox confines commands: at the best level that the machine can do unless Level says
	// otherwise. Its Private is not read, and Data is hidden from commands always.
	Sandbox SandboxOptions
	// Network bounds the reach of tools: public addresses, and what it allows.
	Network netguard.Guard
	// Names changes the list of names of files that no tool may touch.
	Names *workspace.DenyList
	// Secrets keeps secrets out of what jobs leave behind. Nil knows those of
	// the environment and the well-known shapes; secret.NewRedactor takes more. Those of
	// a workspace's .env* files are added for the jobs that open it. A job keeps none of them and its
	// models get none, also where a request has one in its prompt.
	Secrets *secret.Redactor
}

// Storage configures where jobs are kept. The zero value keeps them in memory: they end with
// the Runtime, which remembers the newest hundred that have ended.
type Storage struct {
	// Data is the directory of what jobs leave beside the store, such as what
	// undo needs; it must lie outside of every workspace. Empty is a temporary one, made
	// when it is first needed.
	Data string
	// Store opens what keeps the jobs, when a job is first needed: [sqlite.Store]
	// of Data, or one of the program's own. Close closes it if it is an io.Closer.
	//
	// [sqlite.Store]: https://pkg.go.dev/github.com/adroit-run/adroit/pkg/sqlite#Store
	Store func(context.Context) (jobs.Store, error)
	// CheckStore reads the pages of what keeps the jobs, with all also every
	// record, and returns the jobs and what is damaged. For Doctor; may be nil.
	CheckStore func(ctx context.Context, all bool) (list []*jobs.Job, damage []string, err error)
	// Elsewhere runs the workflows of jobs with a JobConfig.Engine. Nil: nobody can start or
	// steer such a job here, and its steps are performed by the caller of Runtime.Attend.
	Elsewhere Elsewhere
	// Labels name this runtime among the hosts of such an engine: requests that name others are
	// refused.
	Labels []string
	// AtOnce bounds how many jobs of the store run at once, in all processes that
	// have it; those above it are queued. 0 is as many as the process may have files
	// open for. See docs/production.md.
	AtOnce int
}

// An Elsewhere is an engine that runs workflows in other processes. It is safe for
// concurrent use.
type Elsewhere interface {
	// Start begins the workflow of a job that was submitted or reopened, on a host, or lets
	// it go on if it was stopped or is blocked. note, if not empty, is for the events of a job
	// that goes on after its end; atOnce is as in StartOptions.
	Start(ctx context.Context, j *jobs.Job, host, note string, atOnce int) error
	// Signal passes on a signal that the store of the job's host has. Its error is
	// jobs.ErrFinal for a job whose workflow does not run: it is given the store's when it does.
	Signal(ctx context.Context, job string, sig flow.Signal) error
	// Stop interrupts a job and returns when its host has recorded that, with the reason.
	Stop(ctx context.Context, job, reason string) error
	// Cancel asks for the end of a job, which its host records. jobs.ErrFinal as above.
	Cancel(ctx context.Context, job string) error
}

// Callbacks see, change or answer what jobs do. Each may be nil.
type Callbacks struct {
	// Hooks are commands that see each call of a tool and its result.
	Hooks []Hook
	// Middleware wraps each call of a tool, inside of the hooks; the first is
	// outermost. It is outside of the permission check: it also sees calls that are
	// denied, and a call that asks a person twice, before the answer and after it. In a job
	// that opens no workspace, Files, Exec and Code of the Env are nil.
	Middleware []func(ToolHandler) ToolHandler
	// Policy judges each call of a tool where the rules are judged, after them: allow, ask
	// or deny, with a reason for the model or the person; the zero Verdict leaves the call
	// to the rules. It cannot allow what a mode or a rule denies, nor what only a person may
	// allow: to send out secrets, to do twice what may have happened. A call that a person
	// approved is not judged again. It may be called from several goroutines.
	Policy func(context.Context, Invocation) permit.Verdict
	// Emit sees the events of all jobs that run here.
	Emit event.Sink
	// Person returns what asks a person, while a job runs, about something that
	// a model at work is about to do on its own; question is JSON of
	// executor.Question, and no says why not. Nil, or nil returned: nobody is there.
	Person func() func(ctx context.Context, question json.RawMessage) (no string, err error)
	// Warn reports what is no reason to stop.
	Warn func(text string)
	// Hook is passed to the engine of each job, for tests that kill.
	Hook func(point string, s flow.Step)
}

// Coordination is the knowledge of coordinators, which repair what fails, and their way to learn.
type Coordination = coordinator.Policy

// A Detector recognises a failure in Go, where a pattern in a file cannot: see
// docs/fix.md. It has Name, Type and Match, and what is done about the failure:
// Decision (retry, escalate, fail, or empty for the strategy of the type), Reason and
// Hint for people.
type Detector = coordinator.Detector

// apart refuses a workspace that contains the data of jobs: there the tools of a job
// could change what undoing it needs.
func (o *Options) apart(workspace string) error {
	if err := ownDirectory(workspace); err != nil || o.Data == "" {
		return err
	}
	data, err := rootfs.Real(o.Data)
	if err != nil {
		return fmt.Errorf("the data directory: %w", err)
	}
	dir, err := rootfs.Real(workspace)
	if err != nil {
		return fmt.Errorf("the workspace: %w", err)
	}
	if rel, err := filepath.Rel(dir, data); err == nil && filepath.IsLocal(rel) {
		return problem.Invalidf("work in a directory of its own (-C DIR), or keep the data elsewhere (--data-dir DIR)",
			"%s cannot be a workspace: the data of all jobs lies in it (%s), where tools could change it", dir, rel)
	}
	return nil
}

// guardOwn guards the files of this runtime's own that programs outside of the sandbox
// obey, wherever they lie by now: the configuration, and what hooks start.
func (o *Options) guardOwn() {
	if o.ConfigFile != "" {
		if file, err := filepath.Abs(o.ConfigFile); err == nil {
			rootfs.Own(file)
		}
	}
	for _, h := range o.Hooks {
		rootfs.Own(hostexec.Files(h.Command)...)
	}
	if o.OwnFiles != nil {
		rootfs.Own(o.OwnFiles()...)
	}
	rootfs.OwnAgain() // where links lead that the user has made since
}

// ownDirectory refuses a workspace in a directory of the program's own.
func ownDirectory(workspace string) error {
	t, err := rootfs.Open(workspace)
	if err != nil {
		return nil // working there reports it
	}
	defer t.Close()
	for _, p := range t.Owned() {
		if p.Path == "." {
			return problem.Invalidf("work in another directory (-C DIR)", "%s cannot be a workspace: it is a directory of adroit's own configuration, which no tool may change", t.Dir)
		}
	}
	return nil
}

// A Part extends a program beyond the core: its tools, its section of the configuration, and
// what doctor looks at for it. All but the name may be left out.
type Part struct {
	Name  string
	About string // a sentence, in Markdown, for docs/tools.md
	// Tools are the part's. Those of a part that has a section are the section's.
	Tools []tools.Tool
	// Section makes a new section, in which nothing is set.
	Section func() Section
	// Examine looks at what the part needs of the machine, for doctor.
	Examine func(ctx context.Context) []Finding
}

// A Section is a part's key of the configuration. It is a pointer to a struct, which is
// read strictly: its fields have the tag yaml, and may have least and show, as those of
// config.Config.
type Section interface {
	// Key is the section's own, at the top of the file.
	Key() string
	// Settings are the keys below it, for the reference and for config show.
	Settings() []PartSetting
	// Check calls fault for each value that cannot be used, with what to do about it and
	// the keys below the section that lead to the value.
	Check(fault func(err error, hint string, keys ...string))
	// Secrets names the variables of the environment whose values are shown nowhere.
	Secrets() []string
	// Tools returns the part's tools as the section sets them up.
	Tools(h PartHost) []tools.Tool
}

// A PartSetting is a key of a section.
type PartSetting struct {
	Key     string // below the section's; NAME stands for what users call things
	About   string // in Markdown, for docs/config.md
	Default string // shown where nothing is set; "": the setting is not shown then
}

// A PartHost is a part's view of the host. Its zero value is a machine where nothing is
// configured: a nil Getenv is os.Getenv, and a nil Now time.Now.
type PartHost struct {
	Data   string // the data directory, "" if there is none
	Getenv func(string) string
	Now    func() time.Time
}

// ToolsOf returns the tools of parts as if nothing were configured.
func ToolsOf(parts []Part) (list []tools.Tool) {
	for _, p := range parts {
		list = append(list, p.Tools...)
		if p.Section != nil {
			list = append(list, p.Section().Tools(PartHost{})...)
		}
	}
	return list
}

// ExaminationsOf returns the parts' examinations for doctor: Options.Examine.
func ExaminationsOf(parts []Part) (list []func(ctx context.Context) []Finding) {
	for _, p := range parts {
		if p.Examine != nil {
			list = append(list, p.Examine)
		}
	}
	return list
}
