package podcast

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

// embedInput is the input of embed_chapters.
type embedInput struct {
	Out string `json:"out,omitempty" jsonschema:"description=Default NAME-chapters"`
}

//go:embed embed_chapters.md
var embedProse string

// embedChaptersTool is the tool embed_chapters.
var embedChaptersTool = tools.New(tools.Metadata{
	Name: "embed_chapters", Category: tools.Content, Needs: tools.Read | tools.Write | tools.Exec, Effect: tools.Idempotent,
	Optionality: tools.Optional, Paths: []string{"out"}, Requires: []string{"ffmpeg"},
	Consumes: []string{chaptersName}, Uses: []string{audioSource, episodeName},
	Examples: []tools.Example{{Note: "the recording of the job", Args: json.RawMessage(`{}`)}},
	Timeout:  patience + 3*probing,
}.Prose(embedProse), embed)

// muxers are the formats that carry chapters, by extension.
var muxers = map[string]string{".mp3": "mp3", ".m4a": "ipod", ".m4b": "ipod", ".mp4": "mp4", ".mka": "matroska", ".mkv": "matroska"}

func embed(ctx context.Context, env *tools.Env, in embedInput) (tools.Result, error) {
	doc, ok := load[chapterList](env, chaptersName)
	if !ok {
		return tools.Result{}, errors.New("there are no chapters: call set_chapters first")
	}
	audio, err := ours(env)
	if err != nil {
		return tools.Result{}, err
	}
	ext := path.Ext(audio)
	out := cmp.Or(in.Out, strings.TrimSuffix(audio, ext)+"-chapters"+ext)
	format, ok := muxers[strings.ToLower(ext)]
	if !ok || !strings.EqualFold(path.Ext(out), ext) {
		return tools.Result{}, fmt.Errorf("chapters are copied into files of the same kind: .mp3, .m4a, .m4b, .mp4, .mka, .mkv; not from %q to %q", audio, out)
	}
	if path.Clean(out) == path.Clean(audio) {
		return tools.Result{}, errors.New("out is the recording itself; it stays as it is, choose another name")
	}
	m, err := probe(ctx, env, audio)
	if err != nil {
		return tools.Result{}, err
	}
	if m.Size > maxOutput*9/10 {
		return tools.Result{}, fmt.Errorf("%q has %d bytes; recordings of at most %d are rewritten", audio, m.Size, maxOutput*9/10)
	}
	if faults := doc.faults(m.Duration); faults != nil {
		return tools.Result{}, fmt.Errorf("the chapters do not fit %s:\n- %s", m.Path, strings.Join(faults, "\n- "))
	}
	want := doc.spans(m.Duration)
	args := slices.Concat([]string{"ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-loglevel", "warning", "-y"},
		guard(), []string{"-i", arg(env, audio), "-protocol_whitelist", "pipe", "-f", "ffmetadata", "-i", "pipe:0"},
		[]string{"-map", "0:a", "-map", "0:v?", "-map_metadata", "0", "-map_chapters", "1", "-c", "copy"})
	if format == "mp3" {
		args = append(args, "-id3v2_version", "3")
	}
	_, err = encode(ctx, env, out, false, process.Cmd{Args: args, Stdin: []byte(metadata(want))}, format, func(temp string) error {
		got, err := probe(ctx, env, temp)
		if err != nil {
			return err
		}
		if math.Abs(got.Duration-m.Duration) > 1 {
			return fmt.Errorf("the copy is %s seconds long, the recording %s; the recording may be broken", seconds(got.Duration), seconds(m.Duration))
		}
		return agree(want, got.Chapters)
	})
	if err != nil {
		return tools.Result{}, err
	}
	sum := fmt.Sprintf("%d chapters in %s", len(want), out)
	return tools.Result{Text: sum + ", read back with ffprobe", Summary: sum}, nil
}

// spans are the chapters with their ends filled in.
func (c chapterList) spans(long float64) []chapterMark {
	out := slices.Clone(c.Chapters)
	for i := range out {
		end := long
		if i+1 < len(out) {
			end = out[i+1].Start
		}
		if out[i].End == 0 || out[i].End > end {
			out[i].End = end
		}
	}
	return out
}

var escapeMeta = strings.NewReplacer(`\`, `\\`, "=", `\=`, ";", `\;`, "#", `\#`, "\n", "\\\n")

// metadata is chapters in the form that ffmpeg reads.
func metadata(list []chapterMark) string {
	var b strings.Builder
	b.WriteString(";FFMETADATA1\n")
	for _, c := range list {
		fmt.Fprintf(&b, "[CHAPTER]\nTIMEBASE=1/1000\nSTART=%d\nEND=%d\ntitle=%s\n",
			int64(math.Round(c.Start*1000)), int64(math.Round(c.End*1000)), escapeMeta.Replace(c.Title))
	}
	return b.String()
}

// agree compares what was to be written with what is read back.
func agree(want, got []chapterMark) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d chapters were written and %d read back", len(want), len(got))
	}
	for i, w := range want {
		if math.Abs(w.Start-got[i].Start) > 0.1 || w.Title != got[i].Title {
			return fmt.Errorf("chapter %d reads back as %q at %s, not %q at %s", i+1, got[i].Title, seconds(got[i].Start), w.Title, seconds(w.Start))
		}
	}
	return nil
}
