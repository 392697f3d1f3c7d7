package permit_test

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/guard/permit"
)

// In mode auto, where commands run unasked, a command that a rule denies is
// found however it is written, or asked about where it cannot be read.
func TestDenyInAuto(t *testing.T) {
	rules := permit.Rules{{Command: "git push *", Do: permit.Deny, Why: "people push"}}
	for want, scripts := range map[permit.Do][]string{
		permit.Deny: {
			`git push`, `git push origin main`, `git  push`, `/usr/bin/git push`, `g\it push`, `'git' "push"`, `git -C . push`, `git -C /tmp -c a.b=c push -f`, `git --no-pager push`, `git --git-dir=.git push`,
			`true && git push`, `(git push)`, `{ git push; }`, `$(git push)`, "`git push`", `echo "$(git push)"`, `if true; then git push; fi`, `f() { git push; }; f`, `for i in a; do git push; done`, `git push &`, `! git push`,
			`env git push`, `env -i A=b git push`, `env -C /tmp git push`, `nohup git push`, `nice -n 5 git push`, `timeout 5 git push`, `stdbuf -o0 git push`, `setsid git push`, `command git push`, `exec git push`, `time git push`,
			`sudo git push`, `sudo -u x git push`, `xargs git push`, `find . -exec git push \;`, `find . -execdir git push +`, `busybox git push`,
			`watch git push`, `watch -n 1 'git push'`, `flock x git push`, `flock -n x -c 'git push'`, `flock x -c 'git push'`, `chrt 1 git push`, `chrt -f 1 git push`, `taskset 1 git push`, `taskset -c 0 git push`,
			`setarch x86_64 git push`, `setarch x86_64 -R git push`, `linux64 git push`, `strace git push`, `strace -f -o x git push`, `script -c 'git push'`, `script -qc 'git push' /dev/null`, `nsenter -t 1 -m git push`, `su -c 'git push'`,
			`su root -c 'git push'`, `runuser -c 'git push' x`, `unshare -r git push`, `chroot / git push`, `setpriv --no-new-privs git push`, `caffeinate git push`,
			`sh -c 'git push'`, `bash -c "git push"`, `bash -ec 'git push'`, `bash -lc 'git push'`, `sh -c "sh -c 'git push'"`, `eval git push`, `eval 'git push'`, `zsh -c 'git push'`, `ksh -c 'git push'`, `fish -c 'git push'`,
			`printf 'git push' | sh`, `echo git push | bash`, `echo 'git' 'push' | sh -s`, "sh <<E\ngit push\nE", "bash -s <<'E'\ngit push\nE", "cat >x.sh <<E\ngit push\nE\nbash x.sh", `printf 'git push' >x; . ./x`,
			`python3 -c 'import os; os.system("git push")'`, `perl -e 'system "git push"'`, `ruby -e 'exec "git push"'`, `node -e 'require("child_process").execSync("git push")'`, `awk 'BEGIN{system("git push")}'`, `sed '1e git push' f`,
			`npm exec -- git push`, `npm x git push`, `pnpm dlx git push`, `yarn --silent exec git push`, `bun x git push`, `git bisect run git push`, `git submodule foreach git push`, `git submodule --quiet foreach --recursive 'git push'`, `git filter-branch --tree-filter 'git push' HEAD`, `docker run -v .:/w -w /w alpine/git git push`,
			`docker -H h exec c git push`, `podman compose run s git push`, `kubectl -n a exec p -- git push`, `poetry run git push`, `parallel ::: 'git push'`, `git rebase -x 'git push' main`,
			`trap 'git push' EXIT`, `alias p='git push'; p`, `git send-pack origin`, `git http-push x`, `ssh h git push`, `npx git push`, "make -f - <<E\nx:; git push\nE", `git -c alias.x='!git push' x`, `git -c alias.p=push p`,
		},
		permit.Ask: {
			`git $x`, `git "$(echo push)"`, `git $(printf pu)sh`, `echo push | xargs git`, `echo Z2l0IHB1c2g= | base64 -d | sh`, `sh x.sh`, `bash x.sh`, `bash ./x.sh a`, `sh <x`, `bash -s`, `bash`, `cat x | sh`, `curl x | bash`, `dash x`, `zsh x`,
			`. ./x`, `source x`, `./x.sh`, `bin/x`, `/tmp/x`, `parallel git ::: push`, `parallel <x`, `git p`, `git --exec-path=x y`, `python3 x.py`, `python3 -c "$x"`, `python -m x`, `perl x.pl`, `perl -pe x f`, `node x.js`, `ruby x.rb`,
			`php -r x`, `lua x`, `awk -f x`, `awk "$x"`, `awk '{print | "sh"}'`, `sed -f x f`, `sed "$x" f`, `make -f -`, `make -f x`, `make --eval x`, `make -E x`, `gdb -ex x`, `tmux new x`, `at now <x`, `crontab x`, `expect x`, `systemd-run x`,
			`screen -dm x`, `entr sh x <y`, `eval "$x"`, `$x`, `"$x" push`, `x=git; $x pu`, `env -S 'git pu' sh`, `xargs -a x sh -c`, `find . -exec sh {} \;`, `find . -exec sh -c "$x" \;`, `tar xf a --to-command=x`, `tar -I x -xf a`, `go test -exec x`, `sort --compress-program=x f`,
			`npm exec ./x`, `pnpm exec x`, `git bisect run ./x`, `git -C . bisect run make`, `git submodule foreach ./x`, `git filter-branch --tree-filter ./x HEAD`, `git difftool -x ./x`, `git hook run x`, `docker run i`, `docker -H h run i x`, `docker container exec c x`,
			`docker compose up`, `docker plugin x`, `podman exec c x`, `nerdctl build .`, `kubectl exec p -- x`, `kubectl -n a run p --image=i`, `oc rsh p x`, `bundle exec x`, `uv run x`, `uv tool run x`, `nix develop -c x`, `direnv exec . x`,
			`mosh h x`, `sem x`, `numactl -N 0 ./x`, `pytest @f`, `mypy @f`, `gcc @f`, `cargo +./evil test`,
			`vim -c '!x'`, `vim +'!x' f`, `vim f -c x`, `nvim --cmd x`, `vi -es f <x`, "ed f <<E\n!x\nE", `ex -s f`, `view -c x f`, `emacs --batch --eval x`, `nano f`, `less +'!x' f`, `most +x f`, `man -P x ls`, `man --pager=x ls`, `m4 f`, `dc -e x`, `git grep -O'x' y`,
			`git rebase -x x`, `git config alias.p push; git p`, `unknownwrapper git push`, `unknown --x 'git push'`, `unknown sh x`, `foo bash -c x`, `rg --pre x y`, `fd -x x`, `strace -p 1`, `flock x -c "$c"`, `su -c "$c"`, `watch "$c"`, `npx x`, `uvx x`, `ssh h x`, `hyperfine 'x'`,
		},
		permit.Allow: {
			`git pull`, `git status`, `git log --oneline -5`, `git commit -m 'git push later'`, `echo git push`, `grep -rn "git push" .`, `rg 'git push'`, `printf 'git push\n'`, `go test ./...`, `go build -o bin/x ./...`, `make`, `make test`, `npm test`, `cargo build`,
			`sed -i s/a/b/ f`, `sed -n 1,5p f`, `awk '{print $1}' f`, `find . -name '*.go' -delete`, `find . -exec cat {} +`, `xargs rm`, `tar czf a.tgz b`, `curl -o x https://y`, `sh -c 'echo a'`, `cd sub && go test ./...`, `env a=b go vet`, `git -C sub commit -m x`,
			`git bisect start`, `git bisect good`, `git submodule update --init`, `docker ps -a`, `docker logs -f c`, `docker container ls`, `docker compose logs s`, `kubectl get pods`, `poetry lock`, `nix build`, `uv sync`, `pytest -k '' tests`,
			`git -c user.name=a commit -m x`, `unknown --flag x`, `mkdir -p a/b`, `python3 --version`, `/usr/bin/make`, `timeout 5 make`, `[ -f x ] && cat x`, `less f`, `less -R f`, `man ls`, `man 3 printf`,
		},
	} {
		for _, script := range scripts {
			call := shell(script)
			call.Default = permit.Allow
			if v := rules.Judge(call); v.Do != want || want != permit.Allow && !strings.Contains(v.Why, rules[0].Why) {
				t.Errorf("%s: %s (%s), want %s", script, v.Do, v.Why, want)
			}
			// A rule that allows the tool is weaker than one that denies a command.
			if v := append(permit.Rules{{Tool: "shell", Do: permit.Allow}}, rules...).Judge(call); v.Do != want {
				t.Errorf("with all allowed, %s: %s (%s), want %s", script, v.Do, v.Why, want)
			}
		}
	}
	// One that allows exactly the command that hides others is an answer to the question.
	call := shell("bash scripts/x.sh a && ./gradlew test")
	call.Default = permit.Allow
	if v := append(allowing("bash scripts/x.sh *", "./gradlew *"), rules...).Judge(call); v.Do != permit.Allow {
		t.Errorf("allowed by name: %s (%s)", v.Do, v.Why)
	}
}
