package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// hostileText stands for text from models, servers and files that strangers wrote.
const hostileText = "evil\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r\x00 text"

// hostile is a value whose texts, all of them, act on a terminal that gets them.
func hostile[T any]() (v T) {
	fill(reflect.ValueOf(&v).Elem(), "", 8)
	return v
}

func fill(v reflect.Value, name string, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	switch t := v.Type(); {
	case t == reflect.TypeFor[jobs.Status]():
		v.SetString(string(jobs.Waiting))
		return
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Now()))
		return
	case t == reflect.TypeFor[json.RawMessage]():
		b, _ := json.Marshal(map[string]any{"tool": hostileText, "text": hostileText, "args": map[string]any{hostileText: hostileText}, "calls": []string{hostileText}}) // strings
		v.SetBytes(b)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostileText)
		if slices.Contains([]string{"ID", "Job", "Step", "State", "Kind"}, name) { // adroit makes them
			v.SetString("J1M82HG5GPZWVT")
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), "", depth-1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, "", depth-1)
		fill(value, "", depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name, depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), v.Type().Field(i).Name, depth-1)
		}
	}
}

// strangers is a client whose results are hostile.
type strangers struct{ adroit.Client }

func (strangers) Jobs(context.Context, adroit.ListOptions) ([]adroit.JobSummary, error) {
	return hostile[[]adroit.JobSummary](), nil
}
func (strangers) Job(context.Context, string) (*adroit.JobDetail, error) {
	return hostile[*adroit.JobDetail](), nil
}
func (strangers) Events(context.Context, string, adroit.EventOptions) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, kind := range []event.Kind{event.JobStarted, event.StepStarted, event.StepRetried, event.StepFinished, event.JobWaiting, event.JobFinished} {
			for _, step := range []string{"model", "tool", "await", "spawn", hostileText} {
				ev := hostile[event.Event]()
				if ev.Kind, ev.Step = kind, step; !yield(ev, nil) {
					return
				}
			}
		}
	}
}
func (strangers) Artifacts(context.Context, string) (*adroit.ArtifactList, error) {
	return hostile[*adroit.ArtifactList](), nil
}
func (strangers) Transcript(context.Context, string) (*adroit.Transcript, error) {
	return hostile[*adroit.Transcript](), nil
}
func (strangers) ArtifactFile(context.Context, string, adroit.ArtifactFile) (*adroit.FilePiece, error) {
	return hostile[*adroit.FilePiece](), nil
}
func (strangers) FailureStats(context.Context, adroit.StatsQuery) (*adroit.CoordinatorStats, error) {
	return hostile[*adroit.CoordinatorStats](), nil
}
func (strangers) Failures(context.Context, adroit.FailureQuery) ([]adroit.Failure, error) {
	return hostile[[]adroit.Failure](), nil
}
func (strangers) Facts(context.Context, adroit.FactQuery) ([]adroit.Fact, error) {
	return hostile[[]adroit.Fact](), nil
}
func (strangers) Steps(context.Context, string) (*adroit.StepList, error) {
	return hostile[*adroit.StepList](), nil
}
func (strangers) Diff(context.Context, string, adroit.Selection) (*adroit.Diff, error) {
	return hostile[*adroit.Diff](), nil
}
func (strangers) Undo(context.Context, string, adroit.Selection) (*adroit.UndoReport, error) {
	return hostile[*adroit.UndoReport](), nil
}
func (strangers) Merge(context.Context, string, string) (*adroit.MergeReport, error) {
	return hostile[*adroit.MergeReport](), nil
}
func (strangers) Prune(context.Context, adroit.PruneOptions) (*adroit.PruneReport, error) {
	return hostile[*adroit.PruneReport](), nil
}
func (strangers) Agents(context.Context, adroit.Scope) (*adroit.Listing[adroit.AgentInfo], error) {
	return hostile[*adroit.Listing[adroit.AgentInfo]](), nil
}
func (strangers) Pipelines(context.Context, adroit.Scope) (*adroit.Listing[adroit.PipelineInfo], error) {
	return hostile[*adroit.Listing[adroit.PipelineInfo]](), nil
}
func (strangers) Skills(context.Context, adroit.Scope) (*adroit.Listing[adroit.SkillInfo], error) {
	return hostile[*adroit.Listing[adroit.SkillInfo]](), nil
}
func (strangers) Tools(context.Context) (*adroit.Listing[adroit.ToolInfo], error) {
	return hostile[*adroit.Listing[adroit.ToolInfo]](), nil
}
func (strangers) CallTool(context.Context, adroit.ToolCall) (*executor.ToolResult, error) {
	return hostile[*executor.ToolResult](), nil
}
func (strangers) ToolServers(context.Context, adroit.Scope) (*adroit.Listing[adroit.ToolServerInfo], error) {
	return hostile[*adroit.Listing[adroit.ToolServerInfo]](), nil
}
func (strangers) CheckToolServer(context.Context, adroit.ToolServerCheck) (*adroit.ToolServerReport, error) {
	return hostile[*adroit.ToolServerReport](), nil
}
func (strangers) Models(context.Context) ([]adroit.ModelInfo, error) {
	return hostile[[]adroit.ModelInfo](), nil
}
func (strangers) CheckModel(context.Context, adroit.ModelQuery) (*adroit.ModelReport, error) {
	return hostile[*adroit.ModelReport](), nil
}
func (strangers) Trust(context.Context, string) (*trust.Status, error) {
	return hostile[*trust.Status](), nil
}
func (strangers) Trusts(context.Context) ([]trust.Place, error) {
	return hostile[[]trust.Place](), nil
}
func (strangers) Doctor(context.Context, adroit.DoctorQuery) ([]adroit.Finding, error) {
	return hostile[[]adroit.Finding](), nil
}
func (strangers) LintAgents(context.Context, adroit.LintRequest) (*adroit.LintReport, error) {
	return hostile[*adroit.LintReport](), nil
}
func (strangers) LintPipelines(context.Context, adroit.LintRequest) (*adroit.LintReport, error) {
	return hostile[*adroit.LintReport](), nil
}
func (strangers) Signal(context.Context, string, adroit.Signal) (*adroit.SignalSent, error) {
	return hostile[*adroit.SignalSent](), nil
}
func (strangers) Send(context.Context, string, executor.Message) (*jobs.Job, error) {
	return hostile[*jobs.Job](), nil
}
func (strangers) Start(context.Context, string, adroit.StartOptions) (*adroit.Started, error) {
	return hostile[*adroit.Started](), nil
}
func (strangers) Wait(context.Context, string) (*jobs.Job, error) {
	return hostile[*jobs.Job](), nil
}

// Nothing that models, servers or files wrote acts on the terminal, whichever command
// shows it.
func TestCommandsEscape(t *testing.T) {
	dir := t.TempDir()
	commands := []string{
		"jobs", "jobs list --all", "jobs show J1", "jobs logs J1", "jobs transcript J1", "jobs artifacts J1", "jobs graph J1", "jobs steps J1", "jobs undo J1",
		"jobs merge J1", "fix failures", "agents memory", "agents memory show J1", "mcp", "mcp check x", "agents --all", "agents lint", "pipelines", "pipelines lint", "agents skills",
		"models", "models check x/y", "config trust --show", "config trust --list", "doctor",
		"answer J1 words", "answer approve J1", "answer deny J1 words", "continue J1 words", "continue J1", "chat --continue J1",
	}
	for _, line := range commands {
		t.Run(line, func(t *testing.T) {
			var out bytes.Buffer
			p := cli.Program{Stdin: strings.NewReader("n\n/jobs\n/cost\n/diff\n/undo\n/agent\n/model\n/help\n"), Stdout: &out, Stderr: &out, Through: func(adroit.Client) adroit.Client { return strangers{} },
				Getenv: func(name string) string { return map[string]string{"HOME": dir, "ADROIT_HOME": dir}[name] }}
			p.Run(t.Context(), strings.Fields(line)...)
			if !strings.Contains(out.String(), "evil") {
				t.Errorf("it shows nothing of what they wrote:\n%s", out.String())
			}
			for l := range strings.SplitSeq(out.String(), "\n") {
				if strings.ContainsFunc(l, acts) || !utf8.ValidString(l) {
					t.Errorf("acts on the terminal: %q", l)
					break
				}
			}
		})
	}
}

// acts reports whether a terminal does something else than to print r.
func acts(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
