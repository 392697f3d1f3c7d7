package podcast

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/tools/internal/outputs"
	"github.com/adroit-run/adroit/internal/tools/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed check_episode.md
var checkProse string

// checkEpisodeTool is the tool check_episode, made to be a completion check.
var checkEpisodeTool = tools.New(tools.Metadata{
	Name: "check_episode", Category: "content", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, Optionality: tools.Optional,
	Consumes: []string{chaptersName}, Uses: []string{audioSource, episodeName, transcriptName, notesName, socialName, savedName, clipsName, masterName, feedName, feedWanted},
	Proves:   "the chapters fit the episode and its files are there",
	Examples: []tools.Example{{Note: "all of it", Args: json.RawMessage(`{}`)}},
	Timeout:  2 * probing,
}.Prose(checkProse), checkEpisode)

func checkEpisode(ctx context.Context, env *tools.Env, _ struct{}) (tools.Result, error) {
	doc, ok := load[chapterList](env, chaptersName)
	if !ok {
		return tools.Result{}, errors.New("there are no chapters: call set_chapters")
	}
	long, err := length(ctx, env)
	if err != nil {
		return tools.Result{}, err
	}
	faults := doc.faults(long.seconds)
	n, _ := load[showNotes](env, notesName)
	faults = append(faults, n.late(long.seconds)...)
	made, old, err := inventory(env)
	if err != nil {
		return tools.Result{}, err
	}
	if faults = append(faults, old...); faults != nil {
		return tools.Result{}, fmt.Errorf("the episode is %s seconds long (%s):\n- %s", transcript.Seconds(long.seconds), long.from, strings.Join(faults, "\n- "))
	}
	text := fmt.Sprintf("%d chapters lie within the %s of %s", len(doc.Chapters), transcript.Stamp(long.seconds), long.from)
	if len(made) > 0 {
		text += "\n" + strings.Join(made, "\n")
	}
	if len(n.Unverified) > 0 {
		text += "\nmarked as unverified in the notes: " + strings.Join(n.Unverified, "; ")
	}
	sum := fmt.Sprintf("%d chapters within %s", len(doc.Chapters), transcript.Stamp(long.seconds))
	if len(made) > 0 {
		sum = brief(made)
	}
	return tools.Result{Text: text, Summary: sum}, nil
}

// inventory lists the files that the job made, and what is wrong with them.
func inventory(env *tools.Env) (made, faults []string, err error) {
	rendered, _, err := episodeFiles(env)
	if err != nil {
		return nil, nil, err
	}
	saved, _ := load[[]outputs.File](env, savedName)
	made, faults = outputs.Check(env.Files, saved, rendered, "save_episode")
	there := func(name, note string) {
		if _, err := env.Files.Stat(name); err != nil {
			faults = append(faults, fmt.Sprintf("%s is gone: %v", name, err))
			return
		}
		made = append(made, name+note)
	}
	if m, ok := load[masterFile](env, masterName); ok {
		there(m.Path, fmt.Sprintf(" (%.1f LUFS)", m.LUFS))
	}
	clips, _ := load[[]audioClip](env, clipsName)
	for _, c := range clips {
		there(c.Path, "")
	}
	switch f, ok := load[entryState](env, feedName); {
	case ok && f.Refused != "":
		faults = append(faults, fmt.Sprintf("the entry of %s was refused, so it is not there: %s. Call feed_entry again", f.Feed, f.Refused))
	case ok:
		there(f.Feed, "")
	case source(env, feedWanted) != "":
		faults = append(faults, fmt.Sprintf("the user wants an entry in %s: call feed_entry", source(env, feedWanted)))
	}
	return made, faults, nil
}

// brief lists files in a line: by folder, and by name where only the extension
// differs.
func brief(files []string) string {
	var b strings.Builder
	dir, stem := "", ""
	for i, f := range files {
		d, name := path.Split(f)
		s, ext, _ := strings.Cut(name, ".")
		switch {
		case i > 0 && d == dir && s == stem:
			b.WriteString(" ." + ext)
			continue
		case i > 0 && d == dir:
			b.WriteString(", ")
		case i > 0:
			b.WriteString("; ")
		}
		if d != dir && d != "" {
			b.WriteString(d + ": ")
		}
		b.WriteString(name)
		dir, stem = d, s
	}
	return b.String()
}
