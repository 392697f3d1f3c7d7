//go:build unix

package permit_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/guard/permit"
)

// uses read a file: of %p, its path; of %d and %f, its directory and name; of %g, a glob for
// it; of %q, its path in single quotes.
var uses = strings.Split(`cat %q
cat <%q
cat -- %q
cat ./%q
cat sub/../%q
cat "$PWD"/%q
cat $PWD/%g
cat %g
cat ~/%q
cat %T/%q
cd %d && cat %f
cd %d; cat ./%f
cd ./%d; cat %g
cd %g; cat %f
cd sub; cat ../%q
cd sub; cd ..; cat %q
cd sub && cd ../%d && cat %f
(cd %d; cat %f)
cd %d; cd ..; cd -; cat %f
pushd %d >/dev/null; cat %f
env -C %d cat %f
git -C %d hash-object %f; tar -C %d -cf - %f
tar -cf - -C%d %f
tar -cf - --directory=%d %f
x=%q; cat "$x"
x=%d; cd "$x"; cat %f
x=%d; cat "$x/"%f
x=%f; cat %d/$x
set -- %q; cat "$@"
cat $(echo %q)
cat "$(printf %s %q)"
echo %q | xargs cat
echo %f | xargs -I{} cat %d/{}
xargs cat <list
while read -r f; do cat "$f"; done <list
for f in */* */*/*; do cat "$f"; done
for d in * */*; do cd "$d" && cat %f && cd ..; done
eval cat %q
eval "cat %f" ; cd %d; eval 'cat key'
find . -type f -exec cat {} +
find . -type f -exec cat {} \;
find sub/.. -name %f -execdir cat {} \;
tar -cf - -T list
tar -cf - --files-from=list
sh -c 'cat '%q
sh -c 'cat "$1"' x %q
sh <script
sh script
. ./script
cp %q sub/copy; cat sub/copy
dd if=%q 2>/dev/null
sed -n p %q
sed -n 'r list' list; sed -n '1e cat app/*/key deploy/key' list
awk '{while ((getline l < $0) > 0) print l}' list
cp -r . sub/all 2>/dev/null; echo over
f() { cat "$1"; }; f %q
cat {%f,%p}
ln -s "$PWD" sub/here; cat sub/here/%q
alias c=cat; c %q
head -n1 sub/../%g
cat $'%p'
printf '%s' %q | while read -r f; do cat -- "$f"; done`, "\n")

// TestDeniedPathsAreNotRead makes scripts that read a file which a rule denies, and runs those
// that are let through, in dash and in bash: none may print what is in it.
func TestDeniedPathsAreNotRead(t *testing.T) {
	seed := testenv.Seed(t)
	r := rand.New(rand.NewPCG(seed, 26))
	files := map[string]string{"deploy/key": "deploy/**", "app/[id]/key": "app/[id]/**", "a*b/key": "a*b", "lib/in/key": "lib/**/key"}
	paths := []string{"deploy/key", "app/[id]/key", "a*b/key", "lib/in/key"}
	dir := t.TempDir()
	for p, text := range map[string]string{"deploy/key": "CANARY\n", "app/[id]/key": "CANARY\n", "a*b/key": "CANARY\n", "lib/in/key": "CANARY\n", "sub/x": "", "list": strings.Join(paths, "\n") + "\n", "script": "cat deploy/key app/*/key a*b/key lib/in/key\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, p), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	passed, asked := 0, 0
	for _, use := range uses {
		for _, p := range paths {
			s := use
			for range r.IntN(3) { // as it is, or within something that changes nothing
				s = strings.ReplaceAll([]string{"true && S", "( S )", "{ S; }", "if true; then S; fi", "S; true", "cd .; S"}[r.IntN(6)], "S", s)
			}
			quote := func(s string) string { return "'" + s + "'" }
			globbed := []byte(p)
			for i := range globbed { // each letter may be one that is not known
				if globbed[i] != '/' && (strings.IndexByte("[]*", globbed[i]) >= 0 || r.IntN(3) == 0) {
					globbed[i] = '?'
				}
			}
			s = strings.NewReplacer("%q", quote(p), "%d", quote(filepath.Dir(p)), "%f", "key", "%g", string(globbed), "%p", p, "%T", dir).Replace(s)
			rules := permit.Rules{{Tool: "shell", Do: permit.Allow}, {Path: files[p], Do: permit.Deny}}
			if v := rules.Judge(shell(s)); v.Do != permit.Allow {
				asked++
				continue
			}
			passed++
			for _, sh := range []string{"dash", "bash"} {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				cmd := exec.CommandContext(ctx, sh, "-c", s)
				cmd.Dir, cmd.Env, cmd.WaitDelay = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + dir}, time.Second
				out, _ := cmd.CombinedOutput() // how it ends shows nothing
				cancel()
				if strings.Contains(string(out), "CANARY") {
					t.Errorf("seed %d: %s reads %s, which %v denies: %q", seed, sh, p, rules[1], s)
				}
			}
		}
	}
	t.Logf("seed %d: %d asked about or denied, %d let through", seed, asked, passed)
}

// What names nothing that a rule denies is let through.
func TestOtherPathsAreLetThrough(t *testing.T) {
	rules := permit.Rules{{Tool: "shell", Do: permit.Allow}, {Path: "deploy/**", Do: permit.Deny}, {Path: "app/[id]/**", Do: permit.Ask}}
	for _, s := range []string{"go test ./...", "cd web && npm test", "cat src/*.go", "ls -la", "git status && git diff --stat", "echo \"$HOME\"", "cat <x >y", "cd web; cat ../web/x; cd ..", "[ \"$x\" = y ]",
		"make -C sub all", "go build -o bin/x ./cmd/x", "rg -n deployed src", "git show HEAD:src/a.go", "cat /etc/hostname"} {
		if v := rules.Judge(shell(s)); v.Do != permit.Allow {
			t.Errorf("%s: %s (%s)", s, v.Do, v.Why)
		}
	}
}
