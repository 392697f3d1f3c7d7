package permit

import "testing"

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
