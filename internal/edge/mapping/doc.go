// Package mapping turns items into the input of actions, by expressions that users write: the
// input of a step, its `when` condition, and filters over the items of a report. It also checks
// items against the JSON schema of an action.
//
// An expression depends only on its arguments: it has no clock, no environment and no random
// numbers. The same item gives the same input at every attempt.
//
// Expressions come from tenants, so each is bounded twice. Compiling it bounds its length, its
// size and its regular expressions; when it runs, everything whose cost depends on the data is
// paid from a budget (see [Budget]), so that no expression takes longer than a fraction of a
// second or makes more than a few megabytes.
//
// Numbers keep their value: a path as in item.user.id copies the bytes of the document, and a
// number that neither an int64 nor a float64 can hold exactly passes through an expression as a
// text of digits that arithmetic refuses.
//
// The package is pure; everything it returns may be used by several goroutines.
package mapping

// The bounds of an expression.
const (
	// MaxLength is the longest expression, in bytes.
	MaxLength = 4 << 10
	// MaxNodes is the largest number of parts (names, values, operators, calls) of an
	// expression.
	MaxNodes = 500
	// MaxMembers is the largest number of members of a mapping.
	MaxMembers = 200
	// MaxName is the longest name of a member, in bytes.
	MaxName = 256
	// MaxPattern is the largest number of instructions of a regular expression.
	MaxPattern = 1000
	// MaxResult is the largest JSON that one item's mapping makes, in bytes.
	MaxResult = 256 << 10
	// Budget is what the expressions of a mapping may together spend on one item. A unit is
	// about one operation, or 16 bytes read.
	Budget = 1 << 18
)

// The codes of errors.
const (
	// BadExpression is the code of an expression that does not compile.
	BadExpression = "bad_expression"
	// BadFilter is the code of a filter that does not compile.
	BadFilter = "bad_filter"
	// ExpressionFailed is the code of an expression that fails for one item.
	ExpressionFailed = "expression_failed"
	// BadSchema is the code of a JSON schema that does not compile.
	BadSchema = "bad_schema"
	// SchemaMismatch is the code of an item that does not match its schema.
	SchemaMismatch = "schema_mismatch"
)
