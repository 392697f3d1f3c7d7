package cli

import (
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/llm/script"
)

// Recording implements [adroit.ModelSource].
func (m *models) Recording(ref string) (*script.Recording, error) {
	provider, name, err := m.split(ref)
	if err != nil || provider != scriptProvider {
		return nil, nil // what is wrong with the name is reported where it is used
	}
	s, err := script.Load(name)
	if err != nil {
		return nil, adroit.Refuse(err, "")
	}
	return s.Recording(), nil
}
