package podcast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A chapterMark of an episode, as the podcast namespace's JSON chapters have it.
// Times are seconds.
type chapterMark struct {
	Start float64 `json:"startTime" jsonschema:"description=Seconds"`
	End   float64 `json:"endTime,omitempty" jsonschema:"-"` // of a recording that was probed
	Title string  `json:"title" jsonschema:"description=One line"`
	URL   string  `json:"url,omitempty" jsonschema:"description=Page about it"`
}

// chapterList is the artifact "chapters": what the file of chapters holds.
type chapterList struct {
	Version  string        `json:"version"`
	Chapters []chapterMark `json:"chapters"`
}

const (
	chaptersVersion = "1.2.0"
	maxChapters     = 500
)

// chaptersInput is the input of set_chapters.
type chaptersInput struct {
	Chapters []chapterMark `json:"chapters" jsonschema:"description=All of them in order"`
	Path     string        `json:"path,omitempty" jsonschema:"description=File to write"`
}

// setChaptersTool is the tool set_chapters.
var setChaptersTool = tools.New(tools.Metadata{
	Name: "set_chapters", Category: "content", Needs: tools.Read | tools.Write | tools.Exec, Effect: tools.Idempotent,
	Paths: []string{"path"}, Uses: []string{audioSource, episodeName, transcriptName}, Produces: []string{chaptersName},
	Examples: []tools.Example{{Note: "two chapters", Args: json.RawMessage(`{"chapters":[{"startTime":0,"title":"Welcome"},{"startTime":62.5,"title":"How bread rises"}],"path":"chapters.json"}`)}},
	Timeout:  2 * probing,
}.ProseIn(descriptions), setChapters)

func setChapters(ctx context.Context, env *tools.Env, in chaptersInput) (tools.Result, error) {
	long, err := length(ctx, env)
	if err != nil {
		return tools.Result{}, err
	}
	doc := chapterList{Version: chaptersVersion, Chapters: in.Chapters}
	if faults := doc.faults(long.seconds); faults != nil {
		return tools.Result{}, fmt.Errorf("no chapters were set, the episode is %s seconds long (%s):\n- %s", transcript.Seconds(long.seconds), long.from, strings.Join(faults, "\n- "))
	}
	if in.Path != "" {
		b, err := doc.file()
		if err != nil {
			return tools.Result{}, err
		}
		if err := env.Files.WriteFile(in.Path, b); err != nil {
			return tools.Result{}, err
		}
	}
	sum := fmt.Sprintf("%d chapters within %s", len(doc.Chapters), transcript.Stamp(long.seconds))
	text := sum + ", measured from " + long.from
	if in.Path != "" {
		text += "; written to " + in.Path
	}
	return bind(chaptersName, doc, text, sum)
}

// file is the chapters as the podcast namespace's JSON.
func (c chapterList) file() ([]byte, error) {
	b, err := json.MarshalIndent(c, "", "  ")
	return append(b, '\n'), tools.Fatal(err)
}

// faults lists what is wrong with chapters of an episode of so many seconds.
func (c chapterList) faults(long float64) []string {
	var out []string
	bad := func(i int, format string, a ...any) {
		if len(out) < 20 {
			out = append(out, fmt.Sprintf("chapters/%d: ", i)+fmt.Sprintf(format, a...))
		}
	}
	if n := len(c.Chapters); n == 0 || n > maxChapters {
		return []string{fmt.Sprintf("there are %d chapters; 1 to %d can be set", n, maxChapters)}
	}
	for i, ch := range c.Chapters {
		switch {
		case !transcript.Sane(ch.Start) || !transcript.Sane(ch.End):
			bad(i, "a time of %s to %s cannot be", transcript.Seconds(ch.Start), transcript.Seconds(ch.End))
		case i == 0 && ch.Start != 0:
			bad(i, "the first chapter begins at %s; it has to begin at 0", transcript.Seconds(ch.Start))
		case i > 0 && ch.Start <= c.Chapters[i-1].Start:
			bad(i, "it begins at %s, which is not after the one before (%s)", transcript.Seconds(ch.Start), transcript.Seconds(c.Chapters[i-1].Start))
		case ch.Start >= long:
			bad(i, "it begins at %s, after the end of the episode", transcript.Seconds(ch.Start))
		case ch.End != 0 && (ch.End <= ch.Start || ch.End > long+0.5):
			bad(i, "it ends at %s; that has to be after %s and not after the end of the episode", transcript.Seconds(ch.End), transcript.Seconds(ch.Start))
		}
		if t := strings.TrimSpace(ch.Title); t == "" || t != transcript.Printable(ch.Title) || strings.Contains(t, "\n") || len(t) > 800 {
			bad(i, "the title has to be one line of ordinary text without spaces around it")
		}
		if ch.URL != "" && !web(ch.URL) {
			bad(i, "%q is no http or https address", ch.URL)
		}
	}
	return out
}

// web reports whether s is an address that a player may open.
func web(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && len(s) < 2000 && s == transcript.Printable(s) && !strings.ContainsAny(s, "<>\"` ")
}

// A measure is the length of the episode and the source of the figure.
type measure struct {
	seconds float64
	from    string
}

// length measures the episode: its recording if there is one, else what is
// known of one, else the transcript. A recording that cannot be measured is an
// error, so that no one gets round it.
func length(ctx context.Context, env *tools.Env) (measure, error) {
	if name := source(env, audioSource); name != "" {
		m, err := probe(ctx, env, name)
		return measure{m.Duration, "the recording " + m.Path}, err
	}
	if m, ok := load[mediaInfo](env, episodeName); ok && m.Duration > 0 {
		return measure{m.Duration, "the recording " + m.Path}, nil
	}
	if t, ok := load[transcript.Transcript](env, transcriptName); ok && t.Timed && t.Duration > 0 {
		return measure{t.Duration, "the transcript"}, nil
	}
	return measure{}, errors.New("the length of the episode is not known: call probe_audio on its recording, or process a transcript with times first")
}
