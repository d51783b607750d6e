package execute

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"golang.org/x/sync/semaphore"
)

// Bounds on the memory of answers.
const (
	smallAnswer  = 256 << 10 // bytes that every call may read
	largeAnswers = 8         // answers beyond that which are read and decoded at once
	maxParts     = 250_000   // names, values and brackets of an answer
)

// Memory bounds the memory of endpoints' answers. Steps that share one share the bound: a large
// answer waits until others have been read.
type Memory struct{ large *semaphore.Weighted }

// NewMemory returns the Memory of one process.
func NewMemory() *Memory { return &Memory{semaphore.NewWeighted(largeAnswers)} }

// read reads an answer. A large answer waits for its turn, within the time of the call. The
// caller calls done when it has used the answer.
func (m *Memory) read(ctx context.Context, buf *bytes.Buffer, resp *http.Response) (done func(), err error) {
	done = func() {}
	if _, err := io.CopyN(buf, resp.Body, smallAnswer); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return done, err
	}
	if err := m.large.Acquire(ctx, 1); err != nil {
		return done, err
	}
	_, err = buf.ReadFrom(io.LimitReader(resp.Body, maxAnswer+1-smallAnswer))
	return func() { m.large.Release(1) }, err
}
