package turn

import "testing"

// The texts are from old journals and never change.
func TestOutput(t *testing.T) {
	for said, want := range map[string]string{
		"exit code 0 (c1, 3 bytes of output)\nhi\n":                                                                  "hi",
		"exit code 0 (c1, 2 bytes of output)\nhi\n":                                                                  "hi",
		"exit code 0 (c1, 3 bytes of output)\nhi\n[changed: a.txt]\n":                                                "hi",
		"exit code 0 (c1, 17 bytes of output)\n[changed: a.txt]\n[changed: b.txt]\n":                                 "[changed: a.txt]",
		"exit code 0 (c1, 0 bytes of output)\n":                                                                      "",
		"exit code 0 (c1, 0 bytes of output)\n[changed: a.txt]\n":                                                    "",
		"exit code 0 (c1, 99999 bytes of output)\nhead\n[...]\ntail\n[the middle is left out; shell_output with…]\n": "head\n[...]\ntail",
		"something else\n": "something else\n",
	} {
		if got := Output(said); got != want {
			t.Errorf("%q was printed as %q, want %q", said, got, want)
		}
	}
}

func TestOf(t *testing.T) {
	for summary, want := range map[string]Ending{
		"exit code 2": {Code: 2}, "killed": {Killed: true}, "stopped after 10m0s, which was its time limit; raise timeout_s or use background": {TimedOut: true},
		"golangci-lint is not installed here, or not where commands can see it": {NotStarted: true}, "make test could not be started: no such file": {NotStarted: true},
		"3 of 4 failed": {}, "it said exit code 2": {},
	} {
		if got := ParseEnding(summary); got != want {
			t.Errorf("%q is read as %+v, want %+v", summary, got, want)
		}
	}
	if !NotRun("not run: no") || NotRun("it was not run: no") {
		t.Error("what was not run is not distinguished")
	}
}
