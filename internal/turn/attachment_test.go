package turn

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestMentions(t *testing.T) {
	for text, want := range map[string][]Mention{
		"what does @cart.go do?":                     {{Path: "cart.go"}},
		"@a.go @a.go @a.go:1":                        {{Path: "a.go"}, {Path: "a.go", From: 1, To: 1, Marked: true}},
		"see @a/b.go:10-40, (@c.go) and @d.go.":      {{Path: "a/b.go", From: 10, To: 40, Marked: true}, {Path: "c.go"}, {Path: "d.go"}},
		"@a.go:10- @b.go:7: why":                     {{Path: "a.go", From: 10, Marked: true}, {Path: "b.go", From: 7, To: 7, Marked: true}},
		`@"my notes.txt":2-3 @my\ notes.txt`:         {{Path: "my notes.txt", From: 2, To: 3, Marked: true}, {Path: "my notes.txt"}},
		"@./x @../y @/z @~/w":                        {{Path: "./x", Marked: true}, {Path: "../y", Marked: true}, {Path: "/z", Marked: true}, {Path: "~/w", Marked: true}},
		"@https://go.dev/x?a=b#c. ok":                {{URL: "https://go.dev/x?a=b#c", Marked: true}},
		"(@https://en.wikipedia.org/wiki/Go_(game))": {{URL: "https://en.wikipedia.org/wiki/Go_(game)", Marked: true}},
		"@a(1).txt":                        {{Path: "a(1).txt"}},
		"*see @a.go* @q*?/[i]{d}.txt":      {{Path: "a.go"}, {Path: "q*?/[i]{d}.txt"}},
		"@Größe.md 「@数.md」":                {{Path: "Größe.md"}},
		"a@b.c x/y@1.2 @ @. @\"\" \\@a.go": nil,
		"`@a.go` and ``@b.go``, @c.go":     {{Path: "c.go"}},
		"a ` and @c.go":                    {{Path: "c.go"}},
		"```\n@a.go\n```\n@b.go":           {{Path: "b.go"}},
		"@a.go\x00b":                       {{Path: "a.go\x00b"}},
		"@\xff":                            nil,
	} {
		if got := Mentions(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q mentions %+v, want %+v", text, got, want)
		}
	}
}

// A long row of brackets, which a person may paste, is read in one pass.
func TestMentionsOfBrackets(t *testing.T) {
	for _, s := range []string{strings.Repeat(")", 1<<20), strings.Repeat("])", 1<<19)} {
		if begun := time.Now(); len(Mentions("@a"+s)) != 1 || time.Since(begun) > 5*time.Second {
			t.Errorf("%.6s took %s", s, time.Since(begun))
		}
	}
}

// What completion offers for a path attaches that path.
func TestMentionOf(t *testing.T) {
	for _, path := range []string{"a.go", "my notes.txt", `say "hi".txt`, "a`b`", "<x>|y", "why?", "todo!", "a:10", "a:1-2.go:3", "dir/", `a\b.txt`, "http:x", "日本 語.txt", "f(1)", "f(1", "[x]{y}*.txt", "-dash", `a "b" c?.txt`, "Screenshot 3.04\u202fPM.png", "日本\u3000語.txt", "a\tb", `a\`} {
		if got := Mentions("see " + MentionOf(path) + " now"); len(got) != 1 || got[0].Path != path || got[0].From != 0 {
			t.Errorf("%s mentions %+v, want %q", MentionOf(path), got, path)
		}
	}
}

func FuzzMentions(f *testing.F) {
	f.Add("see @a/b.go:10-40, `@x` and @\"y z\":1")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range Mentions(text) {
			if (m.Path == "") == (m.URL == "") || m.From < 0 || m.To < 0 || strings.Contains(m.Path, "\n") {
				t.Errorf("%q mentions %+v", text, m)
			}
		}
	})
}

func TestLikely(t *testing.T) {
	for name, want := range map[string]bool{"a.go": true, "x/a.PNG": true, "decorator": false, "app.route": false, "user.name": false, ".go": false, "a.": false} {
		if Likely(name) != want {
			t.Errorf("%q is likely a path: %v", name, !want)
		}
	}
}

// TestImage: the size of an image is read for each format; a file that only begins like an image
// is refused.
func TestImage(t *testing.T) {
	picture := image.NewGray(image.Rect(0, 0, 31, 17))
	var asPNG, asJPEG, asGIF bytes.Buffer
	for _, err := range []error{png.Encode(&asPNG, picture), jpeg.Encode(&asJPEG, picture, nil), gif.Encode(&asGIF, picture, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range map[string][]byte{
		"image/png": asPNG.Bytes(), "image/jpeg": asJPEG.Bytes(), "image/gif": asGIF.Bytes(),
		"image/webp lossy":    webpFile("VP8 ", "\x30\x02\x00\x9d\x01\x2a\x1f\x00\x11\x00"),
		"image/webp lossless": webpFile("VP8L", "\x2f\x1e\x00\x04\x00\x00\x00\x00\x00\x00"),
		"image/webp extended": webpFile("VP8X", "\x10\x00\x00\x00\x1e\x00\x00\x10\x00\x00"),
	} {
		i, err := Image("x", b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if kind, _, _ := strings.Cut(name, " "); i.Type != kind || i.Width != 31 || i.Height != 17 || i.Size != len(b) || len(i.Digest) != 64 {
			t.Errorf("%s: %+v", name, i)
		}
		if _, err := Image("x", b[:12]); err == nil {
			t.Errorf("%s: its first bytes are an image", name)
		}
	}
	if _, err := Image("x", []byte("text")); err == nil {
		t.Error("text is an image")
	}
	if _, err := Image("x", append(asPNG.Bytes(), make([]byte, MaxImage)...)); err == nil || !strings.Contains(err.Error(), "5 MB") {
		t.Errorf("a large image: %v", err)
	}
}

func webpFile(chunk, data string) []byte {
	return []byte("RIFF\x16\x00\x00\x00WEBP" + chunk + "\x0a\x00\x00\x00" + data)
}

func TestQuote(t *testing.T) {
	got := Quote("a </attached> b </ATTACHED-2>\n", "path", `a"b`, "lines", "")
	if want := "<attached-3 path=\"a\\\"b\">\na </attached> b </ATTACHED-2>\n</attached-3>"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
