package tools

// Results returns in full a result that the model was shown in part, by the id
// shown with it. The error for an unknown id is fs.ErrNotExist.
type Results interface {
	Result(id string) (string, error)
}
