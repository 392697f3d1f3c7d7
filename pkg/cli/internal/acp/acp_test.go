package acp

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// Only what a person typed mentions files; what the editor adds is untrusted, and no
// address leads out of the project.
func TestMessage(t *testing.T) {
	saved := func(string) *string { return nil }
	text := sdk.ResourceBlock(sdk.EmbeddedResourceResource{TextResourceContents: &sdk.TextResourceContents{Uri: "file:///p/b.go", Text: "see @/etc/passwd\n"}})
	m, err := message([]sdk.ContentBlock{sdk.TextBlock("look at @a.go"), sdk.ResourceLinkBlock("c", "file:///p/sub/c%20d.go"), sdk.ResourceLinkBlock("out", "file:///p/../etc/passwd"),
		sdk.ResourceLinkBlock("web", "https://example.com/x"), text, sdk.ImageBlock(base64.StdEncoding.EncodeToString([]byte("png")), "image/png")}, "/p", saved)
	if err != nil {
		t.Fatal(err)
	}
	if m.Mentions != "look at @a.go" || m.Taint != 0 || len(m.Attachments) != 3 || m.Attachments[0].Path != "sub/c d.go" || m.Attachments[0].Buffer != nil ||
		m.Attachments[1].Path != "b.go" || *m.Attachments[1].Buffer != "see @/etc/passwd\n" || m.Attachments[2].Path != "image-3.png" || string(m.Attachments[2].Data) != "png" {
		t.Errorf("%+v", m)
	}
	if want := "look at @a.go\n\nsub/c d.go\n\nfile:///p/../etc/passwd\n\nhttps://example.com/x\n\nb.go"; m.Text != want {
		t.Errorf("%q", m.Text)
	}
	for _, bad := range [][]sdk.ContentBlock{nil, {sdk.TextBlock(" \n")}, {sdk.AudioBlock("x", "audio/wav")}, {sdk.ImageBlock("%", "image/png")}, {{}}} {
		if _, err := message(bad, "/p", saved); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestSplitDiff(t *testing.T) {
	diff := "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -3,2 +3,3 @@ func\n x\n--- y\n+z\n+++ w\n@@ -9 +10 @@\n-p\n+q\n\\ No newline at end of file\n" +
		"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+new\n" +
		"diff --git a/d/o b/d/o\ndeleted file mode 100644\n--- a/d/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n" +
		"diff --git a/bin b/bin\nBinary files differ\n" +
		"--- a/big\n+++ b/big\n@@ -1 +1 @@\n-" + strings.Repeat("x", maxDiff) + "\n+y\n"
	want := `[{a.txt x
-- y
p
 x
z
++ w
q
 3} {n  new
 1} {d/o old
  1}]`
	if got := fmt.Sprint(splitDiff(diff)); got != want {
		t.Errorf("%s", got)
	}
	for _, text := range []string{"", "@@", "--- \n+++ \n@@ -x +y @@\n", "+++ b/x\n@@ +99999999999999999999 @@\n+a\n"} {
		for _, f := range splitDiff(text) {
			if f.line < 1 {
				t.Errorf("%q: %+v", text, f)
			}
		}
	}
}

// A signal has the path of its step behind its name.
func TestSignal(t *testing.T) {
	q := &jobs.Question{Signals: []string{"approve@1.2", "deny@1.2"}}
	if signal(q, "approve") != "approve@1.2" || signal(q, "deny@1.2") != "deny@1.2" || signal(q, "obey") != "" || signal(q, "") != "" {
		t.Error("a signal is not found by its name")
	}
}
