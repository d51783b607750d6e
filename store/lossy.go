package store

// Loss is acknowledged work of a partition that a store has lost.
type Loss struct {
	Partition int
	// Have is the last commit that is there, Acked the last that was acknowledged. They are the same if only messages are missing.
	Have, Acked uint64
}

// Lossy is a store that was opened although it has lost acknowledged work, as the
// operator asked for. The engine writes that into the reports concerned.
type Lossy interface {
	// Losses lists what was lost, as found when the store was opened.
	Losses() []Loss
}
