package web

import (
	"strings"

	"github.com/adroit-run/adroit/internal/tools/internal/fetch"
	"golang.org/x/net/html"
)

// words is the text of a piece of HTML on one line, n bytes at most.
func words(s string, n int) string {
	if !strings.ContainsAny(s, "<&") {
		return fetch.OneLine(s, n)
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	z.SetMaxBuf(1 << 20)
	skip := ""
	for b.Len() < 4*n+1024 {
		switch z.Next() {
		case html.ErrorToken:
			return fetch.OneLine(b.String(), n)
		case html.TextToken:
			if skip == "" {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			if t := string(name); t == "script" || t == "style" {
				skip = t
			}
			b.WriteByte(' ')
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == skip {
				skip = ""
			}
			b.WriteByte(' ')
		}
	}
	return fetch.OneLine(b.String(), n)
}
