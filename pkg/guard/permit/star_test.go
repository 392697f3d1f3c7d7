package permit_test

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/guard/permit"
)

func allowing(commands ...string) permit.Rules {
	var rules permit.Rules
	for _, c := range commands {
		rules = append(rules, permit.Rule{Tool: "shell", Command: c, Do: permit.Allow})
	}
	return rules
}

// What a * at the end of a rule does not stand for: options and words with
// which the program starts another, writes, or is another program.
func TestStarAsks(t *testing.T) {
	for rules, scripts := range map[string][]string{
		"": {
			`true & wait -n -p 'a[$(touch PWN)]'`, `bash -c 'true & wait -n -p "a[\$(touch PWN)]"'`, `wait -p x`, `wait $x`, `shift 'a[$(touch PWN)]'`,
			`ksh -c "shift 'a[\$(touch PWN)]'"`, `exit 'a[$(x)]'`, `return "$x"`, `break 1 'a[$(x)]'`, `pwd -x`, `set 'a[$(x)]'`, `unset 'a[$(touch PWN)]'`, `unset -n x`,
			`read 'a[$(touch PWN)]' </dev/null`, `read -a x`, `read -p 'a[$(x)]' y`, `export 'a[$(touch PWN)]=1'`, `declare -i x=1`, `local -n x=y`, `times 'a[$(x)]'`,
			`cd $x`, `cd ..`, `cd -`, `cd /tmp`, `let x`, `getopts a 'a[$(x)]'`, `mapfile -C ./x`, `trap x 0`, `export PATH`, `hash -p ./x ls`, `echo ${y-<(touch PWN)}`, `echo ${y#>(touch PWN)}`,
		},
		"find *": {
			`x=' -exec touch PWN ;'; e=; find ."$e"$x`, `find . "$e"$x`, `find ."$e"*`, `find . -name "$x"{a,b}`, `find . -fprint PWN`, `find . -exec touch PWN \;`, `find . -unknown`,
			`find . "${x:-$@}"`, `find . -exec {} \;`, `find . -exec sh -c '{}' \;`, `find -D exec .`, `find $x`, `find . -exec true $x -delete \;`, `find . -exec true "$x" -delete \;`,
		},
		"find *;sort *": {`find . -exec sort f + -o PWN \;`},
		"git diff *":    {`x=' --output=PWN'; e=; git diff f"$e"$x`, `git diff --output=PWN`, `git diff --outp=PWN`, `git diff --ext-diff`, `git diff -OPWN`, `git -c core.pager=x diff`, `git -C /tmp diff`},
		"git *": {
			`git -c alias.p=push p`, `git -C /tmp status`, `git p`, `git config core.pager x`, `git submodule foreach x`, `git bisect run x`, `git rebase --exec x`, `git rebase -x x`, `git --git-dir=/tmp/x log`,
			`git commit -F /etc/passwd`, `git difftool -x ./x`, `git grep -Ox y`, `git grep --open-files-in-pager=x y`, `git log --textconv`, `git push --receive-pack=x`, `git push --force`, `git commit -e`,
			`git rebase -mxtouch`, `git clone -u ./x a b`, `git clone -qu./x a b`, `git --exec-path=. status`, `git filter-branch x`, `git send-email x`, `git hook run x`, `git $x status`, `git status $x`,
		},
		"git clone *": {`git clone --no-local -u ./evil.sh src x`, `git clone --upload-pack ./evil.sh src x`, `git clone -c core.fsmonitor=x a b`, `git clone --template=x a b`},
		"go test *": {
			`x=' -exec ./evil.sh'; e=; go test ./..."$e"$x`, `go test -exec ./evil.sh`, `go test --exec=./evil.sh`, `go test -toolexec x`, `go test -trace=PWN`, `go test -trace PWN`, `go test -cpuprofile=PWN`,
			`go test -coverprofile=PWN`, `go test -o /tmp/x`, `go test -c`, `go test -C /tmp`, `go test -modfile=x`, `go test -overlay=x`, `go test -vettool=x`, `go test -ldflags=-extld=./evil.sh`,
			`go test -ldflags '-s -extld=./evil.sh'`, `go test -gcflags=-cpuprofile=PWN`, `go test -args -test.trace=PWN`, `go test -- -test.trace=PWN`, `go test . -test.cpuprofile=PWN`, `go test "$x"`, `go test $x`, `go test *`,
			`cd sub && go test`, `env -C sub go test`, `env --chdir=/tmp go test`, `find . -execdir go test \;`, `pushd sub; go test`, `sudo go test`, `GOFLAGS=-exec=x go test`,
		},
		"go build *": {`go build -ldflags=-extld=./evil.sh .`, `go build -ldflags='-linkmode=external -extld=x'`, `go build -o /tmp/x`, `go build -compiler=gccgo`, `go build -asmflags=x`, `go build -pkgdir=x`},
		"go *":       {`go run x.go`, `go generate ./...`, `go env -w GOFLAGS=-exec=x`, `go tool x`, `go telemetry on`, `go install x@latest`, `go vet -vettool=x`, `go mod edit -replace=a=b`, `go fix ./...`},
		"sed *;sed -n *": {
			`sed p -ne '1e touch PWN' f`, `sed -e p -ze 'w PWN' f`, `sed -Ee '1e touch PWN' f`, `sed -n -e p -ne'w PWN' f`, `sed --expression='w PWN' f`, `sed --exp 'w PWN' f`, `sed -f x f`, `sed -i s/a/b/ f`,
			`sed -n -i p f`, `sed 's/[/]/w PWN/e' f`, `sed "$x" f`, `sed p; sed 's/a/b/w PWN'`, `sed '1!G;w PWN' f`, `sed -nf x`, `sed $x p f`, `sed -s -e 'r f' f`, `sed 's/a/b/;e touch PWN' f`, `sed 'y/a/b/;w PWN'`,
		},
		"awk *":      {`awk 'BEGIN{system("touch PWN")}'`, `awk '{print > "PWN"}' f`, `awk '{print | "sh"}' f`, `awk -f x f`, `awk '@load "x"'`, `awk 'BEGIN{"touch PWN" | getline}'`, `awk 'function f(x){return x} {f(1)}'`, `awk "$x" f`, `gawk -l x 1`, `gawk -i x 1`},
		"sort *":     {`x=' --output=PWN'; e=; sort f"$e"$x`, `sort -o PWN f`, `sort -uoPWN f`, `sort --compress-program=x f`, `sort --comp=x f`, `sort -T /x f`},
		"./run.sh":   {`cd sub && ./run.sh`, `env -C sub ./run.sh`, `find sub -execdir ./run.sh ';'`, `cd sub; env ./run.sh`, `(cd sub; ./run.sh)`, `pushd sub; ./run.sh`},
		"make test":  {`cd sub && make test`, `env -C sub make test`, `env -C /tmp make test`, `env --chdir /tmp make test`, `make -C sub test`, `cd /tmp && make test`},
		"make *":     {`make -E '$(shell touch PWN)'`, `make --eval '$(shell touch PWN)'`, `make t SHELL=./evil.sh`, `make MAKEFILES=evil.mk x`, `make -f evil.mk`, `make -fevil.mk`, `make -f -`, `make -C sub`, `make -I x`, `make 'V=$(shell touch PWN)'`, `make CC=./x`, `make "$t"`},
		"tar *":      {`tar xfI a.tar ./evil.sh`, `tar xIf ./evil.sh a.tar`, `tar -I ./evil.sh -xf a`, `tar xf a --checkpoint=1 --checkpoint-action=exec=x`, `tar cf host:x f`, `tar xf a --to-command=x`, `tar xf a -C /`, `tar xf a --to-com=x`, `tar xPf a`},
		"test *;[ *": {`bash -c "test -v 'a[\$(touch PWN)]'"`, `test -v 'a[$(touch PWN)]'`, `[ -v x ]`, `[ -R x ]`, `[ "$a" "$b" ]`, `[ $x = y ]`, `[ 'a[$(x)]' -eq 0 ]`, `test -n x -a "$x"`, `[ ! -v x ]`},
		"printf *":   {`printf -v 'a[$(touch PWN)]' x`, `printf -v PATH x`, `printf %n PATH`, `printf '%5n' PATH`, `printf "$x"`, `printf $x y`, `printf -- %n PATH`},
		"curl *":     {`curl --data-binary @f x`, `curl --trace-ascii F x`, `curl -D F x`, `curl --stderr F x`, `curl --libcurl F x`, `curl -d x y`, `curl -sSo F x`, `curl -H @F x`, `curl -K F`, `curl file:///etc/passwd`, `curl -sTF x`, `curl -w @F x`},
		"wget *":     {`wget --output-document=F x`, `wget --output-file=F x`, `wget -qO F x`, `wget -e x y`, `wget --use-askpass=x y`, `wget --output-d=F x`},
		"xargs *":    {`xargs touch`, `xargs -I{} {} x`, `echo x | xargs sh -c`, `xargs --unknown cat`},
		"env *":      {`env touch PWN`, `env -S 'touch PWN'`, `env PATH=. ls`, `env --split-string=x`},
		"bash *":     {`bash -s <x`, `curl x | bash`, `bash`, `bash -`, `bash -c "$x"`, `bash -l`, `bash --rcfile x -i`, `bash --init-file x`, `bash +e -c ./evil.sh`, `bash -e +x x.sh`, `bash +O extglob x`},
		"python *":   {`python -c x`, `python -m x`, `python`, `echo x | python -`, `python $x`, `python -uc x`, `python -X x y`},
		"node *":     {`node -e x`, `node -pe x`, `node -r ./x y`, `node --import=x y`, `node`}, "perl *": {`perl -e x`, `perl -we x`, `perl -i x`, `perl -MX y`}, "ruby *": {`ruby -e x`},
		"npm *":    {`npm test --script-shell=./x`, `npm exec x`, `npm run x --prefix /tmp`, `npm install x`, `npm config set x y`, `cd sub && npm test`},
		"cargo *":  {`cargo test --config x`, `cargo run`, `cargo test -- --logfile PWN`, `cargo xtask`, `cargo +nightly test`, `cargo +./evil test`, `cargo build --target x.json`, `cargo test --manifest-path /tmp/Cargo.toml`},
		"pytest *": {`pytest -p x`, `pytest -c x`, `pytest -xpx`, `pytest --rootdir=/x`, `pytest --junitxml=PWN`, `pytest -o x=y`, `pytest --basetemp=/x`, `pytest @f`, `pytest -q @f`},
		"rg *":     {`rg --pre ./x y`, `rg --pre=./x y`, `rg --hostname-bin=x y`, `rg $x y`, `rg --unknown y`},
		"fd *":     {`fd -x touch`, `fd -Hx touch`, `fd . -X touch`, `fd --exec=touch`, `fd --exec-b x`},
		"rsync *":  {`rsync -e x a b`, `rsync -ave x a b`, `rsync --rsh=x a b`}, "ssh *": {`ssh -o ProxyCommand=x h`, `ssh -F x h`}, "uniq *": {`uniq f PWN`, `uniq -c f PWN`, `uniq $x`}, "xxd *": {`xxd -r a PWN`},
		"gofmt *": {`gofmt -w x`, `gofmt --w x`, `gofmt -cpuprofile=x y`}, "gcc *": {`gcc -wrapper x y.c`, `gcc @f`, `gcc -fplugin=x y.c`, `gcc -B. y.c`, `gcc -o PWN y.c`, `gcc -Wl,-x y.c`, `gcc -specs=x y.c`},
		"less *": {`less +!x f`, `less -oPWN f`}, "vim *": {`vim -c x f`, `vim +x f`}, "man *": {`man -P x y`}, "date *": {`date -s x`}, "tree *": {`tree -o PWN`}, "shuf *": {`shuf -o PWN`},
		"jobs *": {`jobs -x touch PWN`}, "ulimit *": {`ulimit -n 'a[$(x)]'`}, "split *": {`split --filter=x f`}, "zip *": {`zip -T -TT x a b`, `zip --unzip-command=x a b`}, "eslint *": {`eslint -c x .`, `eslint --fix .`, `eslint -f ./x .`},
		"docker *": {`docker run x`, `docker exec x y`}, "docker compose *": {`docker compose run s x`, `docker compose up`}, "git submodule *": {`git submodule foreach x`}, "git bisect *": {`git bisect run x`},
		"mypy *": {`mypy @f`, `mypy -p x @f`}, "ruff check *": {`ruff check @f`}, "rustc *": {`rustc +./evil x.rs`, `rustc @f`}, "cargo test *": {`cargo +./evil test`}, "mvn *": {`mvn -f x test`, `mvn -Dx=y test`}, "golangci-lint *": {`golangci-lint run -c x`, `golangci-lint run --fix`},
	} {
		for _, script := range scripts {
			var rs permit.Rules
			if rules != "" {
				rs = allowing(strings.Split(rules, ";")...)
			}
			// What else stands in a script is allowed, so that the word in question decides.
			rs = append(rs, allowing("echo *", "true", "curl x")...)
			if v := rs.Judge(shell(script)); v.Do != permit.Ask || v.Why == "" {
				t.Errorf("with %q, %s: %s (%s)", rules, script, v.Do, v.Why)
			}
		}
	}
}

// What people type under the rules of the documentation needs no question.
func TestStarAllows(t *testing.T) {
	for rules, scripts := range map[string][]string{
		"": {`wait`, `wait %1`, `wait $!`, `exit 0`, `exit $?`, `shift`, `shift 2`, `set -euo pipefail`, `: "$x" y`, `unset x`, `read -r line`, `export x=1`, `export CI=1`, `local x=1`, `cd sub`, `pwd -P`, `command -v go`},
		"go test *": {
			`go test`, `go test ./...`, `go test -count=1 ./...`, `go test -count 1 ./...`, `go test -run X -short ./...`, `go test -run='^TestX$' .`, `go test -json ./...`, `go test -timeout 30s ./...`, `go test -timeout=30s ./...`, `go test -cover ./...`,
			`go test -v ./pkg/a ./pkg/b`, `go test -race -bench . -benchmem -benchtime=1x`, `go test -bench=. -run '^$'`, `go test -tags=x -parallel 4 -failfast`, `go test --count=1 -v`, `go test -shuffle=on -skip X -vet=off -p 2 -cpu 1,2`,
			`go test -list '.*' ./...`, `go test -covermode=atomic -coverpkg=./...`, `go test -ldflags='-s -w' ./...`, `go test -ldflags "-X main.v=1" .`, `go test -gcflags=all=-N .`, `go test ./... 2>&1`, `CGO_ENABLED=0 go test -v=false ./...`,
			`timeout 60 go test ./...`, `set -e; go test ./...`,
		},
		"go vet *": {`go vet ./...`, `go vet -tags x ./...`}, "go build *": {`go build ./...`, `go build -trimpath -ldflags="-s -w" ./cmd/x`}, "go *": {`go version`, `go list -m all`, `go mod tidy`, `go doc -all fmt`, `go list -f '{{.Dir}}' ./...`},
		"ls *":                {`ls`, `ls *.go`, `ls -la`, `ls -- *`, `ls "$x"`, `ls $x`, `cd sub && ls *.go`},
		"cat *":               {`cat *`, `cat -n "$f"`},
		"git diff *":          {`git diff`, `git diff --stat HEAD~1 -- a`, `git diff -U5 --cached`, `git diff --name-only main...HEAD`},
		"git log *":           {`git log -5`, `git log -n 5 --oneline`, `git log --format='%h %s' -S x -- a`, `git log -p --since=yesterday`},
		"git *":               {`git status -sb`, `git --no-pager log -3`, `git show HEAD:a`, `git add -A`, `git commit -m "a b" -q`, `git commit -am x`, `git checkout -b x`, `git push -u origin x`, `git blame -L 1,5 a`, `git stash`, `git rev-parse --short HEAD`, `git ls-files '*.go'`, `git merge --no-ff x`},
		"git status":          {`git status`},
		"find *":              {`find . -name '*.go' -not -path './x/*'`, `find . -type f -mtime -1 -print0`, `find . \( -name a -o -name b \) -prune -o -print`, `find .`, `find . -maxdepth 2 -size -1k -printf '%p\n'`},
		"find *;grep *;sed *": {`find . -name '*.go' -exec grep -n x {} +`, `find . -exec sed -n 1p {} \;`, `find . -name '*.go' | xargs grep x`},
		"sed *":               {`sed -n 1,20p a`, `sed -n '1,20p;30p' a`, `sed 's/a/b/g' a`, `sed -e 's|a|b|' -e '/x/d' a`, `sed -E 's/(a|b)+[0-9]*\.go/\1/' a`, `sed -n '/^func /,/^}/p' a`, `sed '$d' a`, `sed -ne '1p' a`, `sed 's/[^a-z]//g' a`, `sed -n '$=' "./$f"`},
		"awk *":               {`awk '{print $1}' a`, `awk -F: '$3 == 1 {print $1, NR}' a`, `awk 'NR==1 || NR%2 {n += length($0)} END {printf "%d\n", n}' a`, `awk -v x=1 '{print x}' a`},
		"sort *":              {`sort -u`, `sort -k2,2nr -t, f`, `sort -rn f | sort`}, "make *": {`make`, `make test`, `make -j4 all`, `make -j 4 V=1 a/b.o`, `make -s test`}, "uniq *": {`uniq -c`, `uniq -f 1 a`},
		"tar *": {`tar tzf a.tgz`, `tar -xzf a.tgz`, `tar cf a.tar b c`, `tar xf a --strip-components=1`}, "xargs *;wc *": {`xargs -0 -n 1 wc -l`},
		"curl *": {`curl -sSfL "https://example.com/x?a=b"`, `curl -s localhost:8080/health`, `curl -H 'Accept: application/json' -m 5 http://x/y`, `curl --max-time 5 -I https://x`}, "wget *": {`wget -q https://example.com/x`, `wget --spider x.org/y`},
		"test *;[ *": {`test -f a`, `[ -n "$x" ]`, `[ "$a" = "$b" ]`, `[ ! -d x ] && [ "$n" -gt 5 ]`, `[ -f a -a -d b ]`, `if [ -z "$x" ]; then :; fi`, `[ 1 -lt 2 ]`}, "printf *": {`printf '%s\n' "$x" y`, `printf -- '- %5.2f%%\n' 1`, `printf hi`},
		"npm *": {`npm test`, `npm run build`, `npm ci --ignore-scripts`, `npm ls --depth=0`}, "npm run *": {`npm run lint`, `npm run lint --silent`}, "cargo *": {`cargo test`, `cargo test --release -p x -- --nocapture`, `cargo clippy --all-targets -- -D warnings`, `cargo build -j4`},
		"pytest *": {`pytest`, `pytest -xvs -k 'a and b' tests/x.py::t`, `pytest --maxfail=1 -q --tb=short`, `pytest -ra -n 4 tests`}, "python *": {`python x.py -c y`, `python -u x.py --z`}, "bash *": {`bash scripts/x.sh -s a`, `bash -e x.sh`},
		"rg *": {`rg -n 'a|b' -g '*.go' .`, `rg -l x --type go`, `rg -nC3 x`, `rg --files`}, "gofmt *": {`gofmt -l .`, `gofmt -d -s a.go`}, "gcc *": {`gcc -c -O2 -Wall -Iinclude x.c`}, "staticcheck *": {`staticcheck ./...`},
		"go test -exec *": {`go test -exec ./x .`}, "sed -i *": {`sed -i s/a/b/ f`}, "go build -o *": {`go build -o bin/x ./cmd/x`}, "go test -coverprofile=*": {`go test -coverprofile=c.out`}, "mytool *": {`mytool --any -x $y "$z"`, `cd . ; mytool`},
		"./gradlew *": {`./gradlew test`}, "sh ./x.sh": {`sh ./x.sh`}, "git push *": {`git push origin main`}, "git bisect run *": {`git bisect run make test`}, "docker run *": {`docker run alpine x`}, "git submodule *": {`git submodule status`}, "docker compose *": {`docker compose ps`}, "jq *": {`jq -r .a f`}, "date *": {`date +%s`, `date -u`}, "wc *": {`wc -l *.go`}, "head *": {`head -n5 a`},
	} {
		for _, script := range scripts {
			var rs permit.Rules
			if rules != "" {
				rs = allowing(strings.Split(rules, ";")...)
			}
			if v := rs.Judge(shell(script)); v.Do != permit.Allow {
				t.Errorf("with %q, %s: %s (%s)", rules, script, v.Do, v.Why)
			}
		}
	}
}

// The question names the word that the rule does not cover.
func TestStarSaysWhich(t *testing.T) {
	for script, want := range map[string]string{
		"go test -count=1 -exec ./x ./...": "the rule `go test *` does not allow -exec:",
		"go test -coverprofile=c.out":      "does not allow -coverprofile=c.out:",
		"go vet ./...":                     "no rule allows go vet ./...",
		"cd sub && go test":                "it changes the directory, and what go does",
	} {
		if v := allowing("go test *").Judge(shell(script)); !strings.Contains(v.Why, want) {
			t.Errorf("%s: %q, want %q", script, v.Why, want)
		}
	}
}
