package own

import "fmt"

// StoredFormat is the number of the format of all that is stored, and OldestFormat is the oldest one that package migrate
// brings to it: docs/storage.md describes the formats.
const (
	StoredFormat = 4
	OldestFormat = 2
)

// Migrating says how far a migration is.
type Migrating struct {
	From int `json:"from"`
	Done int `json:"done"` // partitions
}

// Migrated is a migration that has ended.
type Migrated struct {
	From int   `json:"from"`
	To   int   `json:"to"`
	At   int64 `json:"at"` // nanoseconds
}

// FormatError says that a store does not have data of the format that this version uses.
type FormatError struct {
	Format    int
	Migrating *Migrating // the store is being brought to the format
}

// CanMigrate reports whether an engine that opens the store brings it to the format of this version.
func (e *FormatError) CanMigrate() bool { return e.Format >= OldestFormat && e.Format <= StoredFormat }

// Error says what is wrong and what to do.
func (e *FormatError) Error() string { return e.What() + ": " + e.Fix() }

// What names the formats.
func (e *FormatError) What() string {
	switch {
	case e.Migrating != nil:
		return fmt.Sprintf("the migration of the store from format %d to format %d has not ended", e.Migrating.From, e.Format)
	case e.CanMigrate():
		return fmt.Sprintf("the store has data of format %d, and this version of weir uses format %d", e.Format, StoredFormat)
	}
	return fmt.Sprintf("the store has data of format %d, and this version of weir reads formats %d to %d; nothing was changed",
		e.Format, OldestFormat, StoredFormat)
}

// Fix says what to do.
func (e *FormatError) Fix() string {
	switch {
	case e.Migrating != nil:
		return "start weir serve, which ends it"
	case e.CanMigrate():
		return "start weir serve, which migrates it"
	case e.Format > StoredFormat:
		return "run the version that wrote it, or a newer one"
	}
	return "export the reports with the version that wrote it, and begin with an empty store"
}

// CheckFormat returns a [*FormatError] for a format that this version can neither read nor migrate.
func CheckFormat(format int) error {
	if format < OldestFormat || format > StoredFormat {
		return &FormatError{Format: format}
	}
	return nil
}
