package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Bounds of the answer to a call.
const (
	maxText      = 1 << 20
	maxArtifact  = 1 << 20  // one, encoded
	maxArtifacts = 4 << 20  // all of a call
	maxMessage   = 16 << 20 // of the protocol
)

// An answer is the result of a call on its way to the model.
type answer struct {
	name string // of the tool
	text strings.Builder
	cut  bool
	kept map[string]json.RawMessage
	size int
	seen []llm.Image
}

// result converts a server's result for the model; images, links and structured content are
// artifacts, named by the tool. exact is the structured content as it was sent.
func result(name string, r *sdk.CallToolResult, exact json.RawMessage) tools.Result {
	a := &answer{name: name}
	hasText := false
	for i, c := range r.Content {
		_, isText := c.(*sdk.TextContent)
		hasText = hasText || isText
		a.content(c, i+1)
	}
	if r.StructuredContent != nil {
		b, err := json.Marshal(r.StructuredContent)
		if exact != nil {
			b, err = json.Marshal(exact)
		}
		switch {
		case err != nil:
			a.say("[structured content that cannot be read]")
		case !hasText || !covers(a.text.String(), b):
			a.say(rootfs.Visible(string(b)))
		}
		if err == nil {
			a.keep("structured", b)
		}
	}
	if r.IsError && a.text.Len() == 0 {
		a.say("The tool failed and gave no reason.")
	}
	return a.result(r.IsError)
}

// covers reports whether a text has the values of structured content, so that a model that reads it
// need not read them again. Most servers write the same in both; some only count in the text what
// the content lists.
func covers(text string, structured json.RawMessage) bool {
	dec := json.NewDecoder(bytes.NewReader(structured))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return true
	}
	room := 64 << 20 // bytes that are compared
	var has func(v any) bool
	has = func(v any) bool {
		if room -= len(text); room < 0 {
			return len(text) >= len(structured)/2
		}
		switch v := v.(type) {
		case map[string]any:
			return !slices.ContainsFunc(slices.Collect(maps.Values(v)), func(kid any) bool { return !has(kid) })
		case []any:
			return !slices.ContainsFunc(v, func(kid any) bool { return !has(kid) })
		case json.Number:
			return strings.Contains(text, v.String())
		case string:
			return strings.Contains(text, rootfs.Visible(v)) || strings.Contains(text, strings.Trim(string(jsontext.Quote(v)), `"`))
		}
		return true
	}
	return has(v)
}

// result returns the answer in the executor's form.
func (a *answer) result(failed bool) tools.Result {
	out := tools.Result{Text: a.text.String(), Failed: failed, Artifacts: a.kept, Images: a.seen}
	if out.Artifacts == nil {
		out.Artifacts = map[string]json.RawMessage{}
	}
	if out.Text == "" {
		out.Text = "(nothing)"
	}
	return out
}

// content adds one part of a result, number n.
func (a *answer) content(c sdk.Content, n int) {
	switch c := c.(type) {
	case *sdk.TextContent:
		a.say(rootfs.Visible(c.Text))
	case *sdk.ImageContent:
		if !a.image(n, c.Data) {
			a.data("image", n, c.MIMEType, "", c.Data)
		}
	case *sdk.AudioContent:
		a.data("audio", n, c.MIMEType, "", c.Data)
	case *sdk.ResourceLink:
		a.link(n, c)
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return
		}
		a.resource(n, c.Resource)
	default:
		a.say(fmt.Sprintf("[%T, which is not shown]", c))
	}
}

// image adds an image, and an artifact of it as data does. It reports false for formats that
// models do not accept.
func (a *answer) image(n int, data []byte) bool {
	image, err := turn.Image(fmt.Sprintf("%s/image-%d", a.name, n), data)
	if err != nil || len(a.seen) == turn.MaxImages {
		return false
	}
	a.seen = append(a.seen, *image)
	a.data("image", n, image.Type, "", data)
	a.say(image.String())
	return true
}

// resource adds the content of a resource.
func (a *answer) resource(n int, r *sdk.ResourceContents) {
	if r.Blob != nil {
		a.data("resource", n, r.MIMEType, r.URI, r.Blob)
		if image, err := turn.Image(fmt.Sprintf("%s/resource-%d", a.name, n), r.Blob); err == nil && len(a.seen) < turn.MaxImages {
			a.seen = append(a.seen, *image)
			a.say(image.String())
		}
		return
	}
	a.say(fmt.Sprintf("[resource %s]\n%s", line(r.URI), rootfs.Visible(r.Text)))
}

// link adds a reference to a resource.
func (a *answer) link(n int, l *sdk.ResourceLink) {
	b, err := json.Marshal(map[string]string{"uri": l.URI, "name": l.Name, "mime": l.MIMEType, "description": l.Description})
	if err != nil {
		return // texts can be encoded
	}
	a.say(fmt.Sprintf("[link %s: %s]", line(l.Name), line(l.URI)))
	a.keep(fmt.Sprintf("link-%d", n), b)
}

// data adds content that is not text: the model learns that it is there.
func (a *answer) data(kind string, n int, mime, uri string, data []byte) {
	value := map[string]string{"mime": mime, "data": base64.StdEncoding.EncodeToString(data)}
	if uri != "" {
		value["uri"] = uri
	}
	b, err := json.Marshal(value)
	if err != nil {
		return // texts can be encoded
	}
	where := "it is too large to be kept"
	if name := fmt.Sprintf("%s-%d", kind, n); a.keep(name, b) {
		where = "artifact " + a.name + "/" + name
	}
	a.say(fmt.Sprintf("[%s, %s, %d bytes: %s]", kind, line(mime), len(data), where))
}

// keep binds an artifact, unless it is too large.
func (a *answer) keep(name string, value json.RawMessage) bool {
	if len(value) > maxArtifact || a.size+len(value) > maxArtifacts {
		return false
	}
	if a.kept == nil {
		a.kept = map[string]json.RawMessage{}
	}
	a.size += len(value)
	a.kept[a.name+"/"+name] = value
	return true
}

// say adds a line of text, within bounds.
func (a *answer) say(text string) {
	switch {
	case a.cut:
		return
	case a.text.Len() > 0:
		a.text.WriteByte('\n')
	}
	if room := maxText - a.text.Len(); len(text) > room {
		a.cut = true
		text = spelling.Clip(text, max(room, 0)) + fmt.Sprintf("\n[cut: the answer is longer than %d bytes]", maxText)
	}
	a.text.WriteString(text)
}

// line shortens a text by somebody else to one line.
func line(s string) string {
	return spelling.Clip(strings.Join(strings.Fields(rootfs.Visible(s)), " "), 300)
}
