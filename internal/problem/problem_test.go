package problem

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

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

// Whatever differs between two runs of the same failure, in any mixture, the
// signature is the same; and other failures have others.
func TestSignatureIsOfTheFailure(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 5))
	pick := func(all ...string) string { return all[rnd.IntN(len(all))] }
	hex := func(n int) string {
		b := []byte("7") // one with letters only is a word
		for len(b) < n {
			b = append(b, "0123456789abcdef"[rnd.IntN(16)])
		}
		return string(b)
	}
	at := func() time.Time {
		return time.Date(2001+rnd.IntN(40), time.Month(1+rnd.IntN(12)), 1+rnd.IntN(28), rnd.IntN(24), rnd.IntN(60), rnd.IntN(60), rnd.IntN(1e9), time.UTC)
	}
	slots := map[string]func() string{
		"DIR": func() string {
			return pick("", "./", "/home/me/src/", "/tmp/go-build"+hex(9)+"/b001/", "../x-y/z_1/", `C:\Users\me\`, "~/w/")
		},
		"NUM": func() string { return pick("0", "7", "12345", "1.5", "1,234,567", "3.14.159") },
		"TIME": func() string {
			return pick(at().Format(time.RFC3339), at().Format(time.RFC3339Nano), at().Format(time.TimeOnly), at().Format(time.DateTime))
		},
		"DATE": func() string {
			return pick(at().Format("Mon, 02 Jan 2006"), at().Format("January 2"), at().Format("Jan 2006"))
		},
		"TOOK": func() string { return pick("0.012s", "1m2.5s", "3h4m5s", "120ms", "7µs", "1s") },
		"HASH": func() string { return pick(hex(7), hex(12), hex(40), hex(64), strings.ToUpper(hex(32)), hex(128)) },
		"ID":   func() string { return hex(8) + "-" + hex(4) + "-" + hex(4) + "-" + hex(4) + "-" + hex(12) },
		"ADDR": func() string { return pick("0x7", "0xc000123abc", "0xDEAD", hex(4)+":0:0:0:1:"+hex(2)) },
	}
	failures := []string{
		"DIRcart.go:NUM:NUM: undefined: c\nFAIL\tcart TOOK",
		"DIRcart.go:NUM:NUM: undefined: d\nFAIL\tcart TOOK",
		"panic: runtime error at ADDR\n[signal code=ADDR addr=ADDR pc=ADDR]\nDIRmain.go:NUM +ADDR",
		"TIME error: request ID failed after TOOK (commit HASH)",
		"error: commit HASH not found in DIRrepo.git since DATE",
		"error: cannot allocate NUM bytes at ADDR, ID",
		"want NUM, got NUM in DIRa_test.go:NUM",
	}
	seen := map[string]string{}
	for _, text := range failures {
		first := ""
		for range 300 {
			run := text
			for {
				before := run
				for name, slot := range slots {
					run = strings.Replace(run, name, "\x00"+slot()+"\x01", 1)
				}
				if run == before {
					break
				}
			}
			run = strings.NewReplacer("\x00", "", "\x01", "").Replace(run)
			switch sig := Signature(Build, run); {
			case first == "":
				if first = sig; seen[sig] != "" {
					t.Errorf("%q and %q have one signature", seen[sig], text)
				}
				seen[sig] = text
			case sig != first:
				t.Fatalf("another signature of %q:\n%s\n%s", text, run, fmt.Sprint(strings.Split(Essence(run), "\n")))
			}
		}
	}
}

func FuzzEssence(f *testing.F) {
	f.Add("error: x\n\x1b[0m")
	f.Fuzz(func(t *testing.T, s string) { Essence(s) })
}
