package callback

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
)

// maxNote bounds the bytes of an endpoint's note.
const maxNote = 200

// Endpoint is a registered receiver of events.
type Endpoint struct {
	ID     string `json:"id"`               // "whk_…"
	Tenant string `json:"tenant,omitempty"` // whose events it receives; empty for all tenants
	URL    string `json:"url"`
	// Types are the event types it receives; none means all.
	Types   []string  `json:"types,omitempty"`
	Note    string    `json:"note,omitempty"` // for people
	Enabled bool      `json:"enabled"`
	Created time.Time `json:"created"`
	// Reason says why it is not enabled, and Disabled since when.
	Reason   string    `json:"reason,omitempty"`
	Disabled time.Time `json:"disabled,omitzero"`
	// PublicKey checks the signatures, if they are not made with a shared secret.
	PublicKey string `json:"public_key,omitempty"`
	// Set records who changed it last at run time, and when; zero if it is as in the configuration
	// file.
	Set weir.Stamp `json:"set,omitzero"`
	// File holds its settings in the configuration file; nil if the file does not have it.
	File *FileEndpoint `json:"file,omitempty"`
}

// endpointRecord is the record of an endpoint.
type endpointRecord struct {
	Endpoint
	Sealed string `json:"sealed,omitempty"`
	// SealedFile is the secret of File.
	SealedFile string `json:"sealed_file,omitempty"`
}

// wants reports whether the endpoint receives an event.
func (e *Endpoint) wants(ev Event) bool {
	return e.Enabled && (e.Tenant == "" || e.Tenant == ev.Tenant) &&
		(len(e.Types) == 0 || slices.Contains(e.Types, ev.Type))
}

func (e *Endpoint) enable() { e.Enabled, e.Reason, e.Disabled = true, "", time.Time{} }

func (e *Endpoint) disable(reason string, now time.Time) {
	if e.Enabled {
		e.Enabled, e.Reason, e.Disabled = false, reason, now
	}
}

func (e *Endpoint) check(checkURL func(field, raw string) (*url.URL, error)) error {
	bad := &weir.InputError{}
	if _, err := checkURL("url", e.URL); err != nil {
		field, ok := errors.AsType[*weir.FieldError](err)
		if !ok {
			return err
		}
		bad.Fields = append(bad.Fields, field)
	}
	for i, t := range e.Types {
		if !slices.Contains(Types(), t) {
			bad.Add("bad_value", fmt.Sprintf("types[%d]", i), fmt.Sprintf("%.40q is not an event type", t), "use "+
				strings.Join(Types(), ", "))
		}
	}
	if len(e.Note) > maxNote {
		bad.Add("out_of_range", "note", fmt.Sprintf("has %d bytes", len(e.Note)), fmt.Sprintf("at most %d are allowed", maxNote))
	}
	return bad.OrNil()
}

// hostOf returns the host by which concurrent attempts are counted.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
