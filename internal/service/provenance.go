package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
)

// provenance returns where a setting comes from.
func provenance(origin string, s weir.Stamp) api.Provenance {
	return api.Provenance{Origin: origin, ChangedAt: s.At, ChangedBy: s.By}
}

// stampOf returns the stamp of a change that a caller makes now.
func stampOf(by string) weir.Stamp { return weir.Stamp{By: by, At: time.Now().UTC()} }

// fromFile refuses to remove a setting that only the configuration file has: the next start would
// restore it.
func fromFile(what, name string) error {
	return &Refusal{Code: "in_use", Detail: fmt.Sprintf("%s %q come from the configuration file, and were not changed over the API", what, name), Fix: "change the configuration file and restart a node"}
}

// LoadActions reads the actions that were created over the API. They take precedence over those of
// the file, so the engine must not run before.
func (s *Service) LoadActions(ctx context.Context) error {
	if err := s.actions.refresh(ctx); err != nil {
		return err
	}
	s.engine.KnowActions(s.actions.names()...)
	return nil
}

// Overridden returns the actions and connections of the configuration file that were changed over
// the API.
func (s *Service) Overridden(ctx context.Context) ([]api.Action, []api.Connection, error) {
	actions, err := s.Actions(ctx)
	if err != nil {
		return nil, nil, err
	}
	connections, err := s.Connections(ctx)
	return slices.DeleteFunc(actions, func(a api.Action) bool { return a.File == nil }),
		slices.DeleteFunc(connections, func(c api.Connection) bool { return c.File == nil }), err
}
