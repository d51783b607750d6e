package callback

import (
	"context"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
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
func (s *Endpoints) Follow(ctx context.Context, node string, files []FileEndpoint) (kept []Endpoint, err error) {
	defer s.cache.forget()
	inFile := map[string]bool{}
	for _, f := range files {
		f.Set = weir.Stamp{By: node, At: wall()}
		e, err := s.followOne(ctx, f)
		if err != nil {
			return kept, err
		}
		if inFile[e.ID] = true; !e.Set.At.IsZero() {
			kept = append(kept, e)
		}
	}
	return kept, s.dropMissing(ctx, inFile)
}

func (s *Endpoints) followOne(ctx context.Context, f FileEndpoint) (Endpoint, error) {
	id := filePrefix + f.Name
	if err := (&Endpoint{URL: f.URL, Types: f.Types}).check(s.checkURL); err != nil {
		return Endpoint{}, err
	}
	if f.Secret != "" {
		if err := checkSecret(f.Secret); err != nil {
			return Endpoint{}, err
		}
	}
	e, err := s.table.Put(ctx, id, func(r *endpointRecord, found bool) error {
		if !found {
			*r = endpointRecord{Endpoint: Endpoint{ID: id, Created: wall(), Enabled: true}}
		}
		return s.apply(r, f)
	})
	return e.Value.Endpoint, err
}

// apply sets f as the file's settings of an endpoint. The endpoint follows unless it was changed
// at run time.
func (s *Endpoints) apply(r *endpointRecord, f FileEndpoint) error {
	old, err := s.secrets.open(placeOfEndpoint(r.ID), r.SealedFile)
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
	if r.SealedFile, err = s.secrets.seal(placeOfEndpoint(r.ID), old.rotate(f.Secret, wall(), keepOldSecret)); err != nil ||
		unchanged || !r.Set.At.IsZero() {
		return err
	}
	return s.follow(r)
}

// follow applies the file's settings to an endpoint.
func (s *Endpoints) follow(r *endpointRecord) error {
	all, err := s.secrets.open(placeOfEndpoint(r.ID), r.SealedFile)
	if err != nil {
		return err
	}
	r.Tenant, r.URL, r.Types, r.Note, r.Set = r.File.Tenant, r.File.URL, slices.Clone(r.File.Types), "", weir.Stamp{}
	r.enable()
	return s.sign(r, all)
}

// Reset restores a webhook of the configuration file to the file's settings.
func (s *Endpoints) Reset(ctx context.Context, id string) error {
	defer s.cache.forget()
	_, err := s.table.Update(ctx, id, func(r *endpointRecord) error {
		if r.File == nil {
			return weir.ErrNotFound
		}
		return s.follow(r)
	})
	return err
}

// dropMissing removes webhooks of an earlier file that the file no longer has. One that was
// changed at run time stays, as if it had been created over the API.
func (s *Endpoints) dropMissing(ctx context.Context, inFile map[string]bool) error {
	for e, err := range s.table.All(ctx, filePrefix) {
		if err != nil {
			return err
		}
		if inFile[e.Value.ID] || e.Value.File == nil {
			continue
		}
		if e.Value.Set.At.IsZero() {
			err = s.table.Delete(ctx, e.Value.ID)
		} else {
			_, err = s.table.Update(ctx, e.Value.ID, func(r *endpointRecord) error {
				r.File, r.SealedFile = nil, ""
				return nil
			})
		}
		if err := records.IgnoreGone(err); err != nil {
			return err
		}
	}
	return nil
}
