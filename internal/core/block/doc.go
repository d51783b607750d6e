// Package block packs items, their outcomes and the answers of their actions into as few bytes
// as quick opening allows.
//
// Three things are packed, each on its own:
//
//   - A block: up to [Size] items, compressed together and never changed.
//     [Builder] collects them, [Codec.Seal] writes them, [Codec.Open] reads them.
//     An item's document comes back byte for byte as it went in. Documents that differ in
//     scalar values alone have one shape, which is stored once; their values are stored column by column.
//   - The [State] of a block: one bitmap per step and outcome, written in its
//     shortest form, so that a block in which all went well takes a few bytes.
//   - The [Result]s of one commit: outputs and errors, repeated texts once.
//
// Blocks and results are stored on disks and on servers, so they carry a CRC32C and are checked
// in full before use. A state is a part of a row, whose owner adds the checksum. Anything
// invalid is reported as [ErrCorrupt]; no input makes this package panic or reserve memory out
// of proportion to it.
//
// The package is pure. A Codec and an Items may be used from several goroutines,
// a Builder, a State and a Set by one at a time.
package block
