package command

// Exit codes.
const (
	ExitOK          = 0   // all items are done
	ExitOther       = 1   // something else went wrong
	ExitUsage       = 2   // usage, configuration or input; nothing was accepted
	ExitUnreachable = 3   // a server that is needed cannot be reached
	exitRefused     = 4   // the server would not do it
	ExitSomeFailed  = 5   // finished, but not every item is done
	ExitStopped     = 6   // stopped by a failure rule
	ExitTimeout     = 7   // --run-timeout was reached
	ExitInterrupted = 130 // interrupted; the state is saved
)
