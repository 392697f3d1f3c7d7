package config

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
	RoleDefault = "default" // the model of requests that name none
	RoleCheap   = "cheap"   // for what tools ask
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

// checkRoles checks models and fallbacks, and makes models.default the default
// for model.
func (c *Config) checkRoles(path string) error {
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
	if _, ok := c.Models[RoleDefault]; !ok {
		return nil
	}
	if c.Model != "" {
		return bad("keep one of them", "model and models.default say the same")
	}
	c.Model, c.from["model"] = RoleDefault, "file "+path
	return nil
}

func (c *Config) roleEntries() (out []entry) {
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		r := c.Models[name]
		out = append(out, entry{"models." + name + ".model", r.Model, true})
		if len(r.Fallbacks) > 0 {
			out = append(out, entry{"models." + name + ".fallbacks", strings.Join(r.Fallbacks, ", "), true})
		}
		if r.Hedge > 0 {
			out = append(out, entry{"models." + name + ".hedge", r.Hedge.String(), true})
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(c.Fallbacks)) {
		out = append(out, entry{"fallbacks." + pattern, strings.Join(c.Fallbacks[pattern], ", "), true})
	}
	return out
}

// ModelOf resolves a role to its model; other references stay as they are.
func (c *Config) ModelOf(ref string) string {
	if r, ok := c.Models[ref]; ok {
		return r.Model
	}
	return ref
}

// FallbacksOf lists the fallbacks of a role or model.
func (c *Config) FallbacksOf(ref string) []string {
	if r := c.Models[ref]; len(r.Fallbacks) > 0 {
		return r.Fallbacks
	}
	list, _ := route.Pick(c.Fallbacks, c.ModelOf(ref))
	return list
}
