package cli

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/secret"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// redactor knows every key of the configuration and of the environment. It
// works as well as it can where the configuration cannot be read.
func (a *app) redactor() *secret.Redactor {
	if a.hide == nil {
		r, err := a.redactorOf(nil)
		if err != nil {
			return r
		}
		a.hide = r
	}
	return a.hide
}

// redactorIn also knows the secrets of the workspace's environment files, of
// those that are there and those that were committed: no tool may read them, but
// a program that a tool runs may.
func (a *app) redactorIn(ctx context.Context, dir string) *secret.Redactor {
	known := git.EnvSecrets(ctx, dir)
	if len(known) == 0 {
		return a.redactor()
	}
	r, _ := a.redactorOf(known)
	return r
}

// redactorOf makes a redactor; the error says that it does not know what the
// configuration does.
func (a *app) redactorOf(more []secret.Known) (*secret.Redactor, error) {
	var known []secret.Known
	add := func(name, value string) {
		known = append(known, secret.Known{Name: name, Value: value})
	}
	o := secret.Options{}
	conf, err := a.config()
	if err == nil {
		o.Allow = conf.Secrets.Known
		for _, name := range slices.Sorted(maps.Keys(conf.Endpoints)) {
			e := conf.Endpoints[name]
			if e.KeyEnv != "" {
				add(e.KeyEnv, a.Getenv(e.KeyEnv))
			}
			for _, h := range slices.Sorted(maps.Keys(e.Headers)) {
				value := e.Headers[h]
				// Of "Bearer KEY" it is the key alone that others echo.
				if _, key, ok := strings.Cut(value, " "); ok && len(key) >= secret.MinKnown {
					add("header "+h, key)
				}
				add("header "+h, value)
			}
		}
	}
	if err == nil {
		for _, name := range slices.Concat(conf.Publish.Targets().Secrets(), conf.GitHub.Target().Secrets()) {
			add(name, a.Getenv(name))
		}
	}
	for _, name := range []string{"OPENAI_API_KEY", "OLLAMA_API_KEY"} {
		add(name, a.Getenv(name))
	}
	var environ []string
	for _, kv := range os.Environ() {
		key, _, _ := strings.Cut(kv, "=")
		environ = append(environ, key+"="+a.Getenv(key))
	}
	o.Known = slices.Concat(known, secret.Environ(environ), more)
	return secret.New(o), err
}

// names are the operator's changes to the list of names no tool may touch.
func (a *app) names() *workspace.DenyList {
	c, err := a.config()
	if err != nil {
		return nil
	}
	return &workspace.DenyList{Deny: c.Secrets.Deny, Allow: c.Secrets.Allow}
}

// guarded is a model whose errors do not echo keys: what a provider says of a
// request may quote its headers.
func guarded(m llm.Model, r *secret.Redactor) llm.Model {
	return llm.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		res, err := m.Generate(ctx, req, emit)
		return res, hushed(r, err)
	})
}

// hushed redacts what an adapter says went wrong.
func hushed(r *secret.Redactor, err error) error {
	var e *llm.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	c := *e
	var message, hint, cause bool
	c.Message, message = r.String(e.Message)
	c.Hint, hint = r.String(e.Hint)
	if e.Err != nil {
		_, cause = r.String(e.Err.Error())
	}
	if !message && !hint && !cause {
		return err
	}
	if cause {
		c.Err = nil // its words are in nobody's interest
	}
	return &c
}
