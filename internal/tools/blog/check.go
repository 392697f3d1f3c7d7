package blog

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/tools/internal/outputs"
	"github.com/adroit-run/adroit/internal/tools/internal/site"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed check_post.md
var checkProse string

// checkInput is the input of check_post.
type checkInput struct {
	Of string `json:"of,omitempty" jsonschema:"enum=content,description=content: the post itself; default: the saved files too"`
}

// CheckPost is the tool check_post, made to be a completion check.
var CheckPost = tools.New(tools.Metadata{
	Name: "check_post", Category: "content", Needs: tools.Read, Effect: tools.Pure, Optionality: tools.Optional,
	Uses:     []string{"content", "citations", outputs.FigureFamily, ownFigures, "social", "published", savedName, folderName},
	Proves:   "the post has its sources and images, and its files are there",
	Examples: []tools.Example{{Note: "all of it", Args: json.RawMessage(`{}`)}},
}.Prose(checkProse), func(_ context.Context, env *tools.Env, in checkInput) (tools.Result, error) {
	text := content(env)
	if text == "" {
		return tools.Result{}, errors.New("there is no content yet: write it with write_content or assemble_content")
	}
	own, _ := artifact[[]string](env, ownFigures)
	d := draft{text: text, own: own}
	var faults []string
	if _, dangling := d.sources(env); len(dangling) > 0 {
		faults = append(faults, fmt.Sprintf("these references have no source: %s. Cite it, then make the post again", strings.Join(dangling, ", ")))
	}
	if len(read(text).numbers()) > 0 && !sourceList.MatchString(text+"\n") {
		faults = append(faults, "the list of sources is missing: make the post again with write_content or assemble_content")
	}
	faults = append(faults, imageFaults(env, read(text).images)...)
	var made []string
	if in.Of == "" {
		list, old, err := inventory(env)
		if err != nil {
			return tools.Result{}, err
		}
		made, faults = list, append(faults, old...)
	}
	if faults != nil {
		return tools.Result{}, fmt.Errorf("the post is not ready:\n- %s", strings.Join(faults, "\n- "))
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	lines := append([]string{fmt.Sprintf("%q, %s", clipped(title), spelling.Plural(words(text), "word"))}, made...)
	d.text = strings.TrimSpace(sourceList.ReplaceAllString(text+"\n", ""))
	if doubtful := d.unsourced(env); len(doubtful) > 0 {
		lines = append(lines, "no source backs "+clip(doubtful, 20))
	}
	return tools.Result{Text: strings.Join(lines, "\n"), Summary: strings.Join(lines, "; ")}, nil
})

// clipped is a title for a line.
func clipped(s string) string {
	if r := []rune(oneLine(s)); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return oneLine(s)
}

// imageFaults is what is wrong with the images of a post.
func imageFaults(env *tools.Env, images []postImage) []string {
	var faults []string
	s := site.Open(env.Files.FS(), site.Settings{})
	for _, i := range images {
		if i.alt == "" {
			faults = append(faults, fmt.Sprintf("the image %s has no description: write ![what it shows](%s)", i.target, i.target))
		}
		if err := s.CheckImage(i.target); err != nil {
			faults = append(faults, err.Error())
		}
	}
	return faults
}
