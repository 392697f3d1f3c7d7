package agents_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// spawners is a catalog of agents that spawn others: name, names.
func spawners(t *testing.T, pairs ...string) (*agents.Catalog, *tools.Set) {
	t.Helper()
	fs := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		text := "---\ndescription: Works.\ntools: [finish]\n"
		if pairs[i+1] != "" {
			text += "spawn: " + pairs[i+1] + "\n"
		}
		fs[pairs[i]+".md"] = &fstest.MapFile{Data: []byte(text + "done: {signal: DONE}\n---\nYou work.\n")}
	}
	cat := agents.Load(agents.Layer{Name: "mine", FS: fs})
	ps := cat.Problems()
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	return cat, set
}

// Agents are pinned as deep as they may be spawned, whichever way leads there
// first by name.
func TestPinned(t *testing.T) {
	cat, set := spawners(t, "a", "{agents: [b, c], depth: 2}", "b", "[c]", "c", "[d]", "d", "[e]", "e", "")
	task, err := agents.Resolve(agents.Input{Agent: "a", Prompt: "x", Model: "m/x"}, cat, set, agents.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range task.Spawn.Agents {
		names = append(names, name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "b c d" {
		t.Errorf("pinned %s; d is two levels down by way of c", got)
	}
	if got := strings.Join(task.Spawn.Allowed, " "); got != "b c" {
		t.Errorf("may spawn %s", got)
	}
}

// A name that nobody has is an error of the file, and of a job that would use
// it.
func TestSpawnNobody(t *testing.T) {
	cat, set := spawners(t, "a", "[planer, b]", "b", "", "planner", "")
	ps := cat.Lint(set)
	if len(ps) != 1 || !strings.Contains(ps[0].String(), "a.md:4:8: error: spawn: there is no agent planer; did you mean planner?") {
		t.Errorf("%v", ps)
	}
	if _, err := agents.Resolve(agents.Input{Agent: "a", Prompt: "x", Model: "m/x"}, cat, set, agents.Env{}); err == nil || !strings.Contains(err.Error(), "spawn: there is no agent planer; did you mean planner?") {
		t.Error(err)
	}
}

// A pattern is for the agents that can run: one of a stranger with a fault keeps nobody from
// spawning the others, but where it is named.
func TestSpawnFaulty(t *testing.T) {
	for spawn, want := range map[string]string{"['*']": "b", "['b*', 'c*']": "b", "[b, c]": "spawn: agent c: "} {
		_, set := spawners(t)
		file := func(lines string) *fstest.MapFile {
			return &fstest.MapFile{Data: []byte("---\ndescription: d\n" + lines + "\n---\nYou work.\n")}
		}
		cat := agents.Load(agents.Layer{Name: "mine", FS: fstest.MapFS{"a.md": file("spawn: " + spawn), "b.md": file(""), "c.md": file("tools: [nosuch]")}})
		task, err := agents.Resolve(agents.Input{Agent: "a", Prompt: "x", Model: "m/x"}, cat, set, agents.Env{})
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", spawn, err)
			}
		} else if got := strings.Join(task.Spawn.Allowed, " "); !strings.HasSuffix(got, want) || strings.Contains(got, "c") {
			t.Errorf("%s: %s", spawn, got)
		}
	}
}

// An agent that names a role which nobody has set up gets the model of whoever
// asks; another that does not exist is an error.
func TestLesserRoles(t *testing.T) {
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model string
		in    agents.Input
		known string
		want  string
	}{
		{"cheap", agents.Input{}, "", "m/default"},
		{"cheap", agents.Input{}, "cheap", "m/cheap"},
		{"cheap", agents.Input{Model: "m/asked"}, "cheap", "m/asked"},
		{"strong", agents.Input{Parent: &executor.Parent{Model: "m/parent"}}, "", "m/parent"},
		{"strong", agents.Input{Parent: &executor.Parent{Model: "m/parent"}}, "strong", "m/strong"},
		{"strong", agents.Input{Parent: &executor.Parent{Model: "m/parent", Force: true}}, "strong", "m/parent"},
		{"chaep", agents.Input{}, "", ""},
	} {
		in := c.in
		in.Spec, in.Prompt = &agents.DynamicAgent{Name: "a", Description: "d", Model: c.model, Prompt: "p"}, "x"
		task, err := agents.Resolve(in, nil, set, agents.Env{
			Defaults: agents.Defaults{Model: "m/default"},
			Lesser:   func(ref string) bool { return (ref == "cheap" || ref == "strong") && ref != c.known },
			Route: func(ref string) (executor.Route, error) {
				if ref == c.known {
					ref = "m/" + ref
				}
				if !strings.Contains(ref, "/") {
					return executor.Route{}, errors.New("no such role")
				}
				return executor.Route{Model: ref}, nil
			},
		})
		if (err != nil) != (c.want == "") || task.Model != c.want {
			t.Errorf("%s, %+v: %s, %v; want %s", c.model, c.in, task.Model, err, c.want)
		}
	}
}

// What a project's agent allows itself does not hold when it is spawned either.
func TestPinnedRights(t *testing.T) {
	cat := agents.Load(
		agents.Layer{Name: "mine", FS: fstest.MapFS{"a.md": {Data: []byte("---\ndescription: Leads.\nspawn: [b]\ndone: {signal: DONE}\n---\nYou lead.\n")}}},
		agents.Layer{Name: "project", FS: fstest.MapFS{"b.md": {Data: []byte("---\ndescription: Works.\ntools: [shell, read_file]\npermissions: [{do: allow, tool: shell, command: \"make *\"}, {do: deny, path: \"*.key\"}]\n---\nYou work.\n")}}},
	)
	ps := cat.Problems()
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	task, err := agents.Resolve(agents.Input{Agent: "a", Prompt: "x", Model: "m/x"}, cat, set, agents.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if spec := string(task.Spawn.Agents["b"].Spec); strings.Contains(spec, "make") || !strings.Contains(spec, "*.key") {
		t.Errorf("pinned as %s", spec)
	}
}
