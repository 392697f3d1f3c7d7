// Package script is a model that plays the turns of a file: for
// demonstrations, tests and reproductions.
//
//	turns:
//	  - calls: [{name: read_file, args: {path: a.txt}}]
//	  - error: {kind: rate_limit, message: slow down, retry_after: 1s}
//	  - expect: {tool: read_file, contains: hello}
//	    text: The file greets you.
//
// A job with several conversations, such as those of sub-agents, has a scene for
// each: the first whose words are in what opens the conversation.
//
//	scenes:
//	  - when: You plan work.
//	    turns:
//	      - text: '{"subtasks": ["a", "b"]}'
//
// Which turn is played follows from the conversation alone: it is the number
// of assistant messages in it. So a job that was killed and resumed, or
// replayed, meets the same turns without the model remembering anything.
// Only errors are remembered, in memory: those before a turn are returned
// once each, in order, when that turn is asked for.
//
// A script may also be a recording of a job's real models: see [Recording]. Its
// turns are found by what was asked, and the first request that the recorded
// job did not make ends the run with what differs.
//
// It is no imitation of a model's judgement: its answers do not depend on
// the request, except that a turn may expect something and refuse to go on.
package script
