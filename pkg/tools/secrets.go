package tools

// LookupSecrets returns the values of the tool's Secrets by their names, as lookup has them,
// and the names of those that are not set or empty.
func (m Metadata) LookupSecrets(lookup func(string) (string, bool)) (values map[string]string, unset []string) {
	for _, name := range m.Secrets {
		v, _ := lookup(name)
		if v == "" {
			unset = append(unset, name)
			continue
		}
		if values == nil {
			values = map[string]string{}
		}
		values[name] = v
	}
	return values, unset
}
