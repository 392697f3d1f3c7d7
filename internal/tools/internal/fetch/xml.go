package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

const (
	maxDepth  = 1000   // of elements; a feed has about ten
	MostItems = 20_000 // a feed has hundreds
)

// ResolveLink makes a link of a feed absolute, and drops what is none.
func ResolveLink(at *url.URL, ref string) string {
	ref = strings.TrimSpace(ref)
	u, err := url.Parse(ref)
	if ref == "" || err != nil || len(ref) > 4096 {
		return ""
	}
	if at != nil {
		u = at.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return u.String()
}

// CleanXML refuses what would make reading XML cost more than its size, and names
// the one encoding that the text has by now.
func CleanXML(text string) (string, error) {
	if rest, ok := strings.CutPrefix(text, "<?xml"); ok {
		if _, after, ok := strings.Cut(rest, "?>"); ok {
			text = `<?xml version="1.0" encoding="UTF-8"?>` + after
		}
	}
	if n := strings.Count(text, "<item") + strings.Count(text, "<entry"); n > MostItems {
		return "", fmt.Errorf("it has %d items, more than can be read here", n)
	}
	depth, most := 0, 0
	for i := strings.IndexByte(text, '<'); i >= 0; {
		rest := text[i:]
		end := ">"
		switch {
		case strings.HasPrefix(rest, "<!--"):
			end = "-->"
		case strings.HasPrefix(rest, "<![CDATA["):
			end = "]]>"
		case strings.HasPrefix(rest, "<?"):
			end = "?>"
		case strings.HasPrefix(rest, "<!"):
			decl, _, _ := strings.Cut(rest, ">")
			if strings.Contains(decl, "[") || strings.HasPrefix(strings.ToUpper(rest), "<!ENTITY") {
				return "", errors.New("it declares entities, which feeds do not need and attackers do; it is not read")
			}
		case strings.HasPrefix(rest, "</"):
			depth--
		default:
			depth++
		}
		n := strings.Index(rest, end)
		if n < 0 {
			break
		}
		if end == ">" && n > 0 && rest[n-1] == '/' && rest[1] != '/' {
			depth--
		}
		if most = max(most, depth); most > maxDepth {
			return "", fmt.Errorf("it nests elements deeper than %d; that is no feed", maxDepth)
		}
		next := strings.IndexByte(rest[n:], '<')
		if next < 0 {
			break
		}
		i += n + next
	}
	return text, nil
}
