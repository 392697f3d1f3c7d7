package adroit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"

	"github.com/adroit-run/adroit/internal/llm/script"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A ModelSource opens models by reference, which is provider/model or a role,
// and knows what an operator has said of them. It is safe for concurrent use.
type ModelSource interface {
	// At is the source for a job: baseURL, if it is set, is the address of the
	// provider of model, and of no other.
	At(baseURL, model string) (ModelSource, error)
	// Open returns the model and the name it goes by at its provider.
	Open(ref string) (llm.Model, string, error)
	// Check returns what is wrong with a reference, nil if nothing is.
	Check(ref string) error
	// Canonical is a reference as a job keeps it.
	Canonical(ref string) (string, error)
	// Choose returns the model of requests and agents that name none.
	Choose(ctx context.Context) (string, error)
	// Route is the model that a reference stands for, with its fallbacks.
	Route(ctx context.Context, ref string) (executor.Route, error)
	// Window is the context window to ask for, 0 where the provider decides. It
	// fails if the provider is sure not to have the model.
	Window(ctx context.Context, ref string) (int, error)
	// Roles lists the roles that are set up.
	Roles() []string
	// Unset reports whether ref is a role that what ships names and that nobody
	// has set up: the model of the request does its work.
	Unset(ref string) bool
	// Think names the model for what tools ask; empty is the job's own.
	Think() string
	// Driver knows how models call tools; nil tries all ways.
	Driver() CallModes
	// Recording is what ref is a recording of, nil for a model that is none.
	Recording(ref string) (*script.Recording, error)
}

// shippedRoles are the roles that agents and pipelines which ship name.
var shippedRoles = []string{"default", "cheap", "strong"}

// modelMap is the source of models that a program has made itself.
type modelMap struct {
	models map[string]llm.Model
	model  string
}

var _ ModelSource = modelMap{}

func (m modelMap) At(string, string) (ModelSource, error)      { return m, nil }
func (m modelMap) Driver() CallModes                           { return nil }
func (m modelMap) Recording(string) (*script.Recording, error) { return nil, nil }
func (m modelMap) Window(context.Context, string) (int, error) { return 0, nil }
func (m modelMap) Roles() []string                             { return nil }
func (m modelMap) Unset(ref string) bool                       { return slices.Contains(shippedRoles, ref) }
func (m modelMap) Think() string                               { return "" }
func (m modelMap) Canonical(ref string) (string, error)        { return ref, nil }

func (m modelMap) Choose(context.Context) (string, error) {
	if m.model == "" {
		return "", errors.New("no model is named, neither by the request nor by the agent nor by Options.Model")
	}
	return m.model, nil
}

func (m modelMap) Route(_ context.Context, ref string) (executor.Route, error) {
	return executor.Route{Model: ref}, nil
}

func (m modelMap) Check(ref string) error {
	if m.Unset(ref) {
		return nil
	}
	_, _, err := m.Open(ref)
	return err
}

func (m modelMap) Open(ref string) (llm.Model, string, error) {
	provider, name, ok := strings.Cut(ref, "/")
	model := m.models[provider]
	if !ok || model == nil {
		return nil, "", &llm.Error{Kind: llm.NoModel, Message: fmt.Sprintf("there is no model %s", ref), Hint: "name one as provider/model, with a provider in Options.Models"}
	}
	return model, name, nil
}
