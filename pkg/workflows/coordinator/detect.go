package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/flow"
)

// detectors are tried in order: what the machine lacks comes before what the code
// has wrong, for a full disk breaks everything. They read the lines that programs write about
// themselves: see [problem.Own]. What the code has wrong is known by the
// formats of its tools: see [problem.Read].
var detectors = []Detector{
	{Name: "disk-full", Type: problem.Environment, Decision: Escalate, re: lazyregexp.New(`(?i)no space left on device|\bENOSPC: |disk quota exceeded`),
		Reason: "the disk is full", Hint: "Free some space."},
	{Name: "out-of-memory", Type: problem.Environment, Decision: Escalate, re: lazyregexp.New(`(?m)JavaScript heap out of memory|(?i:cannot allocate memory)|^MemoryError\b|out of memory \(|^fatal error: (?:runtime: )?out of memory|java\.lang\.OutOfMemoryError`),
		Reason: "the machine has too little memory for it", Hint: "Close other programs or give the command more memory."},
	{Name: "auth", Type: problem.Auth, Decision: Escalate,
		re:     lazyregexp.New(`(?im)npm (?:ERR!|error) code E(?:NEEDAUTH|40[13])|no (?:upload )?token|please run .?cargo login|Invalid or non-existent authentication|HTTPError: 40[13] |terminal prompts disabled|could not read (?:Username|Password)|Permission denied \(publickey|denied: requested access|unauthorized: authentication required|^fatal: Authentication failed|ERR_PNPM_FETCH_40[13]|YN0041|https?://\S+.*\b401 Unauthorized|awaiting response\.\.\. 401 Unauthorized|requested URL returned error: 40[13]|status code: 401, reason phrase|^remote: Permission to \S+ denied|access denied \(401\)|\(status 40[13] |^Unable to locate credentials|No valid credential sources|not currently have an active account`),
		Reason: "a registry or a server refuses because nobody is logged in, or may not do this", Hint: "Log in to it yourself (npm login, cargo login, twine or docker login, or a token in your environment). adroit never sees the credential."},
	{Name: "port-in-use", Type: problem.Environment, Decision: Retry, Times: 2, Wait: 5 * time.Second, re: lazyregexp.New(`(?i)EADDRINUSE|: address already in use`),
		Reason: "an address is in use by another program, perhaps for a moment", Hint: "End the program that uses the address."},
	{Name: "locked", Type: problem.Environment, Decision: Retry, Times: 2, Wait: 10 * time.Second, re: lazyregexp.New(`(?i)could not get lock|database is locked|unable to lock|another process is using|resource temporarily unavailable`),
		Reason: "another program holds a lock, perhaps for a moment", Hint: "End the program that holds the lock."},
	{Name: "wrong-version", Type: problem.Environment, Decision: Escalate,
		re:     lazyregexp.New(`(?i)requires go >=|invalid go version|go: .*toolchain not available|(?:ERR!|error) code EBADENGINE|engine "node" is incompatible|requires a different Python|requires Python|Requires-Python|rustc [\d.]+ is not supported|requires rustc [\d.]+|feature .edition20\d\d. is required|unsupported (?:class file|compiler) version|version .?GLIBC(?:XX)?_[\d.]+.? not found|invalid (?:source|target) release: |release version \d+ not supported`),
		Reason: "a program has another version than the project asks for", Hint: "Install the version that the line names."},
	{Name: "missing-library", Type: problem.Environment, Decision: Escalate, re: lazyregexp.New(`error while loading shared libraries: |^Library not loaded: `),
		Reason: "a library that the program needs is not on this machine", Hint: "Install the package that has it."},
	{Name: "permission", Type: problem.Environment, Decision: Escalate, re: lazyregexp.New(`(?i)permission denied|\bEACCES\b|\bEPERM\b|operation not permitted|read-only file system`),
		Reason: "the command may not read, write or run something", Hint: "Give the rights it needs (chmod, chown)."},
	{Name: "no-network", Type: problem.Environment, Decision: Retry, Times: 2, Wait: 10 * time.Second,
		re:     lazyregexp.New(`(?im)could not resolve (?:host|proxy)|\bENOTFOUND\b|EAI_AGAIN|temporary failure in name resolution|name or service not known|no such host|network is unreachable|\bENETUNREACH\b|\bETIMEDOUT\b|\bECONNRESET\b|dial tcp .*(?:i/o timeout|connection refused)|failed to (?:download|fetch) .*https?://|^error: failed to (?:download|fetch) |spurious network error|Failed to establish a new connection|connect ECONNREFUSED|^curl: \((?:5|6|7|28)\) |^fatal: unable to access .*: Failed to connect`),
		Reason: "a server cannot be reached", Hint: "Check the network. In the sandbox commands have none: --sandbox off runs them as your shell does."},
}

// noScript matches an interpreter's report that there is no file of the name that it was given.
var noScript = lazyregexp.New(`(?m)^(?:\S*/)?(?:(?:ba|da|z|k)?sh: (?:\d+: )?(?:[Cc]an(?:no|')t open )?([^\s:]+): No such file|python[\d.]*: can't open file '([^'\n]+)': \[Errno 2\]|ruby: No such file or directory -- (\S+)|Can't open perl script "([^"\n]+)")`)

// conflict matches git's reports that both sides have changed the same lines.
var conflict = lazyregexp.New(`(?m)^CONFLICT \([^)]*\): |^error: (?:could not apply |\w+ is not possible because you have unmerged files)|^Automatic merge failed; fix conflicts`)

// Classify gives p its type, its files and, where code can tell what to do, the
// action. known reports whether the output has settled the type.
func Classify(p *Problem) (act *Action, by By, known bool) {
	text := problem.Plain(p.Output)
	if p.Files == nil {
		p.Files = files(p, text)
	}
	if act := machine(p); act != nil {
		return act, act.By, true
	}
	if p.old {
		return classifyBefore(p, text)
	}
	own := problem.Own(text)
	for i := range detectors {
		d := &detectors[i]
		line := d.matching(own)
		if line == "" || d.Name == "no-network" && local(line) {
			continue
		}
		act, by := d.decide(p, line)
		return act, by, true
	}
	types := problem.Read(text).Types
	has := func(t string) bool { return slices.Contains(types, t) }
	// What tests printed is no diagnosis; only a suite that could not be loaded counts.
	loaded := has(problem.Test) && !unloaded.MatchString(text)
	typ := ""
	switch {
	case conflict.MatchString(text):
		typ = problem.Merge
	case !loaded && problem.MissesPackage(text):
		typ = problem.Dependency
	case loaded:
		typ = problem.Test
	default:
		for _, t := range []string{problem.Format, problem.Type, problem.Lint, problem.Test, problem.Build} {
			if has(t) {
				typ = t
				break
			}
		}
	}
	if typ == "" {
		if p.Type == "" {
			p.Type = byCommand(p.Step + " " + p.Command)
		}
		return nil, By{}, false
	}
	if t := byCommand(p.Command); typ == problem.Build && (t == problem.Lint || t == problem.Type) && !strings.Contains(text, "vet: ") {
		typ = t // file:line: is how linters complain, too; go vet marks what does not compile
	}
	if p.Type == "" {
		p.Type = typ
	}
	return nil, Rule(typ), true
}

// unloaded matches runners' reports of tests that they could not load.
var unloaded = lazyregexp.New(`(?m)^\s*●? ?Test suite failed to run$|^_+ ERROR collecting |Failed to import test module|^Require stack:$|imported from /|\[(?:build|setup) failed\]$|^ +FAIL +\S+ \[ \S+ \]$`)

// local reports that what cannot be reached is on this machine: then it is not
// the network, but a program that does not run.
func local(line string) bool {
	return strings.Contains(line, "127.0.0.1") || strings.Contains(line, "localhost") || strings.Contains(line, "[::1]")
}

// decide is about for one that is built in.
func (d *Detector) decide(p *Problem, line string) (*Action, By) {
	act, by := d.about(p, line)
	if d.Name == "no-network" && closed(p.Sandbox) {
		act.Decision, act.Wait = Escalate, 0
	}
	return act, by
}

func closed(sandbox string) bool {
	return sandbox != "" && sandbox != "off" && !strings.Contains(sandbox, "network open")
}

// machine decides by what was found out on the machine rather than by words.
func machine(p *Problem) *Action {
	if p.Pending != "" {
		return &Action{Decision: Escalate, By: Rule("not-approved"), Reasoning: p.Message, Hint: "Run it yourself: " + p.Pending + "."}
	}
	if p.Inconclusive != "" && !p.before {
		p.Type = problem.Environment
		return &Action{Decision: Escalate, By: Rule("inconclusive"), Reasoning: p.Message, Hint: "See why it cannot be run."}
	}
	if p.TimedOut {
		p.Type = problem.Environment
		return &Action{Decision: Escalate, By: Rule("timeout"), Reasoning: "the command did not end in its time: " + p.Message, Hint: "See why it hangs, or run it without adroit."}
	}
	if len(p.Installs) > 0 && len(p.programs()) > 0 && p.Facts[problem.Program(p.programs()[0])] == problem.ProgramNotFound && !strings.Contains(p.programs()[0], "/") {
		p.Type = problem.Dependency
		return nil // a program that comes with a package
	}
	if gone := problem.AbsentDirectories(p.Facts); len(gone) > 0 {
		p.Type = problem.Environment
		what := fmt.Sprintf("the directory %s does not exist", gone[0])
		if at := strings.TrimPrefix(p.Facts[problem.Directory(gone[0])], problem.ProgramNotFound+", "); at != problem.ProgramNotFound {
			what += ": it is " + at
		}
		return &Action{Decision: Delegate, Agent: "environment-setup", By: Rule("missing-directory"), Reasoning: what, Hint: "Create " + gone[0] + ", or correct what names it.",
			Instructions: what + ". Correct the name where it is given, or create the directory."}
	}
	if m := noScript.FindStringSubmatch(p.Output); m != nil && !p.old {
		name := strings.Join(m[1:], "")
		if given := strings.Fields(p.Command); len(given) > 1 && slices.ContainsFunc(given[1:], func(w string) bool { return w == name || strings.HasSuffix(name, "/"+w) }) {
			p.Type = problem.Environment
			return &Action{Decision: Escalate, By: Rule("missing-script"), Reasoning: fmt.Sprintf("the command names the file %s, which does not exist", name), Hint: "Correct the command, or run it in another directory."}
		}
	}
	for _, name := range p.programs() {
		fact := p.Facts[problem.Program(name)]
		spawned := strings.Contains(p.Output, "spawn "+name+" ENOENT")
		switch {
		case fact == problem.ProgramNotFound:
			p.Type = problem.Environment
			if spawned && strings.HasPrefix(name, "/bin/") {
				return &Action{Decision: Escalate, By: Rule("missing-shell"), Reasoning: fmt.Sprintf("%s does not exist on this machine, and the command starts it", name), Hint: "Install " + name + ", or run the command where there is one."}
			}
			if strings.Contains(name, "/") {
				return nil // a file of the project: somebody may have misspelt it
			}
			return &Action{Decision: Escalate, By: Rule("missing-program"), Reasoning: fmt.Sprintf("the program %s is not installed, or not on the PATH", name), Hint: "Install " + name + "."}
		case fact == problem.ProgramThere && p.Code == 127:
			p.Type = problem.Environment
			what := name + " is there, and what starts it is not: the interpreter that its first line names, or its loader"
			return &Action{Decision: Delegate, Agent: "environment-setup", By: Rule("missing-interpreter"), Reasoning: what, Hint: "Install the interpreter, or correct the first line of " + name + ".", Instructions: what + ". Correct the line if it is wrong."}
		case fact != "" && spawned:
			// Node reports the program although it is the directory that is missing.
			p.Type = problem.Environment
			return &Action{Decision: Delegate, Agent: "environment-setup", By: Rule("spawn-enoent"),
				Reasoning:    fmt.Sprintf("%s exists (%s), so ENOENT is about the directory that it is started in: that one does not exist", name, fact),
				Instructions: fmt.Sprintf("Node reports \"spawn %s ENOENT\" also if the directory given as cwd does not exist, and %s is there. Find where the process is started and which directory it names, and correct the name or create the directory.", name, name)}
		}
	}
	if p.Code == 126 && !p.before {
		p.Type = problem.Environment
		return &Action{Decision: Escalate, By: Rule("permission"), Reasoning: "a command cannot be run (exit code 126)", Hint: "See that it is a program for this machine, and may be run."}
	}
	if names := p.programs(); !p.before && p.Code == 127 && len(names) > 0 && p.Facts == nil && !strings.Contains(names[0], "/") {
		// It is the shell that says so, and nobody has looked.
		p.Type = problem.Environment
		return &Action{Decision: Escalate, By: Rule("missing-program"), Reasoning: fmt.Sprintf("the program %s is not installed, or not on the PATH", names[0]), Hint: "Install " + names[0] + "."}
	}
	if p.Code == 137 {
		p.Type = problem.Environment
		return &Action{Decision: Escalate, By: Rule("killed"), Reasoning: "the command was killed (exit code 137), as the system does when memory runs out", Hint: "Give it more memory."}
	}
	return nil
}

var words = []struct{ word, typ string }{
	{"publish", problem.Publish}, {"upload", problem.Publish}, {"release", problem.Publish}, {"deploy", problem.Publish},
	{"gofmt", problem.Format}, {"fmt", problem.Format}, {"prettier", problem.Format}, {"black", problem.Format},
	{"lint", problem.Lint}, {"clippy", problem.Lint}, {"ruff", problem.Lint}, {"vet", problem.Lint}, {"staticcheck", problem.Lint},
	{"tsc", problem.Type}, {"mypy", problem.Type}, {"pyright", problem.Type}, {"types", problem.Type}, {"typecheck", problem.Type},
	{"test", problem.Test}, {"pytest", problem.Test}, {"unittest", problem.Test},
	{"install", problem.Dependency}, {"download", problem.Dependency},
	{"quality", problem.Quality},
}

// byCommand guesses the type of a failure from what was run.
func byCommand(command string) string {
	for _, w := range words {
		for _, f := range strings.FieldsFunc(strings.ToLower(command), func(r rune) bool { return !(r >= 'a' && r <= 'z') }) {
			if f == w.word || len(w.word) > 3 && strings.HasPrefix(f, w.word) {
				return w.typ
			}
		}
	}
	return problem.Build
}

// files returns the files that the output points into, as far as text shows.
func files(p *Problem, text string) []string {
	if p.old {
		return namedBefore(text)
	}
	return problem.Named(text)
}

// capabilities are words by which agents may say that they are good at files
// like those.
func capabilities(p *Problem) (out []string) {
	ends := map[string]string{".go": "go", ".py": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript", ".ts": "typescript", ".tsx": "typescript", ".rs": "rust"}
	for _, f := range p.Files {
		if i := strings.LastIndexByte(f, '.'); i >= 0 {
			if c := ends[f[i:]]; c != "" && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// detect gives p its type, and the action where a detector of the users has one. It
// comes before what is built in: they know their project.
func (c *coordinator) detect(p *Problem) (act *Action, by By, known bool, err error) {
	text := problem.Plain(p.Output)
	for i := range c.book.Detectors {
		d := &c.book.Detectors[i]
		if len(d.Codes) > 0 && !slices.Contains(d.Codes, p.Code) || !d.re.MatchString(text) {
			continue
		}
		act, by = d.about(p, d.matching(text))
		return act, by, true, nil
	}
	if len(c.book.Coded) > 0 && c.codedFor != p {
		// Code of the program may be anything: it runs in a step, once for a failure.
		q := Problem{Command: p.Command, Output: p.Output, Code: p.Code}
		name, err := flow.Do[string](c.sc.Run, detectStep, "", q)
		if err != nil {
			return nil, By{}, false, err
		}
		c.coded, c.codedFor = name, p
	}
	if i := slices.IndexFunc(c.book.Coded, func(d Detector) bool { return d.Name == c.coded }); i >= 0 && c.codedFor == p {
		act, by = c.book.Coded[i].about(p, "")
		return act, by, true, nil
	}
	act, by, known = Classify(p)
	return act, by, known, nil
}

// typed is a problem's type as detectors of users and built-in ones see it, without a
// step.
func (c *coordinator) typed(p *Problem) (typ string, known bool) {
	for i := range c.book.Detectors {
		d := &c.book.Detectors[i]
		if (len(d.Codes) == 0 || slices.Contains(d.Codes, p.Code)) && d.re.MatchString(problem.Plain(p.Output)) {
			return d.Type, true
		}
	}
	_, _, known = Classify(p)
	return p.Type, known
}

// Kind of the steps in which detectors that are code look at a failure.
const detectStep = "detect"

// about returns the action of a detector that has recognised p.
func (d *Detector) about(p *Problem, line string) (*Action, By) {
	if p.Files == nil {
		p.Files = files(p, problem.Plain(p.Output))
	}
	p.Type = d.Type
	by := Rule(d.Name)
	if d.Decision == "" {
		return nil, by
	}
	a := &Action{Decision: d.Decision, By: by, Hint: d.Hint, Wait: d.Wait, Reasoning: strings.TrimSuffix(d.Reason+": "+clip(line, 300), ": ")}
	if strings.TrimSpace(d.Reason) == "" {
		a.Reasoning = strings.TrimSuffix(d.Name+": "+clip(line, 300), ": ")
	}
	if d.Decision == Retry && p.Attempt > max(d.Times, 1) {
		a.Decision, a.Wait = Escalate, 0
	}
	return a, by
}

// Before revision 5 failures were recognised as follows: jobs that began then
// replay by it.

var testFailed = lazyregexp.New(`(?m)^\s*--- FAIL|^FAIL[\t :]|^not ok \d|^# fail [1-9]|^ℹ fail [1-9]|^Tests:\s+\d+ failed|=+ .*\d+ failed|test result: FAILED|^FAILED \(|AssertionError|\bERR_ASSERTION\b|^panicked at|^FAILED `)

var detectorsBefore = []Detector{
	{Name: "disk-full", Type: problem.Environment, Decision: Escalate, re: lazyregexp.New(`(?i)no space left on device|ENOSPC|disk quota exceeded`),
		Reason: "the disk is full", Hint: "Free some space."},
	{Name: "out-of-memory", Type: problem.Environment, Decision: Escalate, re: lazyregexp.New(`(?i)JavaScript heap out of memory|cannot allocate memory|MemoryError\b|out of memory \(`),
		Reason: "the machine has too little memory for it", Hint: "Close other programs or give the command more memory."},
	{Name: "auth", Type: problem.Auth, Decision: Escalate,
		re:     lazyregexp.New(`(?i)ENEEDAUTH|npm (?:ERR!|error) code E40[13]|no upload token|please run .?cargo login|Invalid or non-existent authentication|HTTPError: 40[13] .*(?:upload|pypi)|terminal prompts disabled|could not read (?:Username|Password)|Permission denied \(publickey|denied: requested access|unauthorized: authentication required|401 Unauthorized`),
		Reason: "a registry or a server refuses because nobody is logged in, or may not do this", Hint: "Log in to it yourself (npm login, cargo login, twine or docker login, or a token in your environment). adroit never sees the credential."},
	{Name: "port-in-use", Type: problem.Environment, Decision: Retry, Times: 2, Wait: 5 * time.Second, re: lazyregexp.New(`(?i)EADDRINUSE|address already in use`),
		Reason: "an address is in use by another program, perhaps for a moment", Hint: "End the program that uses the address."},
	{Name: "locked", Type: problem.Environment, Decision: Retry, Times: 2, Wait: 10 * time.Second, re: lazyregexp.New(`(?i)could not get lock|database is locked|unable to lock|another process is using|resource temporarily unavailable`),
		Reason: "another program holds a lock, perhaps for a moment", Hint: "End the program that holds the lock."},
	{Name: "wrong-version", Type: problem.Environment, Decision: Escalate,
		re:     lazyregexp.New(`(?i)requires go >=|invalid go version|go: .*toolchain not available|(?:ERR!|error) code EBADENGINE|engine "node" is incompatible|requires a different Python|requires Python|Requires-Python|rustc [\d.]+ is not supported|requires rustc [\d.]+|feature .edition20\d\d. is required|unsupported (?:class file|compiler) version`),
		Reason: "a program has another version than the project asks for", Hint: "Install the version that the line names."},
	{Name: "permission", Type: problem.Environment, Decision: Escalate, re: lazyregexp.New(`(?i)permission denied|\bEACCES\b|\bEPERM\b|operation not permitted|read-only file system`),
		Reason: "the command may not read, write or run something", Hint: "Give the rights it needs (chmod, chown)."},
	{Name: "no-network", Type: problem.Environment, Decision: Retry, Times: 2, Wait: 10 * time.Second,
		re:     lazyregexp.New(`(?i)could not resolve (?:host|proxy)|\bENOTFOUND\b|EAI_AGAIN|temporary failure in name resolution|name or service not known|no such host|network is unreachable|\bENETUNREACH\b|\bETIMEDOUT\b|\bECONNRESET\b|dial tcp .*(?:i/o timeout|connection refused)|failed to (?:download|fetch) .*|spurious network error|Failed to establish a new connection|connect ECONNREFUSED`),
		Reason: "a server cannot be reached", Hint: "Check the network. In the sandbox commands have none: --sandbox off runs them as your shell does."},

	{Name: "dependency", Type: problem.Dependency,
		re: lazyregexp.New(`(?i)no required module provides package|missing go\.sum entry|updates to go\.mod needed|inconsistent vendoring|unknown revision|is not in (?:std|GOROOT)|cannot find package "?[\w.-]+\.|Cannot find (?:module|package) ['"][^'"./]|Cannot find module ['"]@|ModuleNotFoundError|No matching distribution|ResolutionImpossible|ERESOLVE|npm (?:ERR!|error) code (?:E404|ETARGET|ENOENT|ENOLOCK|EUSAGE)|no matching package named|can't find crate for|unresolved import .\w+.(?:\s|$)|missing crate|unlinked crate|use of undeclared crate|failed to select a version|failed to resolve: (?:use of )?un(?:declared|resolved)`)},
	{Name: "format", Type: problem.Format, re: lazyregexp.New(`(?im)would reformat|files? would change|code style issues found|^Diff in .*\.rs|not gofmt`)},
	{Name: "types", Type: problem.Type, re: lazyregexp.New(`(?m)error TS\d+|: error: .*\[[a-z]+(?:-[a-z]+)*\]$|^Found \d+ errors? in \d+ files?|\breportGeneral|pyright|error\[E0308\]`)},
	{Name: "lint", Type: problem.Lint, re: lazyregexp.New(`(?m)✖ \d+ problems?|^\S+:\d+:\d+: [A-Z]{1,3}\d{3,4}\b|^\S+\.go:\d+:\d+: .* \((?:SA|ST|S|U|QF)\d+\)$|^# \[\S+\]\n|warning: .*clippy::|clippy::\w+|golangci-lint|pylint|eslint`)},
	{Name: "test", Type: problem.Test,
		re: testFailed},
	{Name: "build", Type: problem.Build,
		re: lazyregexp.New(`(?m)error\[E\d+\]|^(?:vet: )?\S+\.(?:go|c|cc|cpp|h|rs|java|kt|swift|zig):\d+(?::\d+)?:|SyntaxError|ReferenceError|IndentationError|NameError|ImportError|TypeError|undefined: |undefined reference|^error: could not compile|BUILD FAILED|Cannot find module ['"]\.|^make.*\*\*\* .*Error \d|^Traceback `)},
}

var placesBefore = lazyregexp.New(`(?m)([\w.@+-][\w./@+-]*\.\w{1,5})(?::\d+|\(\d+,\d+\)|", line \d+)`)

// classifyBefore is Classify behind what was found out on the machine.
func classifyBefore(p *Problem, text string) (act *Action, by By, known bool) {
	for i := range detectorsBefore {
		d := &detectorsBefore[i]
		line := d.matching(text)
		if line == "" || d.Name == "no-network" && local(line) || d.Name == "permission" && p.Code != 126 && testFailed.MatchString(text) {
			continue // it is what a test is about
		}
		if d.Decision == "" {
			p.Type = cmp.Or(p.Type, d.Type)
			if t := byCommand(p.Command); d.Name == "build" && p.Type == problem.Build && (t == problem.Lint || t == problem.Type) && !strings.Contains(text, "vet: ") {
				p.Type = t // file:line: is how linters complain, too; go vet marks what does not compile
			}
			return nil, Rule(d.Name), true
		}
		act, by = d.decide(p, line)
		return act, by, true
	}
	if p.Type == "" {
		p.Type = byCommand(p.Step + " " + p.Command)
	}
	return nil, By{}, false
}

// namedBefore are the files that an output points into, at most twenty.
func namedBefore(text string) (out []string) {
	for _, m := range placesBefore.Regexp().FindAllStringSubmatch(text, 200) {
		if !slices.Contains(out, m[1]) && len(out) < 20 {
			out = append(out, m[1])
		}
	}
	return out
}
