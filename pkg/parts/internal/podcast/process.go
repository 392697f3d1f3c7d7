package podcast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/tools"
)

// processInput is the input of process_transcript.
type processInput struct {
	Path    string                   `json:"path,omitempty" jsonschema:"description=Default the job's transcript"`
	Names   []transcript.SpeakerName `json:"names,omitempty" jsonschema:"maxItems=50,description=Names for speakers"`
	Fillers string                   `json:"drop_fillers,omitempty" jsonschema:"enum=en,enum=de,enum=fr,enum=es,enum=ja,description=Remove um and the like of this language"`
}

// processTranscriptTool is the tool process_transcript.
var processTranscriptTool = tools.New(tools.Metadata{
	Name: "process_transcript", Category: "content", Needs: tools.Read, Paths: []string{"path"},
	Uses: []string{transcriptSource}, Produces: []string{transcriptName},
	Examples: []tools.Example{{Note: "the transcript of the job", Args: json.RawMessage(`{}`)}},
}.ProseIn(descriptions), processTranscript)

func processTranscript(ctx context.Context, env *tools.Env, in processInput) (tools.Result, error) {
	b, err := transcriptBytes(env, in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	t, err := transcript.Parse(b)
	if err != nil {
		return tools.Result{}, err
	}
	if unknown := t.Rename(in.Names); unknown != nil {
		return tools.Result{}, fmt.Errorf("names: nobody is called %q; the speakers are %q", unknown, t.Speakers)
	}
	if in.Fillers != "" {
		n := t.DropFillers(in.Fillers)
		t.Repairs = append(t.Repairs, fmt.Sprintf("%d fillers removed", n))
		if len(t.Cues) == 0 {
			return tools.Result{}, errors.New("nothing but fillers is in the transcript; leave drop_fillers out")
		}
	}
	return bind(transcriptName, t, report(t), headline(t))
}

// transcriptBytes finds the transcript: a file, or what the job was given,
// which is the text itself or the name of a file.
func transcriptBytes(env *tools.Env, path string) ([]byte, error) {
	if path != "" {
		return env.Files.ReadFile(path)
	}
	given := source(env, transcriptSource)
	if given == "" {
		return nil, errors.New("the job was given no transcript: name a file with path, or call transcribe_audio if you have it")
	}
	if name := strings.TrimSpace(given); len(name) < 1024 && !strings.Contains(name, "\n") {
		if b, err := env.Files.ReadFile(name); err == nil {
			return b, nil
		} else if !strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("the transcript of the job cannot be read: %w", err)
		}
	}
	return []byte(given), nil
}

func headline(t transcript.Transcript) string {
	s := fmt.Sprintf("%s of %s", spelling.Plural(len(t.Cues), "cue"), t.Format)
	if t.Timed {
		s += ", " + transcript.Stamp(t.Duration) + " long"
	}
	return s
}

// report describes a new transcript to the model.
func report(t transcript.Transcript) string {
	var b strings.Builder
	b.WriteString(headline(t) + "\n")
	if len(t.Speakers) > 0 {
		fmt.Fprintf(&b, "speakers: %s\n", strings.Join(t.Speakers[:min(len(t.Speakers), 20)], ", "))
	}
	if !t.Timed {
		b.WriteString("It has no times: chapters and clips must be found without it.\n")
	}
	for _, r := range t.Repairs {
		b.WriteString("repaired: " + r + "\n")
	}
	b.WriteString("\n")
	writePart(t, &b, 0, firstPart)
	return b.String()
}

// How much of a transcript is shown at once, in bytes.
const (
	firstPart = 8_000
	onePart   = 16_000
)

// readInput is the input of read_transcript.
type readInput struct {
	From float64 `json:"from,omitempty" jsonschema:"description=Seconds; without times the number of a paragraph"`
}

// readTranscriptTool is the tool read_transcript.
var readTranscriptTool = tools.New(tools.Metadata{
	Name: "read_transcript", Category: "content", Effect: tools.Pure,
	Consumes: []string{transcriptName},
	Examples: []tools.Example{{Note: "from the tenth minute on", Args: json.RawMessage(`{"from":600}`)}},
}.ProseIn(descriptions), read)

func read(ctx context.Context, env *tools.Env, in readInput) (string, error) {
	t, ok := load[transcript.Transcript](env, transcriptName)
	if !ok {
		return "", errors.New("there is no transcript: call process_transcript first")
	}
	var b strings.Builder
	writePart(t, &b, in.From, onePart)
	return b.String(), ctx.Err()
}

// write renders the transcript from a time on, one paragraph per speaker and
// half minute, and reports where to continue if it exceeds room bytes.
func writePart(t transcript.Transcript, b *strings.Builder, from float64, room int) {
	if t.Timed {
		b.WriteString("[seconds] speaker: text\n")
	}
	start := b.Len()
	for i := 0; i < len(t.Cues); {
		q := t.Cues[i]
		place := q.Start
		if !t.Timed {
			place = float64(i + 1)
		}
		j := i + 1
		if t.Timed {
			for j < len(t.Cues) && t.Cues[j].Speaker == q.Speaker && t.Cues[j].Start < q.Start+30 {
				j++
			}
		}
		last := t.Cues[j-1].End
		if !t.Timed {
			last = place
		}
		if last < from || place < from && !t.Timed {
			i = j
			continue
		}
		if b.Len()-start > room {
			fmt.Fprintf(b, "[there is more: read_transcript from %s]\n", transcript.Seconds(place))
			return
		}
		fmt.Fprintf(b, "[%s] ", transcript.Seconds(place))
		if q.Speaker != "" {
			b.WriteString(q.Speaker + ": ")
		}
		for k := i; k < j; k++ {
			if k > i {
				b.WriteByte(' ')
			}
			b.WriteString(t.Cues[k].Text)
		}
		b.WriteByte('\n')
		i = j
	}
	if b.Len() == start {
		b.WriteString("nothing is said there\n")
	}
}
