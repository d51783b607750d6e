package store

// Loss is acknowledged work of a partition that a store has lost.
type Loss struct {
	Partition int
	// Have is the last commit that is left, and Acked the last that was acknowledged. They are
	// equal if only messages are missing.
	Have, Acked uint64
}

// Lossy is a store that was opened at the operator's request although it has lost acknowledged
// work. The engine writes the losses into the reports concerned.
type Lossy interface {
	// Losses lists what was lost, as found when the store was opened.
	Losses() []Loss
}
