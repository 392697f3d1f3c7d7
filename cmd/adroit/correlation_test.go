package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// A logLine is a line of the log for operators.
type logLine struct {
	Msg, Job, Path, Agent, Span, Parent, Name, Step string
}

// TestCorrelation follows one repair through the log, the events and the result: from
// the pipeline to its coordinator, to the agent, to what the agent did. The provider
// is down at first, so that a second process goes on.
func TestCorrelation(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		"config.yaml": "log: {level: debug, format: json, file: LOG}\n", "turns.yaml": "turns:\n  - error: {kind: auth, message: the key has expired}\n",
		"repo/a.txt": "wrong\n", "repo/build.sh": fixBuild,
		"repo/.adroit/pipelines/ship.yaml": "name: ship\ndescription: Build.\nsteps:\n  - id: build\n    agent: coordinator\n    inputs: {command: sh build.sh, escalate: report}\n",
	})
	put(t, p.path("config.yaml"), "log: {level: debug, format: json, file: "+p.path("log.json")+"}\n")
	p.env = append(p.env, "ADROIT_CONFIG="+p.path("config.yaml"))
	if code, out := p.run("run", "ship", "--trust-project", "-m", "script:../turns.yaml"); code != 1 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	put(t, p.path("turns.yaml"), fixOnce)
	if code, out := p.run("continue", "last"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	var coordinator, agent, edit logLine
	for line := range strings.Lines(p.read("log.json")) {
		var l logLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch {
		case l.Msg == "agent.started" && l.Name == "coordinator":
			coordinator = l
		case l.Msg == "agent.started" && l.Name == "code-fix":
			agent = l
		case l.Msg == "step.finished" && l.Name == "edit_file":
			edit = l
		}
	}
	if coordinator.Span != coordinator.Job+"/"+coordinator.Path || coordinator.Parent != coordinator.Job || coordinator.Job == "" {
		t.Errorf("the coordinator's line is %+v", coordinator)
	}
	if agent.Agent != "code-fix" || agent.Parent != coordinator.Span || agent.Span != agent.Job+"/"+agent.Path {
		t.Errorf("the agent's line is %+v, its coordinator's %+v", agent, coordinator)
	}
	if edit.Agent != "code-fix" || edit.Span != agent.Span || edit.Parent != coordinator.Span || !strings.HasPrefix(edit.Path, agent.Path+".") {
		t.Errorf("the line of what it did is %+v, the agent's %+v", edit, agent)
	}
	_, events := p.run("jobs", "logs", "last", "--json")
	if !strings.Contains(events, `"kind":"agent.started","path":"`+agent.Path+`"`) && !strings.Contains(events, `"path":"`+agent.Path+`"`) {
		t.Errorf("no event has the path %s\n%s", agent.Path, events)
	}
	_, job := p.run("jobs", "show", "last", "--json")
	if !strings.Contains(job, agent.Job) {
		t.Errorf("the log is of another job than %s", agent.Job)
	}
}
