//go:build unix

package permit_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/guard/permit"
)

// A target is a command that an operator allows, with the words that could turn it into
// something else: they make the program leave a canary.
type target struct {
	rules string   // separated by ;
	begin string   // the words of the rule
	ends  []string // operands
	bad   []string // words that fire
	good  []string // options that it has
}

const subscript = `a[$(touch${IFS}PWN)]`

var targets = []target{
	{"find *", "find .", []string{"", "f"}, []string{"-exec touch PWN ;", "-exec ./evil.sh ;", "-execdir touch PWN ;", "-fprint PWN", "-fprintf PWN x", "-fls PWN", "-fprint0 PWN", "-exec echo + -exec touch PWN ;"}, []string{"-name f", "-type f", "-maxdepth 1", "-o", "-print0", "-size -5k"}},
	{"find *;sort *;echo *", "find . -name f", []string{""}, []string{"-exec sort f + -o PWN ;", "-exec echo ; -fprint PWN", "-exec sort -o PWN f ;"}, []string{"-exec echo {} ;", "-exec sort {} +"}},
	{"git diff *", "git diff", []string{"f", "HEAD"}, []string{"--output=PWN", "--output PWN", "--outp=PWN", "-c core.pager=./evil.sh --paginate"}, []string{"--stat", "-U3", "--name-only", "-p", "-w"}},
	{"git log *", "git log", []string{"", "HEAD"}, []string{"--output=PWN -p", "--output PWN -p", "--ext-diff -p"}, []string{"-5", "-n 2", "--oneline", "-S x", "-p"}},
	{"git grep *", "git grep", []string{"line"}, []string{"-O./evil.sh", "--open-files-in-pager=./evil.sh", "--open=./evil.sh", "-nO./evil.sh"}, []string{"-n", "-i", "-A1", "-e x"}},
	{"git clone *", "git clone", []string{"--no-local src y", "--no-local ./src y"}, []string{"-u ./evil.sh", "-u./evil.sh", "--upload-pack=./evil.sh", "-qu./evil.sh", "--upl ./evil.sh"}, []string{"-q", "--depth=1", "-b main", "-n"}},
	{"git *", "git", []string{"status", "q", "log -1"}, []string{"-c alias.q='!touch PWN'", "-c core.fsmonitor=./evil.sh", "-C sub", "--exec-path=.", "rebase -x ./evil.sh HEAD~0 --", "-ccore.pager=./evil.sh -p", "bisect run ./evil.sh", "submodule foreach ./evil.sh", "difftool -yx ./evil.sh HEAD --"}, []string{"--no-pager", "-P", "-c user.name=x"}},
	{"git rebase *", "git rebase", []string{"HEAD", "--root"}, []string{"-x ./evil.sh", "-mx./evil.sh", "--exec ./evil.sh", "-qx./evil.sh", "--exe=./evil.sh"}, []string{"-q", "--stat"}},
	{"sort *", "sort", []string{"f", ""}, []string{"-o PWN", "-oPWN", "--output=PWN", "--outp PWN", "-uoPWN", "--compress-program=./evil.sh -S1k", "-k1o PWN"}, []string{"-n", "-u", "-k 1", "-t,", "-r"}},
	{"sed *;sed -n *", "sed", []string{"f"}, []string{"-ne '1e touch PWN'", "-e p -ze 'w PWN'", "-Ee '1e touch PWN'", "'1e touch PWN'", "'w PWN'", "-n 's/.*/touch PWN/e'", "'s/l/x/w PWN'", "p -e 'w PWN'", "--expression='w PWN'", "--exp 'w PWN'", "-f evil.sed", "'s/[/]/w PWN/w PWN'", "'p;w PWN'", "'/l/w PWN'", "'y/l/m/;w PWN'", "-s -n -e1p -e 'wPWN'", "'s|a|b|;w PWN'", `'s/\/l/x/w PWN'`, "-i.PWN p"}, []string{"-n", "-e p", "-E", "-z", "p", "s/a/b/g", "1,2p"}},
	{"awk *", "awk", []string{"f"}, []string{`'BEGIN{system("touch PWN")}'`, `'{print > "PWN"}'`, `'{print | "touch PWN"}'`, "-f evil.awk", `'BEGIN{"touch PWN"|getline}'`, `'BEGIN{print>"PWN"}'`, `-v x=1 'END{system ("touch PWN")}'`, `'{print >> "PWN"}'`, `'BEGIN{"touch PWN" | getline x}'`, `'BEGIN{system\
("touch PWN")}'`}, []string{"-F:", "-v x=1", "'{print $1}'", "1"}},
	{"tar *", "tar", []string{"a.tar", ""}, []string{"xfI a.tar ./evil.sh", "xIf ./evil.sh a.tar", "-I ./evil.sh -xf a.tar", "xf a.tar --to-command=./evil.sh", "xf a.tar --checkpoint=1 --checkpoint-action=exec=./evil.sh", "--use-compress-program=./evil.sh -tf a.tar", "tFf ./evil.sh a.tar", "xf a.tar --use-comp=./evil.sh"}, []string{"tf a.tar", "-t -f a.tar", "xf a.tar", "-v"}},
	{"make *", "make", []string{"", "x"}, []string{"-E '$(shell touch PWN)'", "--eval='$(shell touch PWN)'", "t SHELL=./evil.sh", "MAKEFILES=evil.mk", "-f evil.mk", "-fevil.mk", "-C sub", "-Csub", "-kf evil.mk", "-sfevil.mk", "V='$(shell touch PWN)'", "--file=evil.mk", "--makef=evil.mk", "-j2 -fevil.mk", "-jf evil.mk", "-I sub inc", "t CC=./evil.sh"}, []string{"-k", "-s", "-j 2", "-n", "V=1"}},
	{"make test;./run.sh", "make test", []string{""}, []string{"-C sub", "-f evil.mk"}, nil},
	{"go test *;go build *", "go test", []string{"./...", "."}, []string{"-exec ./evil.sh", "-exec=./evil.sh", "--exec ./evil.sh", "-toolexec ./evil.sh", "-trace=PWN", "-trace PWN", "-o PWN", "-cpuprofile PWN", "-coverprofile=PWN", "-C sub", "-vettool=./evil.sh", "-args -test.trace=PWN", "-ldflags=-extld=./evil.sh", "-ldflags '-s -extld=./evil.sh'", "-outputdir sub -trace PWN"}, []string{"-count=1", "-run X", "-v", "-short", "-timeout 30s", "-json"}},
	{"test *;[ *", "test", []string{""}, []string{"-v '" + subscript + "'", "-R '" + subscript + "'", "! -v '" + subscript + "'", "x -a -v '" + subscript + "'", "'" + subscript + "' -eq 0", "-n x -o -v '" + subscript + "'", "-t '" + subscript + "'"}, []string{"-f f", "-n x", "a = b", "1 -lt 2"}},
	{"printf *", "printf", []string{"x"}, []string{"-v '" + subscript + "'", "%n '" + subscript + "'", "-v PATH", "%d '" + subscript + "'"}, []string{"%s", "a", "'%5d'"}},
	{"uniq *", "uniq", []string{"f", "f PWN"}, []string{"f PWN", "-c f PWN", "-f 1 f PWN", "-- f PWN", "-f= f PWN", "--skip-fields 0 f PWN"}, []string{"-c", "-f 1", "-u"}},
	{"shuf *", "shuf", []string{"f"}, []string{"-o PWN", "-eo PWN", "--output=PWN", "-n1oPWN"}, []string{"-n 1", "-r -n1"}},
	{"split *", "split", []string{"f"}, []string{"--filter=./evil.sh", "--filt=./evil.sh", "-l1 --filter ./evil.sh"}, []string{"-l 1", "-b 1k"}},
	{"xargs *;echo *;cat *", "xargs", []string{"<f", ""}, []string{"touch PWN", "-I{} touch PWN", "-n1 ./evil.sh", "-a f touch PWN", "sh -c 'touch PWN'", "-i touch PWN", "env touch PWN"}, []string{"-0", "-n 1", "echo", "cat"}},
	{"env *;echo *", "env", []string{"echo x"}, []string{"touch PWN", "-S 'touch PWN'", "-i ./evil.sh", "-C sub ./run.sh", "PATH=. evil.sh", "-u X touch PWN", "--split-string='touch PWN'", "-vS 'touch PWN'"}, []string{"-i", "a=b", "-u X"}},
	{"bash *;sh *;dash *", "bash", []string{"ok.sh", ""}, []string{"-c 'touch PWN'", "-s <evil.sh", "<evil.sh", "-ec ./evil.sh", "--rcfile evil.sh -i", "-O extglob -c ./evil.sh", "+e -c ./evil.sh", "- <evil.sh"}, []string{"-e", "-u", "-x"}},
	{"./run.sh;sub/ok.sh", "./run.sh", []string{""}, nil, nil},
	{"tree *;date *;diff *;file *;xxd *;fd *;rg *", "diff", []string{"f f"}, []string{"-l", "--paginate", "--pag"}, []string{"-u", "-r"}},
	{"echo *;cat *;ls *;true;read *;wait *;shift *;unset *", "echo", []string{"x"}, []string{";touch PWN", "&touch PWN", "|touch PWN", "$(touch PWN)", "`touch PWN`", "<(touch PWN)", ">PWN", "${x:=$(touch PWN)}", "$((" + subscript + "))", "\ntouch PWN", "&& ./evil.sh"}, []string{"-n", "a"}},
}

// hosts are builtins and keywords that may evaluate a name. kill must not be
// among them: with a number for a name it ends every process of the user.
var hosts = strings.Fields(`wait read unset export declare typeset local readonly let test [ printf shift exit return break continue cd pwd set times true : getopts mapfile readarray
	ulimit umask jobs history caller hash type command builtin enable shopt complete compgen compopt dirs pushd popd disown fg bg fc help trap alias exec eval source . time coproc`)

type pair struct {
	rules  permit.Rules
	script string
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// smuggle hides words from who reads the script, but not from the shell.
func smuggle(r *rand.Rand, begin, words, end string) string {
	quoted := "'" + strings.ReplaceAll(strings.NewReplacer("'", "").Replace(words), "'", "") + "'"
	literal := strings.ReplaceAll(words, " ;", ` \;`)
	switch r.IntN(16) {
	case 0:
		return fmt.Sprintf(`x=%s; %s $x %s`, quoted, begin, end)
	case 1:
		return fmt.Sprintf(`x=" "%s; e=; %s f"$e"$x %s`, quoted, begin, end)
	case 2:
		return fmt.Sprintf(`x=" "%s; e=; %s "$e"$x %s`, quoted, begin, end)
	case 3:
		return fmt.Sprintf(`set -- %s; %s "$@" %s`, literal, begin, end)
	case 4:
		return fmt.Sprintf(`%s $(echo %s) %s`, begin, quoted, end)
	case 5:
		return fmt.Sprintf(`echo %s | xargs %s`, quoted, begin)
	case 6:
		return fmt.Sprintf(`%s "${x:-"$@"}" %s %s`, begin, literal, end)
	case 7:
		return fmt.Sprintf(`%s -- %s %s`, begin, literal, end)
	case 8:
		return fmt.Sprintf(`%s %s %s`, begin, end, literal)
	case 9: // quotes in the middle
		if i := 1 + r.IntN(max(1, len(literal)-1)); i < len(literal) && !strings.ContainsAny(literal, `'"$`) {
			return begin + " " + literal[:i] + `''` + literal[i:] + " " + end
		}
	case 10:
		return fmt.Sprintf(`for x in %s; do %s $x %s; done`, quoted, begin, end)
	case 11:
		return fmt.Sprintf(`%s ${y-%s} %s`, begin, literal, end)
	case 12:
		return fmt.Sprintf(`: >%s 2>/dev/null; %s * %s`, quoted, begin, end)
	}
	return begin + " " + literal + " " + end
}

// within puts a script into another.
func within(r *rand.Rand, s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	forms := []string{"%s", "%s", "%s", "%s", "true; %s", "%s | cat", "(%s)", "{ %s; }", "if true; then %s; fi", "f() { %s; }; f", "x=$(%s)", "echo \"$(%s)\"", "! %s", "env %s", "timeout 5 %s", "cd sub && %s", "env -C sub %s",
		"find . -maxdepth 0 -exec %s \\;", "find sub -execdir %s \\;", "echo f | xargs %s", "nice %s", "true &\n%s", "cat <<E\n$(%s)\nE", "cd sub; cd ..; %s", "pushd sub; %s", "command %s", "exec %s", "time %s", "flock f %s", "nohup %s"}
	if r.IntN(8) == 0 {
		return pick(r, []string{"sh", "bash", "dash"}) + " -c " + quoted
	}
	return fmt.Sprintf(pick(r, forms), s)
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func letter(r *rand.Rand) string { return string(letters[r.IntN(len(letters))]) }

// newPair makes rules and a script that may do what they do not allow.
func newPair(r *rand.Rand) pair {
	tg := targets[r.IntN(len(targets))]
	rules := allowing(strings.Split(tg.rules, ";")...)
	if r.IntN(6) == 0 {
		rules = permit.Rules{{Tool: "shell", Command: "true", Do: permit.Allow}, {Tool: "shell", Command: "cat *", Do: permit.Allow}}
	}
	var s string
	switch n := r.IntN(10); {
	case n == 0: // a builtin
		s = pick(r, hosts)
		for range r.IntN(3) {
			s += " " + pick(r, []string{"-" + letter(r), "-" + letter(r) + letter(r), "x", "1", "--", "%1"})
		}
		s += " " + pick(r, []string{"'" + subscript + "'", "'x=" + subscript + "'", "\"" + `a[\$(touch PWN)]` + "\"", "'" + subscript + "=1'", "'$(touch PWN)'"})
		if r.IntN(3) == 0 {
			s = "true & " + s
		}
	case n <= 2 && len(tg.bad) > 0 && tg.begin != "bash": // letters that the lists may have wrong; bash -e ./evil.sh is allowed
		s = fmt.Sprintf("%s -%s%s %s %s", tg.begin, letter(r), pick(r, []string{"", letter(r), letter(r) + letter(r), "PWN"}), pick(r, []string{"PWN", "./evil.sh", pick(r, tg.bad), ""}), pick(r, tg.ends))
	default:
		words := tg.begin
		for range r.IntN(3) {
			if len(tg.good) > 0 {
				words += " " + strings.ReplaceAll(pick(r, tg.good), " ;", ` \;`)
			}
		}
		if len(tg.bad) == 0 {
			s = words
			break
		}
		s = smuggle(r, words, pick(r, tg.bad), pick(r, tg.ends))
		if r.IntN(4) == 0 { // what is allowed must run, or the test shows nothing
			s = words + " " + pick(r, tg.ends)
		}
	}
	for range r.IntN(3) {
		s = within(r, s)
	}
	return pair{rules, s}
}

// all is from how many pairs on nothing is left to chance.
const all = 20_000

// sample returns the number of pairs to generate, and their seed.
func sample(t *testing.T) (n int, seed uint64) {
	t.Helper()
	if testing.Short() {
		return 300, testenv.Seed(t)
	}
	return testenv.Sample(500, 40_000), testenv.Seed(t)
}

// TestAllowedRunsNothingElse makes pairs of rules and scripts and runs each
// script that is allowed, or that is known to only read, in dash and in bash: none may leave the canary.
func TestAllowedRunsNothingElse(t *testing.T) {
	n, seed := sample(t)
	template := scratch(t)
	r := rand.New(rand.NewPCG(seed, 0))
	var allowed []pair
	seen := map[string]bool{}
	for range n {
		p := newPair(r)
		key := fmt.Sprint(p)
		reads, own := permit.Harmless(p.script, "/w", nil)
		if v := p.rules.Judge(shell(p.script)); v.Do != permit.Allow && (!reads || own) || seen[key] {
			continue
		}
		seen[key] = true
		allowed = append(allowed, p)
	}
	t.Logf("seed %d: %d pairs, %d different ones allowed", seed, n, len(allowed))
	if len(allowed) < n/50 {
		t.Errorf("only %d of %d are allowed: the test shows nothing", len(allowed), n)
	}
	for _, sh := range []string{"dash", "bash"} {
		t.Run(sh, func(t *testing.T) {
			t.Parallel()
			for _, p := range allowed {
				if left := fires(t, template, sh, p.script); left != "" {
					t.Errorf("seed %d: %s, allowed by %v, left %s: %q", seed, sh, p.rules, left, p.script)
				}
			}
		})
	}
}

// Every builtin with every letter as its option and a name that runs code when
// it is evaluated: what needs no rule, or is allowed by one for the builtin,
// runs nothing.
func TestBuiltinsEvaluateNothing(t *testing.T) {
	template := scratch(t)
	n, seed := sample(t)
	r := rand.New(rand.NewPCG(seed, 0))
	ran := 0
	for _, host := range hosts {
		rules := allowing(host+" *", "true")
		for i := range len(letters) + 1 {
			option := ""
			if i < len(letters) {
				option = " -" + letters[i:i+1]
			}
			for _, form := range []string{"true & %s -n%s '" + subscript + "'", "true & %s%s '" + subscript + "'", "%s%s x '" + subscript + "'", "%s%s '" + subscript + "' 1", "%s 1%s '" + subscript + "=1'"} {
				s := fmt.Sprintf(form, host, option)
				if rules.Judge(shell(s)).Do != permit.Allow || n < all && r.IntN(10) > 0 {
					continue
				}
				ran++
				if left := fires(t, template, "bash", s); left != "" {
					t.Errorf("allowed by %v, left %s: %q", rules, left, s)
				}
			}
		}
	}
	t.Logf("seed %d: %d were run", seed, ran)
}

// The canary of the test fires where something dangerous is run at all.
func TestCanaryFires(t *testing.T) {
	template := scratch(t)
	for _, s := range []string{"touch PWN", "./evil.sh", "cd sub && ./run.sh", "make -C sub", "sort -o PWN f", "go test -exec ./evil.sh ./...", "git diff --output=PWN", "find . -exec touch PWN \\;",
		"sed -n '1e touch PWN' f", "tar xfI a.tar ./evil.sh", "git clone -q --no-local -u ./evil.sh src y"} {
		if fires(t, template, "bash", s) == "" {
			t.Errorf("%s leaves nothing that is seen", s)
		}
	}
	if fires(t, template, "bash", `true & wait -n -p 'a[$(touch PWN)]'`) == "" {
		t.Log("this bash does not evaluate the names that it is given")
	}
}

// scratch makes the directory that scripts run in a copy of.
func scratch(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	evil := "#!/bin/sh\n: >PWN\n: >\"$CANARY\"\n"
	for name, text := range map[string]string{
		"f": "line one\nline two\n", "a.go": "package a\n", "evil.sh": evil, "sub/run.sh": evil, "run.sh": "#!/bin/sh\n", "ok.sh": "true\n", "sub/ok.sh": "#!/bin/sh\n", "evil.sed": "w PWN\n",
		"evil.awk": "BEGIN{system(\"touch PWN\")}\n", "evil.mk": "$(shell touch PWN)\nx t test:\n", "Makefile": "x t test:\n\t@true\n-include inc\n", "sub/Makefile": "$(shell touch PWN)\nx t test:\n", "sub/inc": "$(shell touch PWN)\n",
		// go as far as its flags go: what would be started or written is.
		"bin/go": `#!/bin/sh
[ "$PWD" = "$HOME" ] || : >PWN
while [ $# -gt 0 ]; do
	a=$1; shift
	case $a in --*) a=-${a#--} ;; esac
	case $a in
	-exec=* | -toolexec=* | -vettool=* | -exec | -toolexec | -vettool) : >PWN ;;
	-o | -trace | -cpuprofile | -coverprofile | -C | -outputdir) : >PWN ;;
	-o=* | -trace=* | -cpuprofile=* | -coverprofile=* | -C=* | -test.trace=* | *extld*) : >PWN ;;
	esac
done
`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"tar", "cf", "a.tar", "f"}, {"git", "init", "-q", "--template=", "-b", "main", "src"}, {"git", "-C", "src", "commit", "-q", "--allow-empty", "-m", "x"}, {"git", "init", "-q", "--template=", "-b", "main"}, {"git", "add", "f"}, {"git", "commit", "-q", "-m", "x"},
		{"sh", "-c", "echo three >>f"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(environ(dir), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func environ(dir string) []string {
	return []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin", "HOME=" + dir, "CANARY=" + filepath.Join(dir, "PWNED"), "GIT_CONFIG_NOSYSTEM=1", "TMPDIR=" + dir}
}

// fires runs a script and returns what it left that it should not have.
func fires(t *testing.T, template, sh, script string) string {
	dir, err := os.MkdirTemp("", "permit")
	if err != nil {
		t.Error(err)
		return ""
	}
	defer os.RemoveAll(dir)
	entries, err := os.ReadDir(template)
	if err != nil {
		t.Error(err)
		return ""
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "src") && !strings.Contains(script, "git"): // most files are there
		case e.IsDir():
			err = os.CopyFS(name, os.DirFS(filepath.Join(template, e.Name())))
		case strings.HasSuffix(name, ".sh"): // a program that was just written may be busy
			err = os.Link(filepath.Join(template, e.Name()), name)
		default:
			var b []byte
			if b, err = os.ReadFile(filepath.Join(template, e.Name())); err == nil {
				err = os.WriteFile(name, b, 0o644)
			}
		}
		if err != nil {
			t.Error(err)
			return ""
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, sh, "-c", script)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environ(dir), time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	_ = cmd.Run() // how it ends shows nothing
	left := ""
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		// git clone -o PWN may call the repository that it clones so.
		if err == nil && strings.Contains(d.Name(), "PWN") && !strings.Contains(path, "/refs/remotes/") {
			left = path[len(dir):]
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return left
}
