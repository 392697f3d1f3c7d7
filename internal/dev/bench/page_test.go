package bench

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A figure is one unit of a benchmark. aim is the most that it should be, 0 for none.
type figure struct {
	bench, unit, what string
	aim               float64
}

// A section of docs/dev/performance.md compares with one thing.
type section struct {
	title, text string
	figures     []figure
}

var sections = []section{
	{"The loop", "One agent with one tool that needs nothing, by `adroit.Open` and `adroit.Start`, with jobs in memory. The plain loop is written by hand over `net/http` and `encoding/json`: it keeps a list of messages and encodes all of it for each request, without journal, validation, limits and events. The model is a server in a process of its own, whose work is not counted. CPU is that of the client's process.", []figure{
		{"Loop/10", "x-plain-cpu", "CPU of 10 turns, beside the plain loop", 2.5},
		{"Loop/100", "x-plain-cpu", "of 100 turns", 1.5},
		{"Loop/400", "x-plain-cpu", "of 400 turns", 0.75},
		{"Loop/400", "mallocs/turn", "allocations of a turn, of 400", 350},
		{"Loop/400", "plain-mallocs/turn", "of the plain loop's", 0},
		{"Loop/10", "KB/turn", "KB allocated in a turn, of 10", 0},
		{"Full/10", "x-plain-cpu", "10 turns with what the command line adds: secrets, rules, prices", 0},
		{"Full/100", "x-plain-cpu", "100 turns with that", 0},
		{"Full/400", "x-plain-cpu", "400 turns with that", 0},
		{"Stream", "x-plain-cpu", "100 turns with answers in pieces", 0},
		{"AtOnce", "x-plain-cpu", "200 agents at once, 20 turns each", 0},
		{"Long", "x-early", "a turn near turn 10,000, beside one near turn 1,000", 3},
	}},
	{"Durability", "SQLite with `synchronous=FULL`: what was acknowledged survives a power cut. A plain commit is one of a row of the same size by `database/sql`, one after the other.", []figure{
		{"DurableTurn/1", "x-raw-commits", "time of one agent's job, beside as many plain commits", 1.5},
		{"DurableTurn/1", "commits/turn", "commits of a turn with a tool that is safe to repeat", 3},
		{"DurableTurn/1", "x-memory-cpu", "CPU of one agent, beside jobs in memory", 0},
		{"DurableTurn/200", "x-memory-cpu", "of 200 agents at once", 2},
		{"DurableTurn/200", "commits/turn", "commits of a turn, of 200 agents at once", 0},
		{"Thousand", "turns/s", "turns a second of 1,000 agents at once, 50 turns each", -1500},
		{"Thousand", "KB/agent", "KB of heap an agent has amid that", 260},
		{"Syncs/read", "syncs/turn", "syncs of a turn of `adroit run` that reads a file (`strace`)", 0},
		{"Syncs/read", "pwrites/turn", "writes to the database in such a turn", 12},
		{"Syncs/write", "syncs/turn", "syncs of a turn that writes a file", 0},
		{"Syncs/command", "syncs/turn", "of a command that changes nothing", 0},
		{"Syncs/command-write", "syncs/turn", "of a command that writes a file", 0},
		{"Syncs/command-write", "syncfs/turn", "those of the whole file system among them", 0},
		{"Journal/1", "x-plain-commits", "steps of one job, beside two plain commits each", 0},
		{"Journal/100", "x-plain-commits", "of 100 jobs at once", 0},
		{"Fan/1000", "x-plain-commits", "1,000 branches of one step, beside two plain commits each", 0},
		{"Fan/10000", "x-plain-commits", "10,000 branches", 0},
		{"Fan/10000", "heap-bytes/branch", "bytes that a branch leaves in memory", 0},
		{"Replay/1000", "x-one-query", "1,000 steps resumed, beside reading their rows in one query", 0},
		{"Replay/10000", "x-one-query", "10,000 steps", 0},
		{"Replay/10000", "x-row-by-row", "the same, beside reading row by row", 0},
		{"Replay/5000", "managed-cpu-ms", "ms of CPU to resume 5,000 steps", 50},
		{"Replay/10000", "heap-bytes/step", "bytes that a step leaves in memory", 0},
	}},
	{"Large repositories", "", []figure{
		{"Tree", "x-status", "CPU of a job that reads one file among 50,000, beside `git status` there", 1.5},
		{"CommandInALargeTree", "first/git-status", "CPU of recording a command's changes in 50,000 files, beside `git status`", 0},
		{"CommandInALargeTree", "later/git-status", "that of the next command", 0},
		{"CodeSearch/literal", "x-rg-cpu", "CPU of a search in Go's source, beside rg: a literal", 1.5},
		{"CodeSearch/regexp", "x-rg-cpu", "a regular expression", 1.5},
		{"CodeSearch/none", "x-rg-cpu", "without a match", 1.5},
		{"CodeSearch/many", "x-rg-cpu", "1,000 matches", 1.5},
		{"CodeSearch/list", "x-rg-cpu", "files by pattern, beside `rg --files`", 0},
		{"CodeSearch/definition-warm", "x-rg-cpu", "a definition, warm, beside rg for the word", 1.5},
		{"CodeSearch/references-warm", "x-rg-cpu", "references, warm", 1.5},
		{"CodeSearch/outline-warm", "x-rg-cpu", "the outline of a package, warm, beside rg for declarations", 0},
		{"CodeSearch/map-warm", "x-rg-cpu", "the map of all files, warm", 0},
		{"Search/literal", "ratio", "time of one search in golang.org/x/tools, beside rg: a literal", 0},
		{"Search/regexp", "ratio", "a regular expression", 0},
		{"Search/many", "ratio", "464 matches", 0},
		{"Overlay/nothing", "x-compared", "time of `true` with an overlay, beside one whose files are compared", 0},
		{"Overlay/20000", "x-compared", "of a command that makes 20,000 ignored files", 0},
		{"Overlay/20000_again", "x-compared", "of one that replaces them", 0},
		{"Overlay/500_MB", "x-compared", "of one that makes a file of 500 MB", 0},
		{"Scan/again", "ms/scan", "ms of the look for protected names after a command, 10,000 files", 0},
		{"Copy", "times-git", "making, joining and removing a copy of 10,000 files, beside `git worktree`", 0},
		{"Copy", "times-git-disk", "its disk, beside that of a worktree", 0},
	}},
	{"Commands, edits and readers", "", []figure{
		{"Spawn/off", "x-plain", "time of `true`, beside os/exec, without a sandbox", 0},
		{"Spawn/landlock", "x-plain", "with Landlock", 0},
		{"Spawn/bubblewrap", "x-plain", "with bubblewrap", 0},
		{"Spawn/full", "x-plain", "at level full", 0},
		{"Edit/300-lines", "ratio", "an edit in 300 lines, beside writing the file and one sync", 0},
		{"Edit/30000-lines", "ratio", "in 30,000 lines", 0},
		{"Readers/1JobOf1000Readers", "deliveries/s", "events a second that 1,000 readers of one job get over HTTP", 0},
		{"Readers/100Jobs", "deliveries/s", "and the readers of 100 jobs at once", 0},
	}},
	{"The program", "", []figure{
		{"Start/version", "x-hello", "CPU of `adroit version`, beside a Go program that prints a line", 0},
		{"Start/--help", "x-hello", "of `adroit --help`", 0},
		{"Start/jobs", "x-hello", "of `adroit jobs` in an empty store", 0},
		{"Chat", "ms-p95-key", "ms until a key is echoed in a chat of 10,000 messages and 50,000 files, 95 of 100", 0},
		{"Chat", "MB", "MB of memory of that chat", 0},
		{"Calling/constrained", "tokens-in/job", "tokens that a job of one call sends, with tools in a constrained form", 0},
		{"CallingOllama/native", "tokens-in/job", "the same to a real Ollama, whose tokenizer counts bytes, with tools of its own", 0},
		{"CallingOllama/constrained", "tokens-in/job", "in a constrained form", 0},
		{"CallingOllama/text", "tokens-in/job", "in text", 0},
	}},
}

// measured reads the output of benchmarks: lines of "name: value", and the values of each unit by name.
func measured(t *testing.T) (about map[string]string, values map[string]map[string][]float64) {
	t.Helper()
	f, err := os.Open("testdata/measured.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	about, values = map[string]string{}, map[string]map[string][]float64{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "FAIL") {
			t.Errorf("a benchmark has failed: %s", line)
		}
		if name, value, ok := strings.Cut(line, ": "); ok && len(fields) > 1 && fields[0] == name+":" {
			about[name] = value
		}
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if at := strings.LastIndex(name, "-"); at > 0 { // the number of processors
			name = name[:at]
		}
		if values[name] == nil {
			values[name] = map[string][]float64{}
		}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			values[name][fields[i+1]] = append(values[name][fields[i+1]], v)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return about, values
}

// TestPage renders docs/dev/performance.md from what the benchmarks printed, and fails if it is
// anything else, or if a benchmark is in no row.
func TestPage(t *testing.T) {
	about, values := measured(t)
	var b strings.Builder
	fmt.Fprintf(&b, `# Performance

<!-- make bench writes this page -->

What adroit costs beside something real, measured in the same run on %s, at commit %s, on %s with a load of %s at the start. A cell has the median of the runs, and the least and the most of them. Trust the ratios: the machine is shared. An aim is not a promise, and no test asserts a time; what holds on any machine is tested (see the end).

`, about["date"], about["commit"], about["cpu"], about["load"])
	b.WriteString("```\nmake bench                                                              # all of it, half an hour; writes this page\ngo test -run '^$' -bench 'Loop|AtOnce' -benchtime 10x ./internal/dev/bench # some\n```\n")
	rows := map[string]bool{}
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		if s.text != "" {
			b.WriteString(s.text + "\n\n")
		}
		b.WriteString("| | measured | aim | `Benchmark` |\n|---|---|---|---|\n")
		for _, f := range s.figures {
			got := slices.Sorted(slices.Values(values[f.bench][f.unit]))
			if len(got) == 0 {
				t.Errorf("%s has no %s", f.bench, f.unit)
				continue
			}
			top, _, _ := strings.Cut(f.bench, "/")
			rows[top] = true
			middle, cell, aim := got[len(got)/2], number(got[len(got)/2]), ""
			if least, most := number(got[0]), number(got[len(got)-1]); least != most {
				cell += fmt.Sprintf(" (%s–%s)", least, most)
			}
			switch {
			case f.aim < 0:
				aim = fmt.Sprintf("at least %s%s", number(-f.aim), missed(middle < -f.aim))
			case f.aim > 0:
				aim = fmt.Sprintf("%s%s", number(f.aim), missed(middle > f.aim))
			}
			fmt.Fprintf(&b, "| %s | %s | %s | `%s`, %s |\n", f.what, cell, aim, f.bench, f.unit)
		}
	}
	b.WriteString(`
## What tests hold

| | test |
|---|---|
| allocations of a turn, whatever turn it is | ` + "`TestAllocations`" + ` |
| a job of pure tools opens no file, process or lock | ` + "`TestPureJobOpensNothing`" + ` |
| looks at files and gits of a job in a large repository | ` + "`TestTreeCalls`" + ` |
| memory that steps, recalled steps and branches leave | ` + "`TestFlat`" + ` |
| jobs, calls and events of a crowd that is stopped twice: none lost, none twice | ` + "`TestNothingLost`" + ` |
| size of the program, of the smallest program, and what is linked | ` + "`TestMinimal`" + ` |
| bytes allocated before main | ` + "`TestInit`" + ` |
| functions between ` + "`Execute`" + ` and the model or a tool | ` + "`TestFrames`" + ` |
`)
	b.WriteString(`
## Where it goes

* A turn costs JSON and the collector, which runs about every 4 MB on a small heap: a kilobyte less counts more than an allocation less.
* A turn has two steps, each of which is a commit, and a checkpoint. Of SQLite's pages, which it writes in two pieces each, the outcome of a step touches six and a checkpoint six more.
* A command at level full starts this program once more, which confines itself before the command.
* Search lists files as git sees them and matches them itself, within what the workspace's rules let a model read.
* An edit syncs what it replaces and the note of that, the new file and both directories.
`)
	for _, name := range benchmarks(t) {
		if !rows[name] {
			t.Errorf("Benchmark%s is in no row", name)
		}
	}
	const file = "../../../docs/dev/performance.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page, err := os.ReadFile(file); err != nil || string(page) != b.String() {
		t.Errorf("docs/dev/performance.md is not what was measured: make bench writes it (%v)", err)
	}
}

func missed(yes bool) string {
	if yes {
		return ": missed"
	}
	return ""
}

// number renders a figure with two digits behind the first that says something.
func number(v float64) string {
	switch {
	case v >= 100:
		s := strconv.FormatFloat(v, 'f', 0, 64)
		for at := len(s) - 3; at > 0; at -= 3 {
			s = s[:at] + "," + s[at:]
		}
		return s
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 1:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// benchmarks are those of the packages that make bench runs.
func benchmarks(t *testing.T) (names []string) {
	for _, dir := range []string{".", "../../work/process", "../../work/ledger", "../../git/worktree"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && name != dir {
				return cmp.Or(err, fs.SkipDir)
			}
			if !strings.HasSuffix(name, "_test.go") {
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, decl := range f.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
					if short, ok := strings.CutPrefix(fn.Name.Name, "Benchmark"); ok {
						names = append(names, short)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}
