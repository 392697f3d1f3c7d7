package overlay

// An Aside is what a command made and what is not brought into the workspace, Why is a
// verb and more, and where it is kept.
type Aside struct{ Path, Kept, Why string }
