package blog

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/jsontext"
	"github.com/adroit-run/adroit/internal/spelling"
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

// Names of the files in the folder.
const (
	postFile   = "post.md"
	socialFile = "social.md"
)

//go:embed save_post.md
var saveProse string

// Save is the tool save_post.
var Save = func() tools.Tool {
	t := tools.New(tools.Metadata{
		Name: "save_post", Category: tools.Content, Needs: tools.Read | tools.Write, Effect: tools.Idempotent, Optionality: tools.Optional,
		Paths: []string{"dir"}, Consumes: []string{"content"}, Uses: []string{"social", "published"}, Produces: []string{savedName, "social"},
		Examples: []tools.Example{{Note: "all there is", Args: json.RawMessage(`{"dir":"drafts/journals"}`)}},
	}.Prose(saveProse), savePost)
	t.Touches = func(args json.RawMessage) []string {
		var in saveInput
		if json.Unmarshal(args, &in) != nil || in.Dir == "" {
			return nil
		}
		return []string{path.Join(in.Dir, postFile), path.Join(in.Dir, socialFile)}
	}
	return t
}()

// A savedFile is a file that save_post wrote.
type savedFile struct {
	Path string `json:"path"`
	Size int    `json:"size"` // bytes
}

// A renderedFile is a file as it should be.
type renderedFile struct {
	name string
	data []byte
}

// rendered is what save_post writes, and the announcements with the address of
// the post.
func rendered(env *tools.Env) ([]renderedFile, announcementList, error) {
	var files []renderedFile
	if text := content(env); text != "" {
		files = append(files, renderedFile{postFile, []byte(text + "\n")})
	}
	social, ok := artifact[announcementList](env, "social")
	if !ok || len(social.Posts) == 0 {
		return files, social, nil
	}
	var b strings.Builder
	b.WriteString("# Social posts\n")
	for i := range social.Posts {
		p := &social.Posts[i]
		var err error
		if p.Text, err = addressed(*p, publishedAt(env)); err != nil {
			return nil, social, err
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", oneLine(p.Network), strings.TrimSpace(p.Text))
	}
	return append(files, renderedFile{socialFile, []byte(b.String())}), social, nil
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

// publishedAt is the public address of the post, "" if it has none yet.
func publishedAt(env *tools.Env) string {
	p, _ := artifact[struct {
		URL string `json:"url"`
	}](env, "published")
	return p.URL
}

func savePost(_ context.Context, env *tools.Env, in saveInput) (tools.Result, error) {
	files, social, err := rendered(env)
	if err != nil {
		return tools.Result{}, err
	}
	if len(files) == 0 {
		return tools.Result{}, errors.New("there is nothing to save yet: write the post first")
	}
	var saved []savedFile
	var lines strings.Builder
	for _, f := range files {
		name := path.Join(in.Dir, f.name)
		if err := env.Files.WriteFile(name, f.data); err != nil {
			return tools.Result{}, err
		}
		saved = append(saved, savedFile{name, len(f.data)})
		fmt.Fprintf(&lines, "%s, %d bytes\n", name, len(f.data))
	}
	r, err := result(lines.String(), savedName, saved)
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
	now := map[string][]byte{}
	for _, f := range files {
		now[f.name] = f.data
	}
	saved, _ := artifact[[]savedFile](env, savedName)
	folder, _ := artifact[string](env, folderName)
	if folder != "" && len(saved) == 0 {
		faults = append(faults, fmt.Sprintf("the user wants the files in %s: call save_post", folder))
	}
	if len(saved) > 0 && len(saved) < len(files) {
		faults = append(faults, "not everything that was made is saved: call save_post again")
	}
	for _, f := range saved {
		b, err := env.Files.ReadFile(f.Path)
		switch {
		case err != nil:
			faults = append(faults, fmt.Sprintf("%s cannot be read (%v): call save_post again", f.Path, err))
		case !bytes.Equal(b, now[path.Base(f.Path)]):
			faults = append(faults, fmt.Sprintf("%s is not up to date: call save_post again", f.Path))
		default:
			made = append(made, f.Path)
		}
	}
	if p, ok := artifact[struct{ At, URL string }](env, "published"); ok {
		made = append(made, "published: "+cmp.Or(p.URL, p.At))
	}
	return made, faults, nil
}
