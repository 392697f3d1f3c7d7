package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
)

// blogWorkflow writes a post in seven phases that are always the same: analyse,
// research, outline, expand, assemble, announce, publish. It is the agent
// blog's former workflow, kept to compare the two: see adroit run compare.
var blogWorkflow = agents.Define("blog_phases", blogPhases)

func blogPhases(sc *executor.Scope) error {
	var plan struct {
		Questions []string
		Words     int
		Topic     string
	}
	if err := do(sc, "analyze_prompt", args{"prompt": sc.Task.Prompt}); err != nil {
		return err
	}
	if _, err := sc.Value("analysis", &plan); err != nil {
		return err
	}

	// Research helps, but a post can be written without: what fails is noted
	// with the step and not the end.
	if sc.Has("web_search") {
		for _, q := range plan.Questions {
			if _, err := sc.Tool("web_search", args{"query": q}); err != nil {
				return err
			}
		}
	}

	if err := do(sc, "generate_outline", args{"topic": plan.Topic}); err != nil {
		return err
	}
	var outline struct{ Sections []struct{ Title string } }
	if _, err := sc.Value("outline", &outline); err != nil {
		return err
	}

	var calls []llm.Call
	for _, section := range outline.Sections {
		calls = append(calls, call("expand_section", args{"section": section.Title}))
	}
	replies, err := sc.Act(calls...) // at once: each is an artifact of its own
	if err != nil {
		return err
	}
	for i, reply := range replies {
		if reply.Failed {
			return fmt.Errorf("section %q: %s", outline.Sections[i].Title, reply.Text)
		}
	}

	if err := do(sc, "assemble_content", nil); err != nil {
		return err
	}
	if err := do(sc, "generate_social_posts", args{"networks": list(sc.Task, "networks", "mastodon", "x")}); err != nil {
		return err
	}
	for _, where := range list(sc.Task, "publish") {
		if err := do(sc, "publish_"+where, nil); err != nil {
			return err
		}
	}
	return nil
}

type args map[string]any

// do has one call performed that must succeed.
func do(sc *executor.Scope, tool string, a args) error {
	reply, err := sc.Tool(tool, a)
	if err == nil && reply.Failed {
		err = fmt.Errorf("%s: %s", tool, reply.Text)
	}
	return err
}

func call(tool string, a args) llm.Call {
	raw, err := json.Marshal(a)
	if err != nil {
		panic(err) // args are made of strings
	}
	return llm.Call{Name: tool, Args: raw}
}

// list is an input that is a list of words.
func list(t *executor.Task, name string, otherwise ...string) []string {
	var out []string
	if json.Unmarshal(t.Artifacts[name], &out) != nil || len(out) == 0 {
		return otherwise
	}
	return out
}

// podcastWorkflow makes an episode's files in phases that are always the same:
// transcribe, read, measure, note, mark chapters, finish the audio, announce,
// save. It is there to compare with the agent podcast: see adroit run compare.
var podcastWorkflow = agents.Define("podcast_phases", podcastPhases)

func podcastPhases(sc *executor.Scope) error {
	folder := cmp.Or(text(sc.Task.Artifacts["episode_folder"]), "episode")
	audio := text(sc.Task.Artifacts["audio_source"])
	given := text(sc.Task.Artifacts["transcript_source"]) != ""
	switch {
	case audio != "" && !sc.Has("probe_audio"):
		return errors.New("the recording cannot be read without ffmpeg; " + hint.Name("doctor") + " says what to install")
	case !given && !sc.Has("transcribe_audio"):
		return errors.New("there is no transcript, and no server for speech to text is configured (transcription.url): give -i transcript=@FILE")
	case !given:
		if err := do(sc, "transcribe_audio", args{}); err != nil {
			return err
		}
	}
	if err := do(sc, "process_transcript", args{}); err != nil {
		return err
	}
	if audio != "" {
		if err := do(sc, "probe_audio", args{}); err != nil {
			return err
		}
	}
	if err := do(sc, "write_show_notes", args{}); err != nil {
		return err
	}
	var notes struct {
		Title  string
		Topics []struct {
			Time *float64
			Text string
		}
	}
	if _, err := sc.Value("show_notes", &notes); err != nil {
		return err
	}

	// A chapter for each topic with a time: no model is asked where they begin.
	type chapter struct {
		Start float64 `json:"startTime"`
		Title string  `json:"title"`
	}
	var chapters []chapter
	for _, t := range notes.Topics {
		switch last := len(chapters) - 1; {
		case t.Time == nil:
		case last < 0 && *t.Time > 0:
			chapters = append(chapters, chapter{0, notes.Title}, chapter{*t.Time, t.Text})
		case last < 0 || *t.Time > chapters[last].Start:
			chapters = append(chapters, chapter{*t.Time, t.Text})
		}
	}
	if len(chapters) == 0 {
		chapters = []chapter{{0, notes.Title}}
	}
	if err := do(sc, "set_chapters", args{"chapters": chapters}); err != nil {
		return err
	}
	if audio != "" {
		if err := do(sc, "master_audio", args{"out": folder + "/episode.mp3", "title": notes.Title}); err != nil {
			return err
		}
	}
	if err := do(sc, "generate_social_posts", args{"networks": list(sc.Task, "networks", "mastodon", "x")}); err != nil {
		return err
	}
	return do(sc, "save_episode", args{"dir": folder})
}
