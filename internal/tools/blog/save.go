package blog

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/tools/internal/outputs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// saveInput is the input of save_post.
type saveInput struct {
	Dir string `json:"dir" jsonschema:"minLength=1,description=Folder in the workspace"`
}

// Names of artifacts: the files that were saved, and the folder that the user
// wants them in.
const (
	savedName  = "post_files"
	folderName = "post_folder"
)

// postFile is the name of the post in the folder.
const postFile = "post.md"

//go:embed save_post.md
var saveProse string

// Save is the tool save_post.
var Save = func() tools.Tool {
	t := tools.New(tools.Metadata{
		Name: "save_post", Category: "content", Needs: tools.Read | tools.Write, Effect: tools.Idempotent, Optionality: tools.Optional,
		Paths: []string{"dir"}, Consumes: []string{"content"}, Uses: []string{"social", "published"}, Produces: []string{savedName, "social"},
		Examples: []tools.Example{{Note: "all there is", Args: json.RawMessage(`{"dir":"drafts/journals"}`)}},
	}.Prose(saveProse), savePost)
	t.Touches = func(args json.RawMessage) []string {
		var in saveInput
		if json.Unmarshal(args, &in) != nil || in.Dir == "" {
			return nil
		}
		return []string{path.Join(in.Dir, postFile), path.Join(in.Dir, outputs.SocialFile)}
	}
	return t
}()

// rendered is what save_post writes, and the announcements with the address of
// the post.
func rendered(env *tools.Env) ([]outputs.Rendered, announcementList, error) {
	var files []outputs.Rendered
	if text := content(env); text != "" {
		files = append(files, outputs.Rendered{Name: postFile, Data: []byte(text + "\n")})
	}
	social, ok := artifact[announcementList](env, "social")
	if !ok || len(social.Posts) == 0 {
		return files, social, nil
	}
	var posts []outputs.Post
	for i := range social.Posts {
		p := &social.Posts[i]
		var err error
		if p.Text, err = addressed(*p, publishedAt(env)); err != nil {
			return nil, social, err
		}
		posts = append(posts, outputs.Post(*p))
	}
	return append(files, outputs.Social(posts)), social, nil
}

// addressed is the text of an announcement with the address of the post.
func addressed(p announcement, at string) (string, error) {
	text := strings.TrimSpace(p.Text)
	n, ok := lookup(p.Network)
	if at == "" || strings.Contains(text, at) || !ok {
		return text, nil
	}
	if text = n.cut(text+"\n\n"+at, at); !n.fits(text) {
		return "", fmt.Errorf("the address %s alone is longer than %s allows", at, p.Network)
	}
	return text, nil
}

func savePost(_ context.Context, env *tools.Env, in saveInput) (tools.Result, error) {
	files, social, err := rendered(env)
	if err != nil {
		return tools.Result{}, err
	}
	if len(files) == 0 {
		return tools.Result{}, errors.New("there is nothing to save yet: write the post first")
	}
	saved, text, err := outputs.Write(env.Files, in.Dir, files)
	if err != nil {
		return tools.Result{}, err
	}
	r, err := result(text, savedName, saved)
	r.Summary = fmt.Sprintf("%s in %s", spelling.Plural(len(saved), "file"), in.Dir)
	if err == nil && len(social.Posts) > 0 {
		r.Artifacts["social"], err = jsontext.Marshal(social)
	}
	return r, err
}

// inventory lists the files that the job made, and what is wrong with them.
func inventory(env *tools.Env) (made, faults []string, err error) {
	files, _, err := rendered(env)
	if err != nil {
		return nil, nil, err
	}
	saved, _ := artifact[[]outputs.File](env, savedName)
	made, faults = outputs.Check(env.Files, saved, files, "save_post")
	if folder, _ := artifact[string](env, folderName); folder != "" && len(saved) == 0 {
		faults = append(faults, fmt.Sprintf("the user wants the files in %s: call save_post", folder))
	}
	if p, ok := artifact[struct{ At, URL string }](env, "published"); ok {
		made = append(made, "published: "+cmp.Or(p.URL, p.At))
	}
	return made, faults, nil
}
