package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

// bodyField is the one field of an inbox entry.
const bodyField = "b"

// Append adds a message: by a plain command, or by a script if it makes a claim.
func (s *Store) Append(ctx context.Context, partition int, body []byte, c store.Claim) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	k, message := s.keysOf(partition), messagePlace(partition).sealed(body)
	if c.Key == "" {
		reply, lag := s.write(ctx, k, func(b rueidis.Builder) rueidis.Completed {
			return b.Xadd().Key(k.inbox).Id("*").FieldValue().FieldValue(bodyField, message).Build()
		})
		if err := reply.Error(); err != nil {
			return s.unsure(ctx, "append", partition, err)
		}
		return s.lagging(ctx, "append", partition, lag)
	}
	place := claimPlace(partition, c.Key)
	reply, lag := s.writeScript(ctx, k, s.scripts.append, k.forAppend, message, c.Key, place.sealed(c.Value), decimal(c.Generation))
	if isNumber(reply) {
		return store.ErrMoved
	}
	claimed, err := reply.AsBytes()
	added := rueidis.IsRedisNil(err)
	switch {
	case err != nil && !added:
		return s.unsure(ctx, "append", partition, err)
	case lag != nil || added:
		return s.lagging(ctx, "append", partition, lag)
	}
	if claimed, err = place.unseal("claim "+c.Key, partition, claimed); err != nil {
		return err
	}
	return &store.ClaimedError{Value: claimed}
}

// isNumber reports whether a reply is a number, and not a text that looks like one.
func isNumber(r rueidis.RedisResult) bool {
	m, err := r.ToMessage()
	return err == nil && m.IsInt64()
}

// CloseClaims refuses claims of earlier generations.
func (s *Store) CloseClaims(ctx context.Context, partition int, generation uint64) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	k := s.keysOf(partition)
	reply, lag := s.writeScript(ctx, k, s.scripts.closeClaims, []string{k.claims}, decimal(generation))
	if err := reply.Error(); err != nil {
		return s.unsure(ctx, "close claims", partition, err)
	}
	return s.lagging(ctx, "close claims", partition, lag)
}

// Claimed returns the value of a claim.
func (s *Store) Claimed(ctx context.Context, partition int, key string) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	get := s.client.B().Hget().Key(s.keysOf(partition).claims).Field(key).Build()
	value, err := s.bytes(ctx, "look up claim", partition, s.client.Do(ctx, get))
	if err != nil {
		return nil, err
	}
	return claimPlace(partition, key).unseal("claim "+key, partition, value)
}

const (
	// blockFor is how long a read blocks in the server before it asks again, which detects a
	// dead connection: a partition that was taken over on such a connection stands still for as
	// long.
	blockFor = 2 * time.Second
	// blockGrace is how much longer the answer may take.
	blockGrace = 2 * time.Second
)

// Read returns the messages after a sequence number. It waits in the server: on a connection
// of its own on a Cluster, and else on one for all reads of this server.
func (s *Store) Read(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	if s.client.Mode() == rueidis.ClientModeCluster {
		return s.readAlone(ctx, partition, after, limit)
	}
	inbox := s.keysOf(partition).inbox
	if !s.listener.watched(inbox, after) { // there may be some, which need not be waited for
		if found, err := s.Peek(ctx, partition, after, limit); err != nil || len(found) > 0 {
			return found, err
		}
	}
	entries, err := s.listener.next(ctx, s, inbox, after)
	if err != nil {
		return nil, s.failed(ctx, "read the inbox", partition, err)
	}
	return messages(partition, entries[:min(len(entries), max(limit, 1))])
}

// readAlone waits for one inbox.
func (s *Store) readAlone(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	inbox, id := s.keysOf(partition).inbox, messageID(after)
	for {
		streams, err := s.xread(waiting, max(limit, 1), []string{inbox}, []string{id})
		switch {
		case err == nil:
			return messages(partition, streams[inbox])
		case waiting.Err() == nil && (rueidis.IsRedisNil(err) || errors.Is(err, context.DeadlineExceeded)):
			continue // nothing came in that time
		}
		return nil, s.failed(ctx, "read the inbox", partition, err)
	}
}

// Peek implements [store.Inbox].
func (s *Store) Peek(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	inbox := s.keysOf(partition).inbox
	read := s.client.B().Xread().Count(int64(max(limit, 1))).Streams().Key(inbox).Id(messageID(after)).Build()
	streams, err := s.client.Do(ctx, read).AsXRead()
	if err != nil && !rueidis.IsRedisNil(err) {
		return nil, s.failed(ctx, "read the inbox", partition, err)
	}
	return messages(partition, streams[inbox])
}

// xread waits in the server for messages of any of the inboxes.
func (s *Store) xread(ctx context.Context, limit int, inboxes, after []string) (map[string][]rueidis.XRangeEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, blockFor+blockGrace)
	defer cancel()
	read := s.client.B().Xread().Count(int64(limit)).Block(blockFor.Milliseconds()).Streams().Key(inboxes...).Id(after...).Build().UnblockOnCancel()
	return s.client.Do(ctx, read).AsXRead()
}

func messages(partition int, entries []rueidis.XRangeEntry) ([]store.Message, error) {
	found, place := make([]store.Message, len(entries)), messagePlace(partition)
	for i, e := range entries {
		seq, ok := sequence(e.ID)
		if !ok {
			return nil, fmt.Errorf("message %s, partition %d: %w: it is not ours", e.ID, partition, store.ErrCorrupt)
		}
		body, err := place.unseal("message "+e.ID, partition, []byte(e.FieldValues[bodyField]))
		if err != nil {
			return nil, err
		}
		found[i] = store.Message{Seq: seq, Body: body}
	}
	return found, nil
}
