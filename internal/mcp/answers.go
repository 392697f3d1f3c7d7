package mcp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

var idIn = lazyregexp.New(`"id"\s*:\s*("[^"]*"|[0-9.]+)`)

func decodes(result json.RawMessage) bool {
	return json.Unmarshal(result, new(sdk.CallToolResult)) == nil
}

// result returns the result of a request in the form that the library accepts.
func (q request) result(raw json.RawMessage) json.RawMessage {
	switch q.method {
	case "tools/call":
		return q.callResult(raw)
	case "tools/list":
		return listResult(raw)
	case "initialize":
		return started(withObjects(raw, "protocolVersion", "capabilities", "serverInfo"))
	case "server/discover":
		return started(withObjects(raw, "capabilities", "serverInfo"))
	}
	return raw
}

// callResult returns the result of a call, as far as it can be read.
func (q request) callResult(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) == nil && fields["structuredContent"] != nil {
		q.note(func(d *delivery) { d.structured = fields["structuredContent"] })
	}
	if fields != nil && decodes(raw) && !lost(fields) && !reshapes(fields["content"]) {
		return raw
	}
	var list []json.RawMessage
	content, known := fields["content"]
	switch {
	case fields == nil && json.Unmarshal(raw, &list) == nil && list != nil: // content without a result
	case fields == nil && len(raw) > 0 && string(raw) != "null":
		list = []json.RawMessage{raw}
	case json.Unmarshal(content, &list) != nil && len(content) > 0: // one part alone
		list = []json.RawMessage{content}
	}
	if old, ok := fields["toolResult"]; ok && list == nil { // as before 2024-11-05
		known, list = true, []json.RawMessage{textPart(jsontext.Text(old))}
	}
	structured, ok := fields["structuredContent"]
	failed := true
	switch string(fields["isError"]) {
	case "", "false", "null", `"false"`, `""`, "0":
		failed = false
	}
	if known = known || ok || list != nil || failed; !known {
		list = []json.RawMessage{textPart(rootfs.Visible(string(raw)))}
	}
	q.note(func(d *delivery) { d.unreadable = d.unreadable || !known })
	parts := []json.RawMessage{}
	for _, p := range list {
		if s := string(p); s != "null" && s != "" {
			parts = append(parts, part(p))
		}
	}
	out := map[string]any{"content": parts}
	if ok {
		out["structuredContent"] = structured
	}
	if failed {
		out["isError"] = true
	}
	b, err := json.Marshal(out)
	if err != nil || !decodes(b) {
		return textResult(rootfs.Visible(string(raw)))
	}
	return b
}

// lost reports whether a result has something that the library passes over.
func lost(fields map[string]json.RawMessage) bool {
	if _, ok := fields["resultType"]; ok {
		return false // of a revision that has other results
	}
	_, content := fields["content"]
	_, structured := fields["structuredContent"]
	return !content && !structured && len(fields) > 0
}

// reshapes reports whether a part of a result would lose data in the form in which it was sent.
func reshapes(content json.RawMessage) bool {
	var list []json.RawMessage
	_ = json.Unmarshal(content, &list)
	return slices.ContainsFunc(list, func(p json.RawMessage) bool { return reshape(p) != nil })
}

// reshape returns a part with data in the form of the protocol; nil if it is in it, or has none.
// Some servers write base64 as a data URI, for URLs or without its padding, with the data elsewhere
// or in the forms of the APIs of models.
func reshape(part json.RawMessage) json.RawMessage {
	type media struct {
		Data, Blob, Text *string
		URI              string
		MIMEType         string
		MediaType        string `json:"media_type"`
		URL              string
	}
	var p struct {
		media
		Type     string
		MIME     string `json:"mime_type"`
		Source   media
		Resource *media
		ImageURL media `json:"image_url"`
	}
	var other *json.UnmarshalTypeError // of a field with another meaning
	if err := json.Unmarshal(part, &p); err != nil && !errors.As(err, &other) {
		return nil
	}
	kind := strings.ToLower(p.Type)
	if kind == "text" || kind == "resource_link" || kind == "" {
		return nil
	}
	inner := p.media
	if p.Resource != nil {
		inner = *p.Resource
	}
	if kind == "resource" && p.Resource == nil && inner.Text != nil {
		return encoded(map[string]any{"type": kind, "resource": map[string]string{"uri": inner.URI, "mimeType": inner.MIMEType, "text": *inner.Text}})
	}
	var data, mime string
	for _, s := range []*string{inner.Blob, inner.Data, p.Source.Data, &p.ImageURL.URL, &p.URL} {
		if s != nil && *s != "" && (s != &p.ImageURL.URL && s != &p.URL || strings.HasPrefix(*s, "data:")) {
			data = *s
			break
		}
	}
	plain, named, ok := looseBase64(data)
	mime = cmp.Or(inner.MIMEType, p.MIME, p.Source.MediaType, p.Source.MIMEType, named)
	standard := p.Data != nil && *p.Data == plain && (kind == "image" || kind == "audio") || p.Resource != nil && inner.Blob != nil && *inner.Blob == plain
	switch {
	case data == "" || ok && standard:
		return nil
	case !ok:
		return textPart(fmt.Sprintf("[a part of the kind %q]\n[its %d bytes are not base64]", p.Type, len(data)))
	case kind != "resource" && (strings.HasPrefix(kind, "image") || strings.HasPrefix(mime, "image/")):
		return encoded(map[string]string{"type": "image", "data": plain, "mimeType": mime})
	case kind == "audio" || strings.HasPrefix(mime, "audio/") && kind != "resource":
		return encoded(map[string]string{"type": "audio", "data": plain, "mimeType": mime})
	}
	return encoded(map[string]any{"type": "resource", "resource": map[string]string{"uri": cmp.Or(inner.URI, p.Type+":"), "mimeType": mime, "blob": plain}})
}

// encoded returns the JSON of texts.
func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // texts can be encoded
	}
	return b
}

// looseBase64 returns base64 of any kind, also in a data URI, as the protocol has it, and the type
// that the URI names.
func looseBase64(s string) (plain, mime string, ok bool) {
	if rest, uri := strings.CutPrefix(s, "data:"); uri {
		var head string
		if head, s, ok = strings.Cut(rest, ","); !ok || !strings.HasSuffix(head, ";base64") {
			return "", "", false
		}
		mime, _, _ = strings.Cut(head, ";")
	}
	s = strings.NewReplacer("-", "+", "_", "/", " ", "", "\t", "", "\n", "", "\r", "", "=", "").Replace(s)
	b, err := base64.RawStdEncoding.DecodeString(s)
	return base64.StdEncoding.EncodeToString(b), mime, err == nil
}

// listResult removes from a list of tools the parts for which the library would refuse the whole
// list.
func listResult(raw json.RawMessage) json.RawMessage {
	if json.Unmarshal(raw, new(sdk.ListToolsResult)) == nil {
		return raw
	}
	var fields map[string]json.RawMessage
	var list, out []json.RawMessage
	var named map[string]map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil && json.Unmarshal(raw, &list) != nil {
		return raw
	}
	switch {
	case list != nil: // alone
	case json.Unmarshal(fields["tools"], &list) == nil:
	case json.Unmarshal(fields["tools"], &named) == nil: // by their names
		for _, name := range slices.Sorted(maps.Keys(named)) {
			t := named[name]
			if t == nil {
				t = map[string]json.RawMessage{}
			}
			if t["name"] == nil {
				t["name"] = jsontext.Quote(name)
			}
			if b, err := json.Marshal(t); err == nil {
				list = append(list, b)
			}
		}
	default:
		return raw
	}
	for _, t := range list {
		out = append(out, plainTool(t))
	}
	kept := map[string]any{"tools": out}
	var cursor string
	if json.Unmarshal(fields["nextCursor"], &cursor) == nil && cursor != "" {
		kept["nextCursor"] = cursor
	}
	b, err := json.Marshal(kept)
	if err != nil {
		return raw
	}
	return b
}

// plainTool returns a tool with those of its fields that can be read.
func plainTool(raw json.RawMessage) json.RawMessage {
	if json.Unmarshal(raw, new(sdk.Tool)) == nil {
		return raw
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // else there are none
	if name := fields["name"]; len(name) > 0 && name[0] != '"' && string(name) != "null" {
		fields["name"] = jsontext.Quote(string(name))
	}
	kept := map[string]json.RawMessage{}
	for _, name := range []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"} {
		value, ok := fields[name]
		if !ok {
			continue
		}
		kept[name] = value
		if b, err := json.Marshal(kept); err != nil || json.Unmarshal(b, new(sdk.Tool)) != nil {
			delete(kept, name)
		}
	}
	b, err := json.Marshal(kept)
	if err != nil || kept["name"] == nil {
		return json.RawMessage(`{"name":""}`) // it is counted, and not usable
	}
	return b
}

// started returns the answer to the first request without the details for which the library would
// refuse the whole server.
func started(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, new(sdk.InitializeResult)) == nil || json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	if v := fields["instructions"]; len(v) > 0 && v[0] != '"' {
		delete(fields, "instructions")
	}
	var inner map[string]json.RawMessage
	_ = json.Unmarshal(fields["serverInfo"], &inner)
	info := map[string]json.RawMessage{}
	for _, k := range []string{"name", "version", "title"} {
		if v := inner[k]; len(v) > 0 && string(v) != "null" {
			info[k] = jsontext.Quote(jsontext.Text(v))
		}
	}
	offered := map[string]json.RawMessage{}
	inner = nil
	_ = json.Unmarshal(fields["capabilities"], &inner)
	for k, v := range inner {
		one := map[string]any{"capabilities": map[string]json.RawMessage{k: v}}
		switch b, err := json.Marshal(one); {
		case string(v) == "false", string(v) == "null":
		case err == nil && json.Unmarshal(b, new(sdk.InitializeResult)) == nil:
			offered[k] = v
		default: // offered, in words that are not understood
			offered[k] = json.RawMessage("{}")
		}
	}
	whole := map[string]any{"serverInfo": info, "capabilities": offered}
	for k, v := range fields {
		if whole[k] == nil {
			whole[k] = v
		}
	}
	b, err := json.Marshal(whole)
	if err != nil {
		return raw
	}
	return b
}

// withObjects has {} where a language whose empty list is its empty object writes [],
// within some of the fields of an object, and a protocol version of any type as text; of one that is
// not there, the first.
func withObjects(raw json.RawMessage, names ...string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	for _, name := range names {
		var inner map[string]json.RawMessage
		switch value := fields[name]; {
		case name == "protocolVersion":
			fields[name] = jsontext.Quote(cmp.Or(jsontext.Text(value), firstRevision))
		case string(value) == "[]":
			fields[name] = json.RawMessage("{}")
		case json.Unmarshal(value, &inner) == nil && inner != nil:
			for k, v := range inner {
				if string(v) == "[]" {
					inner[k] = json.RawMessage("{}")
				}
			}
			if b, err := json.Marshal(inner); err == nil {
				fields[name] = b
			}
		}
	}
	// The name of a server stands there since 2026-07-28.
	var meta map[string]json.RawMessage
	if json.Unmarshal(fields["_meta"], &meta) != nil {
		delete(fields, "_meta")
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return b
}
