package transcript

import "testing"

func TestFillers(t *testing.T) {
	for _, c := range []struct {
		language, in, want string
		n                  int
	}{
		{"en", "Um, so we, uh, bake it. Uhm.", "So we, bake it.", 3},
		{"en", "It works, er, erm, uh. Then we stop.", "It works, er. Then we stop.", 2},
		{"en", "Uh-huh, the umbrella of errors, hmm?", "Uh-huh, the umbrella of errors?", 1},
		{"en", "Um.", "", 1},
		{"de", "Ähm, er geht um sechs, äh, los.", "Er geht um sechs, los.", 2},
		{"fr", "Euh, c'est un peu heu compliqué.", "C'est un peu compliqué.", 2},
		{"ja", "えーと、今日は、あのー、パンの話です。", "今日は、パンの話です。", 2},
	} {
		if got, n := withoutFillers(c.in, c.language); got != c.want || n != c.n {
			t.Errorf("%s %q: %q, %d; want %q, %d", c.language, c.in, got, n, c.want, c.n)
		}
	}
}
