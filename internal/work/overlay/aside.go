package overlay

// An Aside is a file that a command made and that is not brought into the workspace. Why is a verb
// phrase, Kept the path where it is kept.
type Aside struct{ Path, Kept, Why string }
