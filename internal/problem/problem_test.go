package problem

import "testing"

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"BUILD_FAILURE": Build, "build-failure": Build, "Build": Build, "TEST_FAILURE": Test, "ENVIRONMENT_ERROR": Environment,
		"registry_auth": Auth, "registry-auth": Auth, "QUALITY_FAILURE": Quality, "dependency": Dependency, "TYPE_FAILURE": Type,
	} {
		if got, ok := Canonical(in); got != want || !ok {
			t.Errorf("Canonical(%q) = %q, %v; want %q", in, got, ok, want)
		}
	}
	if got, ok := Canonical("WEATHER"); ok {
		t.Errorf("WEATHER is a type of problem: %q", got)
	}
}

// The same failure elsewhere and at another time has the same signature, and
// another failure another one.
func TestSignature(t *testing.T) {
	a := "/home/a/src/cart.go:4:9: undefined: c\nFAIL\tcart 0.012s\n"
	for _, same := range []string{
		"/tmp/x9/y/cart.go:14:2: undefined: c\nFAIL\tcart 1.5s\n",
		"FAIL\tcart 0.3s\n\x1b[31m./cart.go:4:9: undefined: c\x1b[0m\n",
	} {
		if Signature(Build, a) != Signature(Build, same) {
			t.Errorf("another signature:\n%s\n%s", Essence(a), Essence(same))
		}
	}
	for _, other := range []string{"cart.go:4:9: undefined: d\nFAIL\tcart 0.012s\n", "cart.go:4:9: undefined: c\nFAIL\tshop 0.012s\n", ""} {
		if Signature(Build, a) == Signature(Build, other) {
			t.Errorf("the same signature as %q", other)
		}
	}
	if Signature(Build, a) == Signature(Test, a) {
		t.Error("a build and a test that fail alike have one signature")
	}
}

func FuzzEssence(f *testing.F) {
	f.Add("error: x\n\x1b[0m")
	f.Fuzz(func(t *testing.T, s string) { Essence(s) })
}
