package ollama

const (
	DefaultAnswer = defaultAnswer
	Unbound       = unbound
)
