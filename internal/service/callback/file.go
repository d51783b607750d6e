package callback

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// FileEndpoint is a webhook in the configuration file.
type FileEndpoint struct {
	Name   string     `json:"name"` // its key in the file
	Tenant string     `json:"tenant,omitempty"`
	URL    string     `json:"url"`
	Types  []string   `json:"types,omitempty"`
	Secret string     `json:"-"` // empty: one is generated
	Set    weir.Stamp `json:"set,omitzero"`
}

// same reports whether two files have the same settings, apart from the secret.
func (f *FileEndpoint) same(g *FileEndpoint) bool {
	return g != nil && f.Tenant == g.Tenant && f.URL == g.URL && slices.Equal(f.Types, g.Types)
}

// filePrefix begins the ids of webhooks of the configuration file; their name follows.
const filePrefix = "whk_file_"

// keepOldSecret is how long the previous secret also signs after the file changed it.
const keepOldSecret = 24 * time.Hour

// Follow applies the webhooks of the configuration file: it registers new ones, changes changed
// ones, and removes those that the file no longer has. A webhook that was changed at run time
// stays as it is; kept returns those.
//
// Every node calls it at its start, so the file of the node that started last applies.
func (n *Notifier) Follow(ctx context.Context, node string, files []FileEndpoint) (kept []Endpoint, err error) {
	defer n.cache.forget()
	inFile := map[string]bool{}
	for _, f := range files {
		f.Set = weir.Stamp{By: node, At: wall()}
		e, err := n.followOne(ctx, f)
		if err != nil {
			return kept, err
		}
		if inFile[e.ID] = true; !e.Set.At.IsZero() {
			kept = append(kept, e)
		}
	}
	return kept, n.dropMissing(ctx, inFile)
}

func (n *Notifier) followOne(ctx context.Context, f FileEndpoint) (Endpoint, error) {
	id := filePrefix + f.Name
	if err := (&Endpoint{URL: f.URL, Types: f.Types}).check(n.opts.CheckURL); err != nil {
		return Endpoint{}, err
	}
	if f.Secret != "" {
		if err := checkSecret(f.Secret); err != nil {
			return Endpoint{}, err
		}
	}
	e, err := n.webhooks.Put(ctx, id, func(r *endpointRecord, found bool) error {
		if !found {
			*r = endpointRecord{Endpoint: Endpoint{ID: id, Created: wall(), Enabled: true}}
		}
		return n.apply(r, f)
	})
	return e.Value.Endpoint, err
}

// apply sets f as the file's settings of an endpoint. The endpoint follows unless it was changed
// at run time.
func (n *Notifier) apply(r *endpointRecord, f FileEndpoint) error {
	old, err := n.unseal(placeOfEndpoint(r.ID), r.SealedFile)
	if err != nil {
		return err
	}
	if f.Secret == "" && len(old) > 0 && r.File != nil {
		f.Secret = old[0].Text // generated before
	}
	if f.Secret == "" {
		f.Secret = NewSecret()
	}
	unchanged := f.same(r.File) && len(old) > 0 && old[0].Text == f.Secret
	if unchanged {
		f.Set = r.File.Set
	}
	r.File = &f
	if r.SealedFile, err = n.seal(placeOfEndpoint(r.ID), old.rotate(f.Secret, wall(), keepOldSecret)); err != nil ||
		unchanged || !r.Set.At.IsZero() {
		return err
	}
	return n.follow(r)
}

// follow applies the file's settings to an endpoint.
func (n *Notifier) follow(r *endpointRecord) error {
	s, err := n.unseal(placeOfEndpoint(r.ID), r.SealedFile)
	if err != nil {
		return err
	}
	r.Tenant, r.URL, r.Types, r.Note, r.Set = r.File.Tenant, r.File.URL, slices.Clone(r.File.Types), "", weir.Stamp{}
	r.enable()
	return n.sign(r, s)
}

// Reset restores a webhook of the configuration file to the file's settings.
func (n *Notifier) Reset(ctx context.Context, id string) error {
	defer n.cache.forget()
	_, err := n.webhooks.Update(ctx, id, func(r *endpointRecord) error {
		if r.File == nil {
			return weir.ErrNotFound
		}
		return n.follow(r)
	})
	return err
}

// dropMissing removes webhooks of an earlier file that the file no longer has. One that was
// changed at run time stays, as if it had been created over the API.
func (n *Notifier) dropMissing(ctx context.Context, inFile map[string]bool) error {
	for e, err := range n.webhooks.All(ctx, filePrefix) {
		if err != nil {
			return err
		}
		if inFile[e.Value.ID] || e.Value.File == nil {
			continue
		}
		if e.Value.Set.At.IsZero() {
			err = n.webhooks.Delete(ctx, e.Value.ID)
		} else {
			_, err = n.webhooks.Update(ctx, e.Value.ID, func(r *endpointRecord) error {
				r.File, r.SealedFile = nil, ""
				return nil
			})
		}
		if err != nil && !errors.Is(err, weir.ErrNotFound) {
			return err
		}
	}
	return nil
}
