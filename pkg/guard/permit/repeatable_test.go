package permit

import (
	"path"
	"testing"
)

func TestRepeatable(t *testing.T) {
	for text, want := range map[string]bool{
		"go test ./...": true, "go build ./... && go vet ./...": true, "make": true, "make && make check": true, "make test lint": true,
		"cd sub && npm test": true, "npm run build": true, "sh build.sh": true, "./scripts/test.sh -v": true, "cargo build --release": true,
		"python3 -m pytest -q": true, "python3 -m compileall -q .": true, "go test ./... 2>&1 | tail -20": true, "npx tsc": true, "CI=1 go test ./...": true,
		"poetry run pytest": true, "cmake --build out": true, "sh -c 'go test ./...'": true, "test -f x && go build": true, "timeout 60 go test ./...": true,

		"sh release.sh": false, "make publish": false, "make test && make publish": false, "npm publish": false, "cargo publish": false,
		"go run ./cmd/post": false, "go generate ./...": false, "echo x >>log": false, "go test ./... >out": false, "sh build.sh; rm -rf x": false,
		"curl -d x https://example.com": false, "": false, "true": false, "echo build": false, "make install": false, "./tool": false, "sh": false,
		"git push": false, "go test ./... && git push": false, "sh test-deploy.sh": false, "$TEST": false, "sh $BUILD": false, "make $(cat targets)": false,
		"sh <build.sh": false, "go test $(sh release.sh)": false, "npm run deploy": false, "make -f other": false, "eval go test": false,
		"FOO=1 go test ./...": false, "python3 -c 'test()'": false, "find . -name x -exec go test {} ;": false, "twine upload dist/*": false,
		"./send_test_mail.sh": false, "python3 build_invoices.py": false, "node verify-and-charge.js": false, "npm run build-and-ship": false,
		"make -fship.mk": false, "make --file=ship.mk test": false, "make -Cops test": false, "make -j4 -k test": true, "./run_tests.sh": true,
		"go test `touch x`": false, "make test X=1 y": false, "sudo make test": false,
	} {
		if got := Repeatable(text); got != want {
			t.Errorf("Repeatable(%q) = %v", text, got)
		}
	}
	for name, want := range map[string]bool{"build": true, "unit-tests": true, "publish": false, "publish-build": false, "deploy": false, "command": false, "latest": false} {
		if got := Checks(name); got != want {
			t.Errorf("Checks(%q) = %v", name, got)
		}
	}
}

// What only reads, and the project's own builds and tests, and nothing else, is harmless.
func TestHarmless(t *testing.T) {
	const no, reads, own = "", "reads", "own"
	for text, want := range map[string]string{
		"ls": reads, "ls -la src": reads, "pwd": reads, "cat go.mod": reads, "cat src/*.go | head -50": reads, "git status": reads, "git --no-pager log --oneline -5": reads,
		"git diff HEAD~1 -- a.go": reads, "git branch": reads, "grep -rn '/api/v1' .": reads, "rg -n foo src": reads, "find . -name '*.go' -type f": reads, "sed -n '10,20p' a.go": reads,
		"wc -l *.go": reads, "find . -name x -exec cat {} +": no, "cd sub && ls": reads, "cat /home/me/repo/a.go": reads, "cd sub && git log -1": own, "go doc fmt": reads,
		"test -f a && echo yes || echo no": reads, "cat a 2>/dev/null": reads, "sh -c 'ls -l'": reads, "/bin/ls": reads, "gofmt -l .": reads, "sort a.txt | uniq -c": reads,
		"for i in 1 2 3; do echo $i; done": no, "echo \"$HOME\"": reads, "git config --get user.name": reads, "awk '/x/ {print $1}' a.txt": reads, "ls >/dev/null": reads,

		"go test ./...": own, "go build ./... && go vet ./...": own, "go test -run TestX -v ./pkg 2>&1 | tail -20": own, "make": own, "make test": own, "npm test": own, "npm run build": own,
		"pytest -q": own, "python3 -m pytest -q tests": own, "cargo test": own, "./test.sh": own, "sh build.sh": own, "CI=1 go test ./...": own, "timeout 60 go test ./...": own,
		"npx tsc --noEmit": own, "npx vitest run": own, "npx jest a.test.ts": own, "python3 -m unittest tests.test_a -v": own, "bundle exec rspec spec/a_spec.rb:12": own, "uv run pytest -q": own,
		"poetry run pytest": own, "pnpm exec vitest run": own, "pnpm lint": own, "yarn build": own, "dotnet build --no-restore": own, "mix test": own, "composer test": own, "deno test": own, "tox -e py311": own,
		"vendor/bin/phpunit": own, ".venv/bin/pytest -q": own, "node_modules/.bin/jest": own, "bin/rails test": own, "ctest --output-on-failure": own, "cmake --build build": own, "swift test": own,
		"zig build test": own, "cabal test": own, "sbt test": own, "flutter test": own, "nx test app": own, "turbo run test": own, "cargo fmt --check": own, "php -l a.php": own, "date -u": reads, "ps aux": reads,
		"npx cowsay": no, "npx -y tsc": no, "bundle exec rake deploy": no, "uv run python x.py": no, "jest --config evil.js": no, "jest --runner=./evil": no, "rspec --require ./evil": no, "/tmp/x/pytest": no,
		"../bin/pytest": no, "phpunit --bootstrap evil.php": no, "ctest -S evil.cmake": no, "vitest": no, "date -s now": no, "npx eslint --fix .": no, "tox -e release": no, "dotnet run": no, "zig run a.zig": no,
		"ninja -C ../x": no, "npx jest --outputFile=x": no, "mix run": no, "composer install": no, "deno run a.ts": no, "nx deploy app": no, "node_modules/.bin/evil": no,
		"cd web && npm test": own, "./gradlew test": own, "just test": own, "tsc --noEmit": own,

		// What the project's files start, though it only lists.
		"cargo tree": own, "cargo metadata --offline": own, "cargo --version": own, "rustc --version": own, "pnpm ls": own, "cd sub; git status": own, "cat a && git status": reads,

		// Names that are no first operand, of options, of scripts, of links.
		"grep -eroot /etc/passwd": no, "grep --regexp=root /etc/passwd": no, "grep -f pats /etc/passwd": no, "sed --expression=p /etc/passwd": no, "sed -ep /etc/passwd": no, "rg -e x /etc/passwd": no,
		"rg --files /home/other": no, "rg -f /etc/passwd a": no, "grep -rf/etc/passwd a": no, "grep -rf../x a": no, "hexdump -vf/etc/passwd a": no, "du -aX/etc/passwd": no, "grep -e x -- a": reads, "rg --files src": reads,
		"awk 'BEGIN{ARGV[1]=\"/etc/passwd\";ARGC=2}{print}'": no, "awk -F: '{print $1}' a": reads, "jq -n 'import \"c\" as $d {search:\"/home/me/.docker\"}; $d'": no, "jq '.a[]' a.json": reads,
		"yq 'load_str(\"/etc/passwd\")' a": no, "yq -n 'load(\"/etc/x\")'": no, "cat .?/x": no, "cat .*": no, "ls -d .*/x": no, "cat ..*/x": no, "cat .git*": reads, "ls .[a-z]*": no, "wc --files0-from=a": no,
		"cat link": no, "cat <link": no, "cat sub/link": no, "cd sub && cat link": no, "cd link; ls": no, "cat links/*": no, "cat sub/*": reads, "diff link a": no, "git diff --no-index link a": no, "echo link": reads,
		"grep link a": reads, "grep a link": no, "grep -R x .": no, "grep -Rn x .": no, "grep --dereference-recursive x .": no, "find -L . -name x": no, "find . -follow": no, "rg -L x": no, "rg --follow x": no, "tree -l": no,
		"diff -r a b": no, "ls -LR": no, "du -L .": no, "grep -rn x .": reads,

		// Options that run something else, or write.
		"go vet -vettool=./evil ./...": no, "go build -toolexec ./evil ./...": no, "go test -exec ./evil": no, "go build -o /tmp/x .": no, "go test -coverprofile=c.out": no, "go env -w GOFLAGS=x": no,
		"go build -overlay=x.json": no, "go build -ldflags=-extld=./evil": no, "go test -c": no, "gofmt -w .": no, "git diff --output=x": no, "git diff --ext-diff": no, "git log --textconv -p": no,
		"git -c core.pager=./evil log": no, "git -c alias.status='!evil' status": no, "git --exec-path=. status": no, "git -C /etc status": no, "git --git-dir=evil status": no,
		"git grep -O./evil x": no, "git grep --open-files-in-pager=./evil x": no, "git -p log": no, "git st": no, "git cat-file --textconv HEAD:a": no, "git cat-file --filters HEAD:a": no,
		"find . -delete": no, "find . -exec ./evil ;": no, "find . -exec sh -c evil ;": no, "find . -fprint x": no, "rg --pre ./evil x": no, "fd -x ./evil": no, "sort -o x a": no,
		"sort --compress-program=./evil a": no, "sed -i s/a/b/ a": no, "sed -n 'w x' a": no, "sed '1e evil' a": no, "awk 'BEGIN{system(\"evil\")}'": no, "awk '{print > \"x\"}' a": no,
		"tree -o x": no, "diff -l a b": no, "file -C -m x": no, "yq -i . a": no, "uniq a b": no, "xxd -r a b": no, "eslint --fix .": no, "prettier -w .": no, "ruff format .": no,
		"pytest -p evil": no, "python3 -m pytest -p evil": no, "python -m http.server": no, "python -c 'x'": no, "make -f evil.mk": no, "make test SHELL=./evil": no, "make deploy": no, "make install": no,
		"npm run deploy": no, "npm test --script-shell=./evil": no, "cargo test --config x": no, "mypy --python-executable ./evil .": no, "tsc @evil": no, "eslint -c evil.js .": no,

		// What changes the environment, the names of programs, or the directory.
		"GIT_PAGER=./evil git log": no, "GIT_EXTERNAL_DIFF=./evil git diff": no, "GIT_SSH_COMMAND=evil git status": no, "GIT_CONFIG_COUNT=1 git status": no, "PATH=.:$PATH ls": no,
		"export PATH=.; ls": no, "GOFLAGS=-toolexec=./evil go build": no, "GOTOOLCHAIN=evil go vet": no, "LD_PRELOAD=./evil.so ls": no, "BASH_ENV=./evil bash -c ls": no, "env PATH=. ls": no,
		"alias ls=evil\nls": no, "ls() { evil; }; ls": no, "hash -p ./evil ls; ls": no, "./ls": no, "bin/cat a": no, "/tmp/cat a": no, "/work/evil/git status": no, "../test.sh": no,
		"/tmp/test.sh": no, "cd /etc && cat passwd": no, "cd .. && ls": no, "cd -; ls": no, "env -C / ls": no, "pushd /; ls": no,

		// What lies elsewhere, or is made up at run time.
		"cat ~/.ssh/id_rsa": no, "cat /etc/passwd": no, "cat ../other/x": no, "cat a/../../x": no, "cat /proc/self/environ": no, "grep -r key /home/me": no, "grep -f/etc/passwd a": no,
		"git diff --no-index /etc/passwd a": no, "cat </etc/passwd": no, "cat $F": no, "cat \"$F\"": no, "cat $(evil)": no, "ls `evil`": no, "find / -name x": no, "find . | xargs cat": no, "cat /home/me/repository": no,
		"rg --files --ignore-file=/etc/passwd": no, "$X": no, "eval ls": no, ". ./evil": no, "source evil": no, "sh": no, "sh -s": no, "bash <(evil)": no, "ls; evil": no, "ls & evil": no, "ls | sh": no, "git log | evil": no,

		// What writes, sends or ends something.
		"ls > out": no, "echo x >> a": no, "echo x | tee a": no, "rm a": no, "mv a b": no, "cp a b": no, "touch a": no, "mkdir a": no, "chmod +x a": no, "ln -s / a": no, "git add .": no, "git commit -m x": no,
		"git checkout a": no, "git stash": no, "git branch -D x": no, "git branch x": no, "git tag x": no, "git remote add x y": no, "git fetch": no, "git push": no, "git reflog expire --all": no,
		"git symbolic-ref HEAD x": no, "git config core.pager ./evil": no, "git config --get x --unset y": no, "git worktree add x": no, "git ls-remote x": no, "git hash-object -w a": no,
		"curl example.com": no, "wget x": no, "nc x 1": no, "ssh x": no, "go get x": no, "go run .": no, "go generate": no, "go install x": no, "go mod tidy": no, "npm install": no, "pip install x": no,
		"cargo add x": no, "cargo run": no, "env": no, "printenv": no, "kill 1": no, "sudo ls": no, "exec evil": no, "trap evil EXIT": no, "ls >/dev/tcp/x/1": no, "": no, "watch evil": no, "xargs evil": no,
	} {
		harmless, mine := Harmless(text, "/home/me/repo", func(name string, wild bool) bool {
			return path.Base(name) == "link" || wild && path.Dir(name) == "links"
		})
		got := no
		if harmless {
			got = reads
			if mine {
				got = own
			}
		}
		if got != want {
			t.Errorf("Harmless(%q) = %q, want %q", text, got, want)
		}
	}
}
