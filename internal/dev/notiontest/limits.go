package notiontest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf16"
)

// known refuses what this version does not take, such as after and archived.
func known(in map[string]any, names ...string) *problem {
	for _, k := range slices.Sorted(maps.Keys(in)) {
		if !slices.Contains(names, k) {
			return invalid("body.%s should be not present", k)
		}
	}
	return nil
}

// checkChildren holds blocks to the limits of one request.
func checkChildren(v any) ([]map[string]any, *problem) {
	if v == nil {
		return nil, nil
	}
	total := 0
	out, bad := blocks("body.children", v, 0, &total)
	if bad == nil && total > 1000 {
		bad = invalid("the request has %d blocks, at most 1000 are allowed", total)
	}
	return out, bad
}

func blocks(at string, v any, depth int, total *int) ([]map[string]any, *problem) {
	list, ok := v.([]any)
	switch {
	case !ok:
		return nil, invalid("%s should be an array", at)
	case len(list) > 100:
		return nil, invalid("%s.length should be ≤ `100`, instead was `%d`", at, len(list))
	case depth > 2:
		return nil, invalid("%s is nested more than two levels deep", at)
	}
	out := []map[string]any{}
	for _, x := range list {
		*total++
		b, _ := x.(map[string]any)
		kind, _ := b["type"].(string)
		inner, ok := b[kind].(map[string]any)
		if !ok {
			return nil, invalid("%s has a block of type %q without its content", at, kind)
		}
		if bad := block(at+"."+kind, kind, inner); bad != nil {
			return nil, bad
		}
		if kids, has := inner["children"]; has {
			if _, bad := blocks(at+"."+kind+".children", kids, depth+1, total); bad != nil {
				return nil, bad
			}
		}
		out = append(out, b)
	}
	return out, nil
}

func block(at, kind string, b map[string]any) *problem {
	switch kind {
	case "paragraph", "heading_1", "heading_2", "heading_3", "bulleted_list_item", "numbered_list_item", "to_do", "quote":
	case "code":
		lang, _ := b["language"].(string)
		if !slices.Contains(strings.Fields("bash c go html java javascript json makefile markdown mermaid python ruby rust shell sql toml typescript xml yaml"), lang) && lang != "plain text" {
			return invalid("%s.language should be one that there is, instead was %q", at, lang)
		}
	case "divider":
		return nil
	case "image":
		ext, _ := b["external"].(map[string]any)
		url, _ := ext["url"].(string)
		if b["type"] != "external" || !strings.HasPrefix(url, "http") || len(url) > 2000 {
			return invalid("%s.external.url is no URL of at most 2000 characters", at)
		}
		list, _ := b["caption"].([]any)
		return richText(at, list)
	case "table":
		width, _ := b["table_width"].(float64)
		rows, _ := b["children"].([]any)
		if len(rows) == 0 {
			return invalid("%s has no rows", at)
		}
		for _, r := range rows {
			m, _ := r.(map[string]any)
			row, _ := m["table_row"].(map[string]any)
			if cells, _ := row["cells"].([]any); len(cells) != int(width) {
				return invalid("%s: a row has %d cells, the table is %v wide", at, len(cells), width)
			}
		}
		return nil
	case "table_row":
		cells, _ := b["cells"].([]any)
		for _, c := range cells {
			list, ok := c.([]any)
			if !ok {
				return invalid("%s.cells should be arrays", at)
			}
			if bad := richText(at, list); bad != nil {
				return bad
			}
		}
		return nil
	default:
		return invalid("%s is no type of block", at)
	}
	list, ok := b["rich_text"].([]any)
	if !ok {
		return invalid("%s.rich_text should be defined", at)
	}
	return richText(at, list)
}

func richText(at string, list []any) *problem {
	if len(list) > 100 {
		return invalid("%s.rich_text.length should be ≤ `100`, instead was `%d`", at, len(list))
	}
	for _, x := range list {
		m, _ := x.(map[string]any)
		t, ok := m["text"].(map[string]any)
		text, isText := t["content"].(string)
		if m["type"] != "text" || !ok || !isText {
			return invalid("%s.rich_text has no text", at)
		}
		if n := len(utf16.Encode([]rune(text))); n > 2000 {
			return invalid("%s.rich_text.text.content.length should be ≤ `2000`, instead was `%d`", at, n)
		}
		if l, has := t["link"].(map[string]any); has {
			if url, _ := l["url"].(string); len(url) > 2000 || !strings.Contains(url, ":") {
				return invalid("%s.rich_text.text.link.url is no URL of at most 2000 characters", at)
			}
		}
	}
	return nil
}

func invalid(format string, args ...any) *problem {
	return &problem{http.StatusBadRequest, "validation_error", "body failed validation: " + fmt.Sprintf(format, args...)}
}

// A problem is an answer that is an error.
type problem struct {
	status        int
	code, message string
}
