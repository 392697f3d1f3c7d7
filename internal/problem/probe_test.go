package problem

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFacts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool.sh"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for output, want := range map[string][2]string{
		"sh: 1: no-such-program-x: not found\n":                                                 {"program no-such-program-x", ProgramNotFound},
		"/bin/sh: line 1: no-such-program-x: command not found\n":                               {"program no-such-program-x", ProgramNotFound},
		"Error: spawn /bin/sh ENOENT\n    at ChildProcess":                                      {"program /bin/sh", "there"},
		`exec: "no-such-program-x": executable file not found in $PATH`:                         {"program no-such-program-x", ProgramNotFound},
		"make: ./tool.sh: No such file or directory\n":                                          {"program ./tool.sh", "there"},
		"/bin/sh: 1: cannot create none/out: Directory nonexistent":                             {"directory none", ProgramNotFound},
		"mkdir: cannot create directory ‘none/a/b’: No such file or directory":                  {"directory none/a", ProgramNotFound},
		"cp: cannot create regular file 'none/b': No such file or directory":                    {"directory none", ProgramNotFound},
		"timeout: failed to run command ‘no-such-program-x’: No such file or directory":         {"program no-such-program-x", ProgramNotFound},
		"nice: 'no-such-program-x': No such file or directory":                                  {"program no-such-program-x", ProgramNotFound},
		"xargs: no-such-program-x: No such file or directory":                                   {"program no-such-program-x", ProgramNotFound},
		"sudo: no-such-program-x: command not found":                                            {"program no-such-program-x", ProgramNotFound},
		"timeout: can't execute 'no-such-program-x': No such file or directory":                 {"program no-such-program-x", ProgramNotFound},
		"Can't exec \"no-such-program-x\": No such file or directory at -e line 1.":             {"program no-such-program-x", ProgramNotFound},
		"--- FAIL: TestX\n    x_test.go:1: xargs: no-such-program-x: No such file or directory": {"program no-such-program-x", ""},
	} {
		if got := Facts(dir, "", output)[want[0]]; got != want[1] {
			t.Errorf("Facts(%q)[%s] = %q, want %q", output, want[0], got, want[1])
		}
	}
	if got := Facts(dir, "", "write /x: no space left on device")["free in "+dir]; !strings.HasSuffix(got, " MB") {
		t.Errorf("free in %s: %q", dir, got)
	}
	if got := Facts(dir, "", "all is well"); got != nil {
		t.Errorf("facts about nothing: %v", got)
	}
}

// The directory that is missing is named by the source that gives it and by the disk.
func TestMissingDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "there"), 0o755); err != nil {
		t.Fatal(err)
	}
	node := "Error: spawn /bin/sh ENOENT\n    at ChildProcess\n"
	for source, want := range map[string]string{
		`spawn('/bin/sh', [], {cwd: 'gone/dir', shell: false})`:         "gone/dir",
		`spawn('x', {cwd: path.join(__dirname, 'gone', "dir")})`:        "gone/dir",
		"execSync('x', {stdio: 'pipe', cwd: __dirname + '/gone'})":      "gone",
		"const where = path.resolve('gone');\nspawn('x', {cwd: where})": "gone",
		`spawn('x', {cwd: 'there'})`:                                    "",
		"spawn('x', {cwd: `${root}/gone`})":                             "",
		`spawn('x', {cwd: process.env.DIR || 'gone'})`:                  "",
		`spawn('x', {cwd: where()})`:                                    "",
	} {
		if err := os.WriteFile(filepath.Join(dir, "build.js"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		got := AbsentDirectories(Facts(dir, "node build.js --fast", node))
		if strings.Join(got, " ") != want {
			t.Errorf("%s: missing are %q, want %q", source, got, want)
		}
	}
	for command, want := range map[string]string{
		`node -e "require('child_process').exec('x', {cwd: 'gone/dir'}).on('error', e => { throw e })"`: "gone/dir",
		`node -e 'spawn("x", {cwd: __dirname + "/gone"})'`:                                              "gone",
		`node -e "spawn(\"x\", {cwd: \"gone\"})"`:                                                       "gone",
		`node -e 'spawn("x", {cwd: "there"})'`:                                                          "",
		`node -e 'spawn("x", {cwd: process.env.DIR})'`:                                                  "",
	} {
		if got := AbsentDirectories(Facts(dir, command, node)); strings.Join(got, " ") != want {
			t.Errorf("%s: missing are %q, want %q", command, got, want)
		}
	}
	for output, want := range map[string]string{
		"sh: 1: cd: can't cd to gone\n":                         "gone",
		"bash: line 1: cd: gone/x: No such file or directory\n": "gone/x",
		"make: *** gone: No such file or directory.  Stop.\n":   "gone",
		"chdir gone: no such file or directory\n":               "gone",
		"chdir there: no such file or directory\n":              "",
	} {
		if got := AbsentDirectories(Facts(dir, "", output)); strings.Join(got, " ") != want {
			t.Errorf("%q: missing are %q, want %q", output, got, want)
		}
	}
}

// Files that a failure names are found in every format and whatever they are called; text that
// does not name a file is ignored.
func TestFiles(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "lib.py")
	names := []string{"app.py", "src/cart.js", "src/héllo.py", "app/[id]/page.tsx", "app/(shop)/[...slug]/page.tsx", "Makefile", "a b/c d.go", "Dockerfile", "x+y@2.c", "日本.rb", "main.tf"}
	for _, name := range append(names, other) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	forms := []string{
		"%s:3: oh\n", "%s:3:9: error: oh\n", "%s(3,9): error TS1: oh\n", "  File \"%s\", line 3, in f\n", "%s\n  3:7  error  oh  no-undef\n", "    at f (%s:3:9)\n", "  --> %s:3:9\n",
		"PHP Fatal error: oh in %s on line 3\n", "oh at %s line 3.\n", "[ERROR] %s:[3,9] oh\n", "e: file://%s:3:9 oh\n", "[warn] %s\n", "would reformat %s\n", "  on %s line 3, in x:\n", "make: *** [%s:3: all] Error 1\n",
		"   at A.B() in %s:line 12\n", "%s: line 1, col 7, Error - oh\n", "::error file=%s,line=3,col=5::oh\n", "##[error]%s(3,5): error CS1: oh\n", "%s(3, 5) Error: oh\n", "rspec '%s[1:2]' # oh\n", "oh: %s#L3\n",
	}
	beside := []string{"FAILED %s::test_f - oh\n", "ERROR %s - ImportError: oh\n", " FAIL  %s > cart > adds\n", " FAIL  |unit| %s > adds\n", "FAIL %s (5.2 s)\n", "%s .. Dubious, test returned 1\n", "| %s |\n", "  \"file\": \"%s\", \"line\": 3\n", "SyntaxError: %s: Unexpected token (3:5)\n"}
	forms = append(forms, beside...)
	for _, name := range names {
		for i, form := range forms {
			for _, given := range []string{name, "./" + name, filepath.Join(dir, name)} {
				if form[:2] == "e:" && !filepath.IsAbs(given) || !strings.ContainsAny(given, "./") && !strings.ContainsAny(form, "0123456789") {
					continue // no form, or a word that may be any
				}
				if (form[:2] == "%s" && form[2] == '\n' || slices.Contains(beside, form)) && !strings.ContainsAny(given, "./") {
					continue
				}
				out := "example.com:443 no:1 1:2\n" + strings.ReplaceAll(form, "%s", given)
				if got := Files(dir, out); len(got) != 1 || got[0] != name {
					t.Errorf("form %d of %q: %q", i, given, got)
				}
			}
		}
	}
	if got := Files(dir, other+":1: oh\nhttps://x.example/app.js:3\n"); len(got) != 1 || got[0] != other {
		t.Errorf("outside of the directory: %q", got)
	}
	// Tests of Go name the base of a file; their package comes behind.
	for _, name := range []string{"a_test.go", "sub/deep/a_test.go"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pkg, want := range map[string]string{"example.com/m/sub/deep": "sub/deep/a_test.go", "example.com/m": "a_test.go"} {
		plain := "--- FAIL: TestA (0.00s)\n    a_test.go:3: oh\nFAIL\nFAIL\t" + pkg + "\t0.1s\nok  \texample.com/other\t0.1s\n"
		events := ""
		for line := range strings.Lines(plain) {
			events += `{"Action":"output","Package":"` + pkg + `","Output":"` + strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(line) + "\"}\n"
		}
		for _, out := range []string{plain, events, `{"x":"` + strings.Repeat("x", mostLength) + strings.ReplaceAll(plain, "\n", `\n`) + "\"}\n" + "FAIL\t" + pkg + "\t0.1s\n"} {
			if got := Files(dir, out); len(got) != 1 || got[0] != want {
				t.Errorf("%q: %q, want %q", out, got, want)
			}
		}
	}
	for _, name := range names {
		for _, out := range []string{"    at file://" + (&url.URL{Path: filepath.Join(dir, name)}).EscapedPath() + ":3:9\n", `.\` + strings.ReplaceAll(name, "/", `\`) + "(3,9): error CS1: oh\n"} {
			if got := Files(dir, out); len(got) != 1 || got[0] != name {
				t.Errorf("%q: %q, want %q", out, got, name)
			}
		}
	}
	if got := Files(dir, "nothing"); got == nil || len(got) > 0 {
		t.Errorf("%q", got)
	}
}
