// Package mapping turns items into what an action is given, by expressions that
// users write: the input of a step, its `when` condition, and filters over the
// items of a report. It checks items against the JSON schema of an action as well.
//
// An expression sees only what it was given: no clock, no environment, no chance.
// The same item gives the same input at every attempt.
//
// Expressions come from tenants, so each is bounded twice. When it is compiled, its
// length, its size and its regular expressions are; when it runs, everything whose
// cost depends on the data is paid from a budget (see [Budget]), so that no
// expression takes longer than a fraction of a second or makes more than a few megabytes.
//
// Numbers stay what they are: a path as in item.user.id copies the bytes of the
// document, and a number that neither an int64 nor a float64 can hold exactly goes
// through an expression as a text of digits that arithmetic refuses.
//
// The package is pure; everything it returns may be used by several goroutines.
package mapping

// The bounds of an expression.
const (
	// MaxLength is the most bytes of an expression.
	MaxLength = 4 << 10
	// MaxNodes is the most parts (names, values, operators, calls) it is made of.
	MaxNodes = 500
	// MaxMembers is the most members of a mapping.
	MaxMembers = 200
	// MaxName is the most bytes in the name of a member.
	MaxName = 256
	// MaxPattern is the most instructions of a regular expression.
	MaxPattern = 1000
	// MaxResult is the most bytes of JSON that one item's mapping makes.
	MaxResult = 256 << 10
	// Budget is what the expressions of a mapping may spend on one item together. A
	// unit is about one operation, or 16 bytes looked at.
	Budget = 1 << 18
)

// The codes of errors.
const (
	// BadExpression is an expression that does not compile.
	BadExpression = "bad_expression"
	// BadFilter is a filter that does not compile.
	BadFilter = "bad_filter"
	// ExpressionFailed is an expression that has no answer for one item.
	ExpressionFailed = "expression_failed"
	// BadSchema is a JSON schema that does not compile.
	BadSchema = "bad_schema"
	// SchemaMismatch is an item that its schema refuses.
	SchemaMismatch = "schema_mismatch"
)
