package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm/route"
)

// A role is a model by what it is for: default, cheap, strong or any other
// word. Its name may stand wherever provider/model does.
type role struct {
	Model     string        `yaml:"model"`
	Fallbacks []string      `yaml:"fallbacks"`
	Hedge     time.Duration `yaml:"hedge"`
}

// Roles that adroit itself looks for.
const (
	roleDefault = "default" // the model of requests that name none
	roleCheap   = "cheap"   // for what tools ask
)

// UnmarshalYAML reads a model, or a mapping.
func (r *role) UnmarshalYAML(b []byte) error {
	var model string
	if yaml.Unmarshal(b, &model) == nil {
		r.Model = model
		return nil
	}
	type plain role
	return yaml.UnmarshalWithOptions(b, (*plain)(r), yaml.Strict())
}

var roleName = lazyregexp.New(`^[a-z][a-z0-9_-]{0,31}$`)

// checkRoles judges models and fallbacks, and lets models.default stand for
// model.
func (c *config) checkRoles(path string) error {
	bad := func(hint, format string, args ...any) error {
		return fail(fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)), hint)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		r := c.Models[name]
		switch {
		case !roleName.MatchString(name):
			return bad("a role is a word such as cheap or strong", "models.%s is no name for a role", name)
		case r.Model == "":
			return bad("for example "+name+": ollama/qwen3:8b", "models.%s names no model", name)
		case c.Models[r.Model].Model != "":
			return bad("name it as provider/model", "models.%s stands for another role, %s", name, r.Model)
		case r.Hedge < 0:
			return bad("leave it out for none", "models.%s.hedge is negative", name)
		}
	}
	if _, ok := c.Models[roleDefault]; !ok {
		return nil
	}
	if c.Model != "" {
		return bad("keep one of them", "model and models.default say the same")
	}
	c.Model, c.from["model"] = roleDefault, "file "+path
	return nil
}

func (c *config) roleSettings() (out []setting) {
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		r := c.Models[name]
		out = append(out, setting{"models." + name + ".model", r.Model, true})
		if len(r.Fallbacks) > 0 {
			out = append(out, setting{"models." + name + ".fallbacks", strings.Join(r.Fallbacks, ", "), true})
		}
		if r.Hedge > 0 {
			out = append(out, setting{"models." + name + ".hedge", r.Hedge.String(), true})
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(c.Fallbacks)) {
		out = append(out, setting{"fallbacks." + pattern, strings.Join(c.Fallbacks[pattern], ", "), true})
	}
	return out
}

// stands is what ref stands for: the model of a role, else itself.
func (c *config) stands(ref string) string {
	if r, ok := c.Models[ref]; ok {
		return r.Model
	}
	return ref
}

// behind lists the models behind ref, as the role or the table names them.
func (c *config) behind(ref string) []string {
	if r := c.Models[ref]; len(r.Fallbacks) > 0 {
		return r.Fallbacks
	}
	list, _ := route.Pick(c.Fallbacks, c.stands(ref))
	return list
}
