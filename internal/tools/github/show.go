package github

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Bounds of what is shown at once, in bytes and entries.
const (
	mostText  = 16_000 // of a result
	mostBody  = 6_000  // of an issue or a pull request
	mostSaid  = 1_200  // of a comment
	mostSays  = 15     // comments, the last
	mostFiles = 60
)

type user struct {
	Login string `json:"login"`
}

type label struct {
	Name string `json:"name"`
}

// An issue is also what pull requests are.
type issue struct {
	Number    int             `json:"number"`
	Title     string          `json:"title"`
	State     string          `json:"state"`
	Body      string          `json:"body"`
	URL       string          `json:"html_url"`
	User      user            `json:"user"`
	Labels    []label         `json:"labels"`
	Comments  int             `json:"comments"`
	Created   string          `json:"created_at"`
	Reason    string          `json:"state_reason"`
	PullAsked json.RawMessage `json:"pull_request"`
}

type comment struct {
	User    user   `json:"user"`
	Body    string `json:"body"`
	Created string `json:"created_at"`
	URL     string `json:"html_url"`
}

func (i issue) words() string {
	state := i.State
	if i.Reason != "" && i.State == "closed" {
		state += " (" + i.Reason + ")"
	}
	var labels []string
	for _, l := range i.Labels {
		labels = append(labels, l.Name)
	}
	text := fmt.Sprintf("#%d %s\n%s, by %s on %.10s", i.Number, line(i.Title), state, i.User.Login, i.Created)
	if labels != nil {
		text += ", labels " + strings.Join(labels, ", ")
	}
	return text + "\n" + i.URL + "\n"
}

// said lists the last comments.
func said(all []comment) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	from := max(0, len(all)-mostSays)
	fmt.Fprintf(&b, "\n%d comments", len(all))
	if from > 0 {
		fmt.Fprintf(&b, ", the last %d", mostSays)
	}
	b.WriteString(":\n")
	for _, c := range all[from:] {
		fmt.Fprintf(&b, "- %s on %.10s: %s\n", c.User.Login, c.Created, shown(c.Body, mostSaid))
	}
	return b.String()
}

// shown is a text of others, cut to n bytes, with nothing in it that a terminal
// would obey and without our marks.
func shown(s string, n int) string {
	s = strings.TrimSpace(rootfs.Visible(strings.ReplaceAll(marked.ReplaceAllString(s, ""), "\r\n", "\n")))
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n*2/3], "") + "\n[...]\n" + strings.ToValidUTF8(s[len(s)-n/3:], "")
}

func line(s string) string { return strings.Join(strings.Fields(shown(s, 300)), " ") }

// result shows text, and binds v as an artifact if name is not empty.
func result(text, summary, name string, v any) (tools.Result, error) {
	r := tools.Result{Text: shown(text, mostText) + "\n", Summary: summary}
	if name != "" {
		raw, err := json.Marshal(v)
		if err != nil {
			return r, tools.Fatal(err)
		}
		r.Artifacts = map[string]json.RawMessage{name: raw}
	}
	return r, nil
}
