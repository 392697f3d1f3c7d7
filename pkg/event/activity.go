package event

// Activity reports what a model did that works on its own, such as a
// command-line agent, during its step. Data says what, by the model's own
// account; Text is the same in a line for people.
const Activity Kind = "activity"
