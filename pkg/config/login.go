package config

import (
	"context"
	"errors"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/config/internal/provider"
)

// keysOf is where the keys of providers are kept: with the configuration, not
// with the state, which backups and --data-dir move.
func keysOf(getenv func(string) string) rootfs.File { return rootfs.In(Dir(getenv)) }

// A Login is a provider and where its key is from.
type Login struct {
	Provider string `json:"provider"`
	From     string `json:"from,omitempty"` // a variable or adroit login, "" for no key
	// Variable goes before what is kept. "" if the provider has none.
	Variable string `json:"variable,omitempty"`
	Kept     bool   `json:"kept"` // whether adroit login keeps a key
}

// Logins lists the providers whose servers take keys.
func (c *Config) Logins() ([]Login, error) {
	source := c.source("", nil)
	var out []Login
	for _, name := range source.Providers() {
		from, variable := source.Origin(name)
		_, kept := c.keys[name]
		out = append(out, Login{Provider: name, From: from, Variable: variable, Kept: kept})
	}
	return out, c.keysErr
}

// CheckLogin reports a provider that no key can be kept for.
func (c *Config) CheckLogin(name string) error { return c.source("", nil).CheckProvider(name) }

// VerifyLogin asks the server of a provider whether it takes a key. It asks for
// no answer of a model.
func (c *Config) VerifyLogin(ctx context.Context, name, key string) error {
	err := c.source("", nil).VerifyKey(ctx, name, key)
	switch {
	case err == nil, ctx.Err() != nil:
		return err
	case errors.Is(err, provider.ErrKeyRefused):
		return fail(err, "nothing was kept; check that all of the key was given and that it is one of "+name)
	}
	return fail(err, "nothing was kept; --no-verify keeps it all the same")
}

// KeepLogin keeps the key of a provider, and returns the file.
func (c *Config) KeepLogin(name, key string) (path string, err error) {
	f := keysOf(c.getenv)
	err = f.Set(name, key)
	switch {
	case err == nil:
		return f.Path(), nil
	case errors.Is(err, rootfs.ErrInRepository), errors.Is(err, rootfs.ErrNoDirectory):
		return "", fail(err, "set XDG_CONFIG_HOME to another directory, or give the key in a variable")
	}
	return "", fail(err, "correct that, or give the key in a variable")
}

// ForgetLogin forgets the key of a provider, and reports whether there was one.
func (c *Config) ForgetLogin(name string) (bool, error) {
	was, err := keysOf(c.getenv).Remove(name)
	if err != nil {
		err = fail(err, "")
	}
	return was, err
}
