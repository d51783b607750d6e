package block

import (
	"encoding/binary"
)

// A retry carries over, for each item, the answers of the steps that it need not pass again.
// Answers of several steps start with packedAnswers; anything else is JSON, the answer of the
// step before the first one.
const packedAnswers = 1

// PackAnswers packs the answers of the first steps, in order; nil for none at all.
func PackAnswers(outputs [][]byte, steps int) []byte {
	none := true
	for _, o := range outputs[:min(steps, len(outputs))] {
		none = none && len(o) == 0
	}
	if none {
		return nil
	}
	raw := []byte{packedAnswers}
	for i := range steps {
		var o []byte
		if i < len(outputs) {
			o = outputs[i]
		}
		raw = binary.AppendUvarint(raw, uint64(len(o)))
		raw = append(raw, o...)
	}
	return raw
}

// CarriedAnswer returns the answer of a step, from the answers that were carried over to step
// first.
func CarriedAnswer(raw []byte, step, first int) []byte {
	if len(raw) == 0 {
		return nil
	}
	if raw[0] != packedAnswers {
		if step == first-1 {
			return raw
		}
		return nil
	}
	raw = raw[1:]
	for at := 0; len(raw) > 0; at++ {
		n, used := binary.Uvarint(raw)
		if used <= 0 || n > uint64(len(raw)-used) {
			return nil
		}
		if at == step {
			return raw[used : used+int(n)]
		}
		raw = raw[used+int(n):]
	}
	return nil
}
