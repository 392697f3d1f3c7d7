package turn

import "github.com/adroit-run/adroit/pkg/tools"

// An Interruption is what becomes of a call during which the process died, and of which
// nobody knows whether it happened.
type Interruption int

const (
	// Recognized makes a command again that is known to build, test, lint or format, and
	// has a person decide about all others; the zero value.
	Recognized Interruption = iota
	// Again makes the call again: whoever asks for it knows that this does no harm.
	Again
	// AskPerson has a person decide.
	AskPerson
	// Reported is the reply that says so: whoever asks for the call finds out what
	// happened.
	Reported
)

const (
	// UncertainChanges is the artifact that lists paths which changed while a command
	// ran, and may be somebody else's work. They are no evidence for "diff".
	UncertainChanges = "uncertain_changes"

	// DiffOmitted is the artifact with the number of bytes that "diff" lacks of the whole
	// diff; there is none if it lacks nothing.
	DiffOmitted = "diff_omitted"

	// MessageSignal is the name of the signal whose value is an executor.Message.
	MessageSignal = "message"
	// CopySignal and the name of a copy is that of one for the sub-agent that works in it.
	CopySignal = MessageSignal + "@"
)

// Bounds of executor.SpawnLimits that set none.
const (
	SpawnDepth  = 1
	SpawnFanOut = 8
	SpawnTotal  = 50
)

// Unexplained is the code of a model step whose request was refused for a reason that is
// not known. Outcomes have that of a bad request in its place.
const Unexplained = "model.unexplained"

// TooManyBytes is the code of a model step whose request was too long in bytes. Outcomes have that
// of a request that is too long in its place.
const TooManyBytes = "model.bytes"

// Revision is what new tasks are pinned with.
//
//   - 0: a tool that would be refused is left out of the next request.
//   - 1: every request of a task offers the same tools in the same order, which
//     keeps the beginning of the prompt in the server's cache; what may not be
//     called now is refused.
//   - 2: code decides about what fails in pipelines, validations and tests before an
//     agent is asked, see internal/coordinator.
//   - 3: agents that change files see them without the numbers of their lines, and a
//     task is not finished in an answer in which a change has failed.
//   - 4: finished work is done without the word for it, and what needs no change,
//     cannot be done or is a plan has an end of its own. A tool that
//     declares neither needs nor an effect is not called beside others.
//   - 5: what failed in a pipeline or under a coordinator is recognised by what programs
//     report of themselves, and not by what a test printed.
//   - 6: workflows read the values of results, and values go whole into the arguments
//     of tools.
//   - 7: what a failed command printed is its step's output as that of another is, and
//     values go whole into what agents and pipelines are given by name. A file that an
//     answer has in a fence in place of a call is named, with the tool that writes it.
//   - 8: a tool's name is read without the namespace and tokens that some templates put
//     around it, and finished work ends done also if the server loses each last word.
//     A value that was replaced as a secret goes into no argument of a pipeline's tool.
//     A repair that was not all goes on in the same conversation, and a turn's output
//     may stand beside changes of files. Transcripts have what models thought. A
//     worker's first message does not forbid the change that its last is checked for.
//   - 9: small results of an answer leave what they do not need to large ones, and what was
//     read once stands once in a conversation. What was compacted is in a checkpoint before
//     the model is asked. What is unmet names the tool that makes it. A plan of one part is
//     done at once by its worker, and its review begins with the diff.
//   - 10: a diff that was cut has the bytes that it lacks beside it as a value, and
//     commitments read that. A change that stands in an answer's text alone is asked about
//     where a task may be done without one, and a refusal ends the run.
//   - 11: what has the rest of a result, and which files a part of a plan is about, are
//     values of the conversation and of an input, and are not read out of texts.
//     What was compacted after a provider's refusal is in a checkpoint, too.
//     A pipeline's command whose time is over names the step's timeout.
//     A step of a pipeline that a person has denied is not tried again.
const Revision = 11

// MaxValue bounds, in bytes, what the value of a result has of an output.
const MaxValue = 1 << 20

// SharedRoom is the first revision whose results share the room of an answer.
const SharedRoom = 9

// CutDiffs is the first revision whose jobs have DiffOmitted.
const CutDiffs = 10

// NamesWhole is the first revision whose messages have the id of the whole of what they
// show in part, and whose workers are given the files of a part.
const NamesWhole = 11

// TypedResults is the first revision whose workflows read values of results.
const TypedResults = 6

// OwnTimeouts is the first revision whose pipelines name the timeout of a step whose command
// was stopped, and not the argument of the tool.
const OwnTimeouts = 11

// FinalDenials is the first revision whose pipelines do not try a step again that a person
// has denied.
const FinalDenials = 11

// WholeValues is the first revision whose pipelines read the values of failed calls
// and cut values only in prompts.
const WholeValues = 7

// GenuineArguments is the first revision whose pipelines call no tool with what stands for
// a secret.
const GenuineArguments = 8

// Repeatable reports whether a call of a tool may be made twice.
func Repeatable(t tools.Metadata) bool {
	return t.Effect == tools.Pure || t.Effect == tools.Idempotent
}
