package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weirhq/weir/internal/core/jsonsize"
	"golang.org/x/sync/semaphore"
)

// Costs of a JSON body in memory.
const (
	maxParts   = 250_000         // names, values and brackets of a JSON body
	partCost   = 512             // bytes that are built for each of them
	byteCost   = 4               // copies of the text
	smallBody  = 64 << 10        // bytes that are read from the small pool
	smallBuilt = 1 << 20         // bytes that are built from the small pool
	buildIn    = 5 * time.Second // until a request that waits for memory is refused
)

// memory bounds what the JSON bodies of all requests take at once: while they are
// read, and when they are decoded. Small bodies have a pool of their own, so
// that large ones cannot keep them out.
type memory struct{ read, build pool }

type pool struct {
	small, large         *semaphore.Weighted
	smallSize, largeSize int64
}

// newMemory divides total bytes. One body of the largest size fits in any case.
func newMemory(total, maxBody int64) *memory {
	return &memory{newPool(total/8, max(total*3/8, 3*maxBody)), newPool(total/8, total*3/8)}
}

func newPool(small, large int64) pool {
	small = max(small, smallBuilt)
	large = max(large, smallBuilt)
	return pool{semaphore.NewWeighted(small), semaphore.NewWeighted(large), small, large}
}

// claim is the memory that one request has reserved. The zero value has none.
type claim struct {
	of          *memory
	small, read int64 // while it is read
	built       int64
	builtBy     *semaphore.Weighted
}

// release gives everything back.
func (c *claim) release() {
	if c.of == nil {
		return
	}
	c.of.read.small.Release(c.small)
	c.of.read.large.Release(c.read)
	if c.builtBy != nil {
		c.builtBy.Release(c.built)
	}
	*c = claim{of: c.of}
}

// readAll reads a body into memory. The buffer doubles, and each step is claimed
// before it is made: a body takes memory as it comes, not as it is announced.
func (c *claim) readAll(body io.Reader) ([]byte, error) {
	if !c.of.read.small.TryAcquire(smallBody) {
		return nil, overloaded()
	}
	c.small = smallBody
	buf := make([]byte, 0, 4<<10)
	for {
		if len(buf) == cap(buf) {
			grown, err := c.grow(buf)
			if err != nil {
				return nil, err
			}
			buf = grown
		}
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// grow doubles a buffer.
func (c *claim) grow(buf []byte) ([]byte, error) {
	size := int64(2 * cap(buf))
	if size > smallBody && !c.of.read.large.TryAcquire(size) {
		return nil, overloaded()
	}
	grown := make([]byte, len(buf), size)
	copy(grown, buf)
	if size > smallBody {
		c.of.read.large.Release(c.read) // of the former buffer
		c.read = size
	}
	return grown, nil
}

// build claims what the values of a JSON text take, and waits for it a moment.
func (c *claim) build(ctx context.Context, raw []byte) *problem {
	parts := jsonsize.Parts(raw, maxParts)
	if parts > maxParts {
		return newProblem("too_many_values", fmt.Sprintf("the body has more than %d values", maxParts),
			"append items with POST …/items, which takes any number")
	}
	cost, s := int64(len(raw))*byteCost+int64(parts)*partCost, &c.of.build
	by, most := s.large, s.largeSize
	if cost <= smallBuilt {
		by, most = s.small, s.smallSize
	}
	cost = min(cost, most)
	ctx, cancel := context.WithTimeout(ctx, buildIn)
	defer cancel()
	if by.Acquire(ctx, cost) != nil {
		return overloaded()
	}
	c.built, c.builtBy = cost, by
	return nil
}

func overloaded() *problem {
	return newProblem("overloaded", "requests that are being read or decoded take all the memory that they may",
		"wait as Retry-After says, and send less at once").after(time.Second)
}
