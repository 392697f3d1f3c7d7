package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
)

// What is known follows from the last outcome of each thing that was done.
func TestKnown(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	type f = problem.Failure
	agent := func(name, outcome, fix string) f {
		return f{Project: "/p", Outcome: outcome, Action: problem.Action{Decision: "DELEGATE", Agent: name, Fix: fix}}
	}
	again := func(of, outcome string) f {
		return f{Project: "/p", Outcome: outcome, Action: problem.Action{Decision: "RETRY", Agent: "a", Of: of, Fix: map[bool]string{true: "diff"}[outcome == problem.Works]}}
	}
	retry := func(outcome string) f {
		return f{Project: "/p", Outcome: outcome, Action: problem.Action{Decision: "RETRY"}}
	}
	elsewhere := agent("a", problem.Works, "diff")
	elsewhere.Project = "/q"
	person := f{Project: "/p", Outcome: problem.Person, Action: problem.Action{Decision: "ESCALATE"}}
	for _, tt := range []struct {
		name string
		same []f // the newest first; J1 is the oldest
		want string
	}{
		{"nothing", nil, "  []"},
		{"an agent's repair", []f{agent("a", problem.Works, "diff")}, "a diff []"},
		{"that cannot be made here", []f{agent("a", problem.Works, "unfit")}, "a  []"},
		{"without a diff", []f{agent("a", problem.Works, "")}, "a  []"},
		{"of another project", []f{elsewhere}, "a  []"},
		{"that helped again", []f{again("J1/1", problem.Works), agent("a", problem.Works, "diff")}, "a diff []"},
		{"that did not help again", []f{again("J1/1", problem.Same), agent("a", problem.Works, "diff")}, "a  []"},
		{"and then the agent did", []f{agent("a", problem.Works, "diff"), again("J1/1", problem.Same), agent("a", problem.Works, "diff")}, "a diff []"},
		{"one that did not help", []f{agent("a", problem.Same, "")}, "  [a]"},
		{"one that changed nothing", []f{agent("a", problem.NoChange, "")}, "  [a]"},
		{"one that changed the failure", []f{agent("a", problem.Changed, "")}, "  []"},
		{"one that was stopped", []f{agent("a", problem.Unfinished, "")}, "  []"},
		{"helped once, not since", []f{agent("a", problem.Same, ""), agent("a", problem.Works, "")}, "  [a]"},
		{"helped since", []f{agent("a", problem.Works, ""), agent("a", problem.Same, "")}, "a  []"},
		{"another helped", []f{agent("b", problem.Works, ""), agent("a", problem.Same, "")}, "b  [a]"},
		{"a retry", []f{retry(problem.Works)}, "RETRY  []"},
		{"a retry that does not help any more", []f{retry(problem.Same), retry(problem.Works)}, "  []"},
		{"a person", []f{person, agent("a", problem.Same, "")}, "person  [a]"},
		{"given up", []f{{Project: "/p", Outcome: problem.Given}, agent("a", problem.Same, "")}, "given up  [a]"},
		{"a person, before an agent", []f{agent("a", problem.Works, "diff"), person}, "a diff []"},
	} {
		for i := range tt.same {
			tt.same[i].Key, tt.same[i].At = fmt.Sprintf("J%d/1", len(tt.same)-i), now.Add(-time.Duration(i)*time.Hour)
		}
		k := knownOf(tt.same, nil, "/p", now, func(diff string) bool { return diff == "diff" })
		who := ""
		switch {
		case k.Worked != nil && k.Worked.Agent != "":
			who = k.Worked.Agent
		case k.Worked != nil:
			who = k.Worked.Decision
		case k.Person != nil:
			who = "person"
		case k.GivenUp != nil:
			who = "given up"
		}
		if got := fmt.Sprint(who, " ", k.Fix, " ", append([]string{}, k.Failed...)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if len(k.Shown) > problem.MostShown {
			t.Errorf("%s: shows %d", tt.name, len(k.Shown))
		}
	}
}

// The side of a job is always the same, and sides are about as frequent.
func TestAssign(t *testing.T) {
	p := Policy{Compare: map[string][]string{"memory": {On, Off}}}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for i := range 2000 {
		job := fmt.Sprintf("J1M82EHJAH%05d", i)
		s := p.Setup(job, Choice{})
		if s.Arms["memory"] != p.Setup(job, Choice{}).Arms["memory"] || s.Recall != (s.Arms["memory"] == On) || !s.Remember {
			t.Fatalf("%s: %+v", job, s)
		}
		n[s.Arms["memory"]]++
	}
	if n[On] < 850 || n[Off] < 850 || n[On]+n[Off] != 2000 {
		t.Errorf("the sides have %v jobs", n)
	}
	// Who chose is part of no comparison, and off keeps nothing.
	if s := p.Setup("J1", Choice{Memory: Off}); s.Arms != nil || s.Recall || s.Remember {
		t.Errorf("chosen off: %+v", s)
	}
	if s := (Policy{Memory: Off}).Setup("J1", Choice{}); s.Recall || s.Remember {
		t.Errorf("off: %+v", s)
	}
	if s := (Policy{Memory: OfUser}).Setup("J1", Choice{}); !s.Recall || !s.Everywhere || s.Arms != nil {
		t.Errorf("of the user: %+v", s)
	}
	// Strategies are assigned apart from the memory, and who chose is part of no comparison.
	both := Policy{Compare: map[string][]string{"memory": {On, Off}, "strategy": {"quick", DefaultStrategy}}}
	if err := both.Check(); err != nil {
		t.Fatal(err)
	}
	cells := map[string]int{}
	for i := range 2000 {
		s := both.Setup(fmt.Sprintf("J1M82EHJAH%05d", i), Choice{})
		cells[s.Arms["memory"]+" "+s.Strategy]++
	}
	for cell, n := range cells {
		if len(cells) != 4 || n < 400 {
			t.Errorf("%s has %d jobs of %v", cell, n, cells)
		}
	}
	if s := both.Setup("J1", Choice{Strategy: "slow"}); s.Strategy != "slow" || s.Strategies != nil {
		t.Errorf("chosen: %+v", s)
	}
	for _, bad := range []Policy{{Compare: map[string][]string{"strategy": {"quick"}}}, {Compare: map[string][]string{"strategy": {"quick", "Quick!"}}}, {Compare: map[string][]string{"strategy": {"quick", "quick"}}}, {Memory: "some"}, {Compare: map[string][]string{"weather": {On, Off}}}, {Compare: map[string][]string{"memory": {On}}},
		{Compare: map[string][]string{"memory": {On, On}}}, {Compare: map[string][]string{"memory": {On, "up"}}}, {Memory: Off, Compare: map[string][]string{"memory": {On, Off}}}} {
		if bad.Check() == nil {
			t.Errorf("%+v can be meant", bad)
		}
	}
}

// A detector that is code is asked by its code alone: a pattern beside it would be lost.
func TestCodedDetectors(t *testing.T) {
	good := Detector{Name: "x", Type: "license", Decision: "retry", Match: func(string, string, int) bool { return true }}
	if d, err := NewDetector(good); err != nil || d.Decision != Retry {
		t.Errorf("%+v, %v", d, err)
	}
	for _, change := range []func(*Detector){
		func(d *Detector) { d.Pattern = "LIC" },
		func(d *Detector) { d.Codes = []int{9} },
		func(d *Detector) { d.Match = nil },
		func(d *Detector) { d.Decision = "delegate" },
	} {
		d := good
		change(&d)
		if _, err := NewDetector(d); err == nil {
			t.Errorf("%q %v %q is taken", d.Pattern, d.Codes, d.Decision)
		}
	}
}

// What tools of many languages print when a package is missing, a machine lacks something or somebody is not
// logged in, has its type without a model.
func TestFailuresOfManyTools(t *testing.T) {
	for _, c := range []struct{ command, out, typ, by string }{
		{"bundle exec rspec", "Could not find gem 'rails (~> 7.0)' in locally installed gems.\nRun `bundle install` to install missing gems.", "dependency", ""},
		{"ruby a.rb", "a.rb:1:in `require': cannot load such file -- nokogiri (LoadError)\n\tfrom a.rb:1:in `<main>'", "dependency", ""},
		{"perl a.pl", "Can't locate JSON/XS.pm in @INC (you may need to install the JSON::XS module) (@INC contains: /etc/perl) at a.pl line 1.", "dependency", ""},
		{"php a.php", "PHP Warning:  require(vendor/autoload.php): Failed to open stream: No such file or directory in a.php on line 2", "dependency", ""},
		{"composer install", "Your requirements could not be resolved to an installable set of packages.\n\n  Problem 1\n    - Root composer.json requires acme/x, it could not be found in any version", "dependency", ""},
		{"dotnet build", "/w/x.csproj : error NU1101: Unable to find package Acme.X. No packages exist with this id in source(s): nuget.org", "dependency", ""},
		{"mvn test", "[ERROR] Failed to execute goal on project x: Could not resolve dependencies for project a:x:jar:1: Could not find artifact org.acme:y:jar:9 in central", "dependency", ""},
		{"gradle test", "FAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':compileJava'.\n> Could not resolve all files for configuration ':compileClasspath'.\n   > Could not find org.acme:y:9.", "dependency", ""},
		{"javac A.java", "A.java:1: error: package org.acme.x does not exist\nimport org.acme.x.Y;\n^\n1 error", "dependency", ""},
		{"mix test", "Unchecked dependencies for environment test:\n* jason (Hex package)\n  the dependency is not available, run \"mix deps.get\"", "dependency", ""},
		{"dart test", "Because app depends on acme any which doesn't exist (could not find package acme at https://pub.dev), version solving failed.", "dependency", ""},
		{"swift build", "/w/Sources/a.swift:1:8: error: no such module 'Alamofire'", "dependency", ""},
		{"cmake .", "CMake Error at CMakeLists.txt:5 (find_package):\n  Could not find a package configuration file provided by \"fmt\"", "dependency", ""},
		{"make", "a.c:1:10: fatal error: zlib.h: No such file or directory\n    1 | #include <zlib.h>\ncompilation terminated.\nmake: *** [Makefile:2: a] Error 1", "dependency", ""},
		{"gcc a.c -lz", "/usr/bin/ld: cannot find -lz: No such file or directory\ncollect2: error: ld returned 1 exit status", "dependency", ""},
		{"pkg-config --libs x", "Package libfoo was not found in the pkg-config search path.\nPerhaps you should add the directory containing `libfoo.pc'", "dependency", ""},
		{"yarn build", "error Couldn't find package \"acme-x\" on the \"npm\" registry.", "dependency", ""},
		{"pnpm i", " ERR_PNPM_NO_MATCHING_VERSION  No matching version found for acme@9.9.9", "dependency", ""},
		{"pnpm i", " ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with \"frozen-lockfile\" because pnpm-lock.yaml is not up to date with package.json", "dependency", ""},
		{"npm ci", "npm error code EUSAGE\nnpm error\nnpm error `npm ci` can only install packages when your package.json and package-lock.json or npm-shrinkwrap.json are in sync.", "dependency", ""},
		{"bun test", "error: Cannot find package \"zod\" from \"/w/a.ts\"", "dependency", ""},
		{"deno run a.ts", "error: Relative import path \"zod\" not prefixed with / or ./ or ../\n    at file:///w/a.ts:1:19", "dependency", ""},
		{"lua a.lua", "lua: a.lua:1: module 'cjson' not found:\n\tno field package.preload['cjson']", "dependency", ""},
		{"Rscript a.R", "Error in library(dplyr) : there is no package called ‘dplyr’", "dependency", ""},
		{"julia a.jl", "ERROR: LoadError: ArgumentError: Package JSON not found in current path.\n- Run `import Pkg; Pkg.add(\"JSON\")` to install the JSON package.", "dependency", ""},
		{"cabal build", "a.hs:1:1: error: [GHC-87110]\n    Could not find module ‘Data.Aeson’\n    Use -v to see a list of the files searched for.", "dependency", ""},
		{"dune build", "File \"bin/dune\", line 3, characters 12-15:\nError: Library \"lwt\" not found.", "dependency", ""},
		{"uv run pytest", "  × No solution found when resolving dependencies:\n  ╰─▶ Because acme was not found in the package registry and you require acme, we can conclude that your requirements are unsatisfiable.", "dependency", ""},
		{"poetry install", "pyproject.toml changed significantly since poetry.lock was last generated. Run `poetry lock` to fix the lock file.", "dependency", ""},
		{"pip install x", "ERROR: Could not find a version that satisfies the requirement acme==9 (from versions: none)\nERROR: No matching distribution found for acme==9", "dependency", ""},
		{"pytest", "ImportError while loading conftest '/w/conftest.py'.\nconftest.py:1: in <module>\n    import requests\nE   ModuleNotFoundError: No module named 'requests'", "dependency", ""},
		{"cargo build", "error: no matching package named `acme` found\nlocation searched: crates.io index", "dependency", ""},
		{"cargo build --locked", "error: the lock file /w/Cargo.lock needs to be updated but --locked was passed to prevent this", "dependency", ""},
		{"go build ./...", "a.go:3:8: no required module provides package github.com/acme/x; to add it:\n\tgo get github.com/acme/x", "dependency", ""},
		{"go test ./...", "go: updates to go.mod needed; to update it:\n\tgo mod tidy", "dependency", ""},
		{"tsc", "a.ts(1,19): error TS2307: Cannot find module 'zod' or its corresponding type declarations.", "dependency", ""},
		{"tsc", "a.ts(1,19): error TS2307: Cannot find module './b' or its corresponding type declarations.", "type", ""},
		{"vite build", "[vite]: Rollup failed to resolve import \"zod\" from \"/w/src/a.ts\".", "dependency", ""},
		{"webpack", "ERROR in ./src/a.js 1:0-20\nModule not found: Error: Can't resolve 'lodash' in '/w/src'", "dependency", ""},
		{"jest", "FAIL src/a.test.js\n  ● Test suite failed to run\n\n    Cannot find module 'lodash' from 'src/a.js'", "dependency", ""},
		{"git rebase", "CONFLICT (content): Merge conflict in a.go\nerror: could not apply 1a2b3c4... x", "merge", ""},
		{"git merge x", "Auto-merging a\nCONFLICT (modify/delete): a deleted in HEAD and modified in x.\nAutomatic merge failed; fix conflicts and then commit the result.", "merge", ""},
		{"git stash pop", "CONFLICT (content): Merge conflict in f\nThe stash entry is kept in case you need it again.", "merge", ""},
		{"git pull", "error: Pulling is not possible because you have unmerged files.\nhint: Fix them up in the work tree", "merge", ""},
		{"docker build .", "ERROR: failed to solve: node:99: docker.io/library/node:99: not found", "build", ""},
		{"npm start", "Error: listen EADDRINUSE: address already in use :::3000", "environment", "port-in-use"},
		{"cargo build", "error: linking with `cc` failed: exit status: 1\n  = note: /usr/bin/ld: final link failed: No space left on device", "environment", "disk-full"},
		{"pip install x", "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "environment", "disk-full"},
		{"go test", "fork/exec /tmp/a: resource temporarily unavailable", "environment", ""},
		{"apt-get install x", "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1", "environment", "locked"},
		{"npm i", "npm error code ENOTFOUND\nnpm error network request to https://registry.npmjs.org/x failed, reason: getaddrinfo ENOTFOUND registry.npmjs.org", "environment", "no-network"},
		{"curl https://x", "curl: (6) Could not resolve host: x", "environment", "no-network"},
		{"curl https://x", "curl: (28) Failed to connect to x port 443 after 130000 ms: Couldn't connect to server", "environment", "no-network"},
		{"pip install x", "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError: Failed to establish a new connection: [Errno -2] Name or service not known'", "environment", "no-network"},
		{"git push", "ssh: Could not resolve hostname github.com: Temporary failure in name resolution\nfatal: Could not read from remote repository.", "environment", "no-network"},
		{"git push", "remote: Support for password authentication was removed on August 13, 2021.\nfatal: Authentication failed for 'https://github.com/x/y.git/'", "registry-auth", "auth"},
		{"git push", "remote: Permission to x/y.git denied to z.\nfatal: unable to access 'https://github.com/x/y.git/': The requested URL returned error: 403", "registry-auth", "auth"},
		{"gem push", "Your rubygems.org credentials: access denied (401)\nUnauthorized", "registry-auth", ""},
		{"cargo publish", "error: failed to publish to registry at https://crates.io\n\nCaused by:\n  the remote server responded with an error (status 403 Forbidden): authentication failed", "registry-auth", "auth"},
		{"docker push x", "denied: requested access to the resource is denied", "registry-auth", "auth"},
		{"aws s3 ls", "Unable to locate credentials. You can configure credentials by running \"aws configure\".", "registry-auth", ""},
		{"gcloud x", "ERROR: (gcloud.x) You do not currently have an active account selected.", "registry-auth", ""},
		{"terraform apply", "Error: No valid credential sources found", "registry-auth", ""},
		{"node a.js", "node: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by node)", "environment", ""},
		{"./a", "./a: error while loading shared libraries: libfoo.so.1: cannot open shared object file: No such file or directory", "environment", ""},
		{"gradle test", "error: invalid source release: 21", "environment", ""},
		{"mvn test", "[ERROR] Fatal error compiling: error: release version 21 not supported", "environment", ""},
		{"npm test", "npm error Missing script: \"test\"", "", ""},
		{"make foo", "make: *** No rule to make target 'foo'.  Stop.", "", ""},
	} {
		p := &Problem{Command: c.command, Output: c.out, Code: 1}
		act, by, known := Classify(p)
		got := ""
		if act != nil {
			got = by.Name
		}
		if c.typ != "" && p.Type != c.typ || c.by != "" && got != c.by {
			t.Errorf("%s | %.90q\n   is %s %q %v, want %s %s", c.command, c.out, p.Type, got, known, c.typ, c.by)
		}
	}
}
