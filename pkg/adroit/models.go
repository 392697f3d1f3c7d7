package adroit

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor/handler"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/script"
)

// A ModelSource opens models by reference: provider/model, or a role. It is
// safe for concurrent use.
type ModelSource interface {
	// At is the source for a job: baseURL, if it is set, is the address of the
	// provider of model, and of no other.
	At(baseURL, model string) (ModelSource, error)
	// Open returns the model and the name it goes by at its provider.
	Open(ref string) (llm.Model, string, error)
	// Driver knows how models call tools; nil tries all ways.
	Driver() handler.CallModes
	// Recording is what ref is a recording of, nil for a model that is none.
	Recording(ref string) (*script.Recording, error)
}

// modelMap is the source of models that a program has made itself.
type modelMap map[string]llm.Model

func (m modelMap) At(string, string) (ModelSource, error)      { return m, nil }
func (m modelMap) Driver() handler.CallModes                   { return nil }
func (m modelMap) Recording(string) (*script.Recording, error) { return nil, nil }
func (m modelMap) Open(ref string) (llm.Model, string, error) {
	provider, name, ok := strings.Cut(ref, "/")
	model := m[provider]
	if !ok || model == nil {
		return nil, "", &llm.Error{Kind: llm.NoModel, Message: fmt.Sprintf("there is no model %s", ref), Hint: "name one as provider/model, with a provider in Options.Models"}
	}
	return model, name, nil
}
