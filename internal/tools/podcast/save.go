package podcast

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"path"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/tools/internal/outputs"
	"github.com/adroit-run/adroit/internal/tools/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/tools"
)

// saveInput is the input of save_episode.
type saveInput struct {
	Dir string `json:"dir" jsonschema:"minLength=1,description=Folder in the workspace"`
}

// savedName is the artifact that lists what save_episode wrote.
const savedName = "episode_files"

//go:embed save_episode.md
var saveProse string

// saveEpisodeTool is the tool save_episode.
var saveEpisodeTool = func() tools.Tool {
	t := tools.New(tools.Metadata{
		Name: "save_episode", Category: "content", Needs: tools.Read | tools.Write, Effect: tools.Idempotent, Paths: []string{"dir"},
		Uses: []string{transcriptName, notesName, chaptersName, socialName}, Produces: []string{savedName},
		Examples: []tools.Example{{Note: "all there is", Args: json.RawMessage(`{"dir":"episodes/12"}`)}},
	}.Prose(saveProse), saveEpisode)
	t.Touches = func(args json.RawMessage) []string {
		var in saveInput
		if json.Unmarshal(args, &in) != nil || in.Dir == "" {
			return nil
		}
		out := []string{path.Join(in.Dir, notesFile), path.Join(in.Dir, chaptersFile), path.Join(in.Dir, outputs.SocialFile)}
		for _, f := range transcript.Formats {
			out = append(out, path.Join(in.Dir, "transcript"+f.Ext))
		}
		return out
	}
	return t
}()

// Names of the files in the folder; the transcripts are transcript.vtt and so on.
const (
	notesFile    = "notes.md"
	chaptersFile = "chapters.json"
)

// socialName is the artifact of generate_social_posts.
const socialName = "social"

// socialPosts is the part of the artifact social that is saved.
type socialPosts struct {
	Posts []outputs.Post `json:"posts"`
}

func saveEpisode(_ context.Context, env *tools.Env, in saveInput) (tools.Result, error) {
	files, notes, err := episodeFiles(env)
	if err != nil {
		return tools.Result{}, err
	}
	if len(files) == 0 {
		return tools.Result{}, errors.New("there is nothing to save yet: process the transcript, or set notes or chapters first")
	}
	saved, text, err := outputs.Write(env.Files, in.Dir, files)
	if err != nil {
		return tools.Result{}, err
	}
	for _, n := range notes {
		text += n + "\n"
	}
	return bind(savedName, saved, text, spelling.Plural(len(saved), "file")+" in "+in.Dir)
}

// episodeFiles renders everything that exists so far, with notes on what could
// not be rendered.
func episodeFiles(env *tools.Env) (files []outputs.Rendered, notes []string, err error) {
	add := func(name string, data []byte) { files = append(files, outputs.Rendered{Name: name, Data: data}) }
	n, ok := load[showNotes](env, notesName)
	if ok {
		add(notesFile, []byte(n.Markdown()))
	}
	if c, ok := load[chapterList](env, chaptersName); ok {
		b, err := c.file()
		if err != nil {
			return nil, nil, err
		}
		add(chaptersFile, b)
	}
	if t, ok := load[transcript.Transcript](env, transcriptName); ok {
		for _, f := range transcript.Formats {
			if f.Timed && !t.Timed {
				notes = append(notes, "transcript"+f.Ext+" was not written: the transcript has no times")
				continue
			}
			b, err := f.Write(t, n.Title)
			if err != nil {
				return nil, nil, tools.Fatal(err)
			}
			add("transcript"+f.Ext, b)
		}
	}
	if s, ok := load[socialPosts](env, socialName); ok && len(s.Posts) > 0 {
		for i := range s.Posts {
			s.Posts[i].Text = transcript.Printable(s.Posts[i].Text)
		}
		files = append(files, outputs.Social(s.Posts))
	}
	return files, notes, nil
}
