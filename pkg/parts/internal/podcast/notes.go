package podcast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/outputs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// showNotes is the artifact "show_notes".
type showNotes struct {
	Title   string      `json:"title,omitempty" jsonschema:"description=Of the episode"`
	Summary string      `json:"summary" jsonschema:"description=Two to five sentences"`
	Topics  []noteTopic `json:"topics" jsonschema:"minItems=1,description=In order"`
	Links   []noteLink  `json:"links,omitempty" jsonschema:"description=What was named"`
	Guests  []noteGuest `json:"guests,omitempty" jsonschema:"description=Who is there besides the hosts"`
	// Unverified lists the figures that the transcript does not contain.
	Unverified []string `json:"unverified,omitempty" jsonschema:"-"`
}

// A noteTopic is something that is talked about.
type noteTopic struct {
	Time *float64 `json:"time,omitempty" jsonschema:"description=Seconds"`
	Text string   `json:"text" jsonschema:"description=One line"`
}

// A noteLink leads to something that was named.
type noteLink struct {
	Title string `json:"title" jsonschema:"description=One line"`
	URL   string `json:"url" jsonschema:"description=http or https"`
}

// A noteGuest is a person in the episode.
type noteGuest struct {
	Name string `json:"name" jsonschema:"description=As in the transcript"`
	Role string `json:"role,omitempty" jsonschema:"description=One line"`
}

// tally counts what the notes list.
func (n *showNotes) tally() string {
	return spelling.Plural(len(n.Topics), "topic") + ", " + spelling.Plural(len(n.Links), "link") + ", " + spelling.Plural(len(n.Guests), "guest")
}

// notesInput is the input of set_show_notes.
type notesInput struct {
	showNotes
	Path string `json:"path,omitempty" jsonschema:"description=File to write"`
}

// setShowNotesTool is the tool set_show_notes.
var setShowNotesTool = tools.New(tools.Metadata{
	Name: "set_show_notes", Category: "content", Needs: tools.Read | tools.Write, Effect: tools.Idempotent,
	Paths: []string{"path"}, Uses: []string{episodeName, transcriptName}, Produces: []string{notesName, contentName},
	Examples: []tools.Example{{Note: "notes with one topic", Args: json.RawMessage(`{"title":"Rye","summary":"Ann and Ben bake bread with rye and talk about what went wrong.","topics":[{"time":0,"text":"Why rye dough sticks"}],"guests":[{"name":"Ben"}]}`)}},
}.ProseIn(descriptions), func(_ context.Context, env *tools.Env, in notesInput) (tools.Result, error) {
	n := in.showNotes
	n.tidy()
	faults := n.faults()
	if m, ok := load[mediaInfo](env, episodeName); ok {
		faults = append(faults, n.lateTopics(m.Duration)...)
	} else if t, ok := load[transcript.Transcript](env, transcriptName); ok && t.Timed {
		faults = append(faults, n.lateTopics(t.Duration)...)
	}
	if faults != nil {
		return tools.Result{}, fmt.Errorf("no show notes were set:\n- %s", strings.Join(faults, "\n- "))
	}
	t, _ := load[transcript.Transcript](env, transcriptName)
	n.Unverified = n.unverified(t)
	text := n.Markdown()
	if len(text) > workable {
		return tools.Result{}, errors.New("the show notes are too long to be read; shorten them")
	}
	if in.Path != "" {
		if err := env.Files.WriteFile(in.Path, []byte(text)); err != nil {
			return tools.Result{}, err
		}
	}
	sum := n.tally()
	report := "Show notes set: " + sum
	if in.Path != "" {
		report += "; written to " + in.Path
	}
	return n.result(report+n.warning(), sum)
})

// result binds the notes, and their text as the content that announcements and
// publishing tools use.
func (n showNotes) result(text, summary string) (tools.Result, error) {
	r, err := bind(notesName, n, text, summary)
	if err != nil {
		return r, err
	}
	r.Artifacts[contentName], err = jsontext.Marshal(n.Markdown())
	return r, tools.Fatal(err)
}

// workable bounds show notes, in bytes: feeds and players cut longer ones.
const workable = 100_000

// tidy takes out what cannot be printed and makes one line of what is one.
func (n *showNotes) tidy() {
	n.Title, n.Summary = oneLine(n.Title), strings.TrimSpace(transcript.Printable(n.Summary))
	for i := range n.Topics {
		n.Topics[i].Text = oneLine(n.Topics[i].Text)
	}
	for i := range n.Links {
		n.Links[i].Title = oneLine(n.Links[i].Title)
	}
	for i := range n.Guests {
		n.Guests[i].Name, n.Guests[i].Role = oneLine(n.Guests[i].Name), oneLine(n.Guests[i].Role)
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(transcript.Printable(s)), " ") }

func (n showNotes) faults() []string {
	var out []string
	if len(n.Summary) < 20 {
		out = append(out, "summary: say in a few sentences what the episode is about")
	}
	last := -1.0
	for i, t := range n.Topics {
		if t.Text == "" {
			out = append(out, fmt.Sprintf("topics/%d: there is no text", i))
		}
		if t.Time == nil {
			continue
		}
		if *t.Time < last {
			out = append(out, fmt.Sprintf("topics/%d: %s is before the one before (%s)", i, transcript.Seconds(*t.Time), transcript.Seconds(last)))
		}
		last = *t.Time
	}
	for i, l := range n.Links {
		if !web(l.URL) || l.Title == "" {
			out = append(out, fmt.Sprintf("links/%d: it needs a title, and %q has to be an http or https address", i, l.URL))
		}
	}
	for i, g := range n.Guests {
		if g.Name == "" {
			out = append(out, fmt.Sprintf("guests/%d: it needs a name", i))
		}
	}
	return out
}

// lateTopics reports the topics after the end of an episode of so many seconds.
func (n showNotes) lateTopics(long float64) []string {
	var out []string
	for i, t := range n.Topics {
		if t.Time != nil && (!transcript.Sane(*t.Time) || *t.Time >= long) {
			out = append(out, fmt.Sprintf("show_notes/topics/%d: %s is after the end of the episode (%s)", i, transcript.Seconds(*t.Time), transcript.Seconds(long)))
		}
	}
	return out
}

// Markdown is the notes as a page.
func (n showNotes) Markdown() string {
	esc := transcript.EscapeMarkdown.Replace
	var b strings.Builder
	if n.Title != "" {
		fmt.Fprintf(&b, "# %s\n\n", esc(n.Title))
	}
	b.WriteString(strings.ReplaceAll(n.marked(n.Summary), "<", `\<`) + "\n\n## Topics\n\n")
	for _, t := range n.Topics {
		b.WriteString("* ")
		if t.Time != nil {
			b.WriteString(transcript.Stamp(*t.Time) + " ")
		}
		b.WriteString(esc(n.marked(t.Text)) + "\n")
	}
	if len(n.Guests) > 0 {
		b.WriteString("\n## Guests\n\n")
	}
	for _, g := range n.Guests {
		name := esc(g.Name)
		if g.Role != "" {
			name += ", " + esc(g.Role)
		}
		b.WriteString("* " + name + "\n")
	}
	if len(n.Links) > 0 {
		b.WriteString("\n## Links\n\n")
	}
	for _, l := range n.Links {
		fmt.Fprintf(&b, "* [%s](<%s>)\n", esc(l.Title), l.URL)
	}
	return b.String()
}

// unverified lists the figures of the notes that are not in the transcript,
// as digits or in English words.
func (n showNotes) unverified(t transcript.Transcript) []string {
	inTranscript := map[string]bool{}
	for _, q := range t.Cues {
		outputs.AddFigures(q.Text, inTranscript)
	}
	texts := []string{n.Summary}
	for _, topic := range n.Topics {
		texts = append(texts, topic.Text)
	}
	var out []string
	for _, text := range texts {
		for _, m := range outputs.FigurePattern.FindAllStringSubmatch(text, -1) {
			if m[3] == "" && !inTranscript[outputs.PlainFigure(m[2])] && !slices.Contains(out, m[2]) {
				out = append(out, m[2])
			}
		}
	}
	return out
}

// marked puts a mark behind the figures that are not verified.
func (n showNotes) marked(s string) string {
	if len(n.Unverified) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, m := range outputs.FigurePattern.Regexp().FindAllStringSubmatchIndex(s, -1) {
		if m[6] != m[7] || !slices.Contains(n.Unverified, s[m[4]:m[5]]) {
			continue
		}
		end := m[5] + len(outputs.FigureUnit.FindString(s[m[5]:]))
		b.WriteString(s[at:end] + " (unverified)")
		at = end
	}
	return b.String() + s[at:]
}

// warning names the marked figures to the model, "" if there are none.
func (n showNotes) warning() string {
	if len(n.Unverified) == 0 {
		return ""
	}
	return fmt.Sprintf("\nNot in the transcript, so marked as unverified: %s. Correct these figures or leave them out.", strings.Join(n.Unverified, "; "))
}
