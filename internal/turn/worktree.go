package turn

// Names of the steps of kind [WorktreeStep].
const (
	AddWorktree  = "add"
	JoinWorktree = "join"
	DropWorktree = "drop"
)

// A Tree is the input of a step about a worktree, and its output.
type Tree struct {
	Name string `json:"name"`
	Of   string `json:"of,omitempty"`
	Dir  string `json:"dir,omitempty"`

	Files   int      `json:"files,omitempty"`      // that were copied
	Left    []string `json:"not_copied,omitempty"` // the first of what was not: ignored, secret, in another repository
	Omitted int      `json:"omitted,omitempty"`    // how many that are
}
