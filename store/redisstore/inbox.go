package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

// bodyField is the one field of an inbox entry.
const bodyField = "b"

// Append adds a message: a plain command, or a script if there is a claim to make with it.
func (s *Store) Append(ctx context.Context, partition int, body []byte, c store.Claim) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	k := s.keysOf(partition)
	if c.Key == "" {
		reply, lag := s.write(ctx, k, func(b rueidis.Builder) rueidis.Completed {
			return b.Xadd().Key(k.inbox).Id("0-*").FieldValue().FieldValue(bodyField, string(body)).Build()
		})
		if err := reply.Error(); err != nil {
			return s.unsure(ctx, "append", partition, err)
		}
		return s.lagging(ctx, "append", partition, lag)
	}
	reply, lag := s.writeScript(ctx, k, s.scripts.append, k.forAppend, string(body), c.Key, string(c.Value))
	claimed, err := reply.AsBytes()
	added := rueidis.IsRedisNil(err)
	switch {
	case err != nil && !added:
		return s.unsure(ctx, "append", partition, err)
	case lag != nil || added:
		return s.lagging(ctx, "append", partition, lag)
	}
	return &store.ClaimedError{Value: claimed}
}

// Claimed returns the value of a claim.
func (s *Store) Claimed(ctx context.Context, partition int, key string) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	get := s.client.B().Hget().Key(s.keysOf(partition).claims).Field(key).Build()
	return s.bytes(ctx, "look up claim", partition, s.client.Do(ctx, get))
}

const (
	// blockFor is how long a read waits in the server before it asks again, which
	// finds out about a connection that is dead and does not know it.
	blockFor = 10 * time.Second
	// blockGrace is how much longer the answer may take.
	blockGrace = 5 * time.Second
)

// Read returns the messages after a sequence number. It waits in the server, on a connection of its own.
func (s *Store) Read(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	inbox, id := s.keysOf(partition).inbox, messageID(after)
	for {
		entries, err := s.xread(waiting, inbox, id, max(limit, 1))
		switch {
		case err == nil:
			return messages(partition, entries)
		case waiting.Err() == nil && (rueidis.IsRedisNil(err) || errors.Is(err, context.DeadlineExceeded)):
			continue // nothing came in all that time
		}
		return nil, s.failed(ctx, "read the inbox", partition, err)
	}
}

func (s *Store) xread(ctx context.Context, inbox, after string, limit int) ([]rueidis.XRangeEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, blockFor+blockGrace)
	defer cancel()
	read := s.client.B().Xread().Count(int64(limit)).Block(blockFor.Milliseconds()).Streams().Key(inbox).Id(after).Build().UnblockOnCancel()
	streams, err := s.client.Do(ctx, read).AsXRead()
	return streams[inbox], err
}

func messages(partition int, entries []rueidis.XRangeEntry) ([]store.Message, error) {
	found := make([]store.Message, len(entries))
	for i, e := range entries {
		text, ok := strings.CutPrefix(e.ID, "0-")
		seq, err := strconv.ParseUint(text, 10, 64)
		body, has := e.FieldValues[bodyField]
		if !ok || err != nil || !has {
			return nil, fmt.Errorf("message %s in the inbox of partition %d: %w", e.ID, partition, store.ErrCorrupt)
		}
		found[i] = store.Message{Seq: seq, Body: []byte(body)}
	}
	return found, nil
}
