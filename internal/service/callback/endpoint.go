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

// maxNote is the most bytes of an endpoint's note.
const maxNote = 200

// Endpoint is where events are sent, as it is registered.
type Endpoint struct {
	ID     string `json:"id"`               // "whk_…"
	Tenant string `json:"tenant,omitempty"` // whose events it gets; empty for those of all
	URL    string `json:"url"`
	// Types are those of the events that it gets; none means all.
	Types   []string  `json:"types,omitempty"`
	Note    string    `json:"note,omitempty"` // for people
	Enabled bool      `json:"enabled"`
	Created time.Time `json:"created"`
	// Reason says why it is not enabled, and Disabled since when.
	Reason   string    `json:"reason,omitempty"`
	Disabled time.Time `json:"disabled,omitzero"`
	// PublicKey checks the signatures, if they are not made with a shared secret.
	PublicKey string `json:"public_key,omitempty"`
	// Set records who changed it last at run time, and when; zero for one that is as the configuration file says.
	Set weir.Stamp `json:"set,omitzero"`
	// File is what the configuration file says of it; nil for one that the file does not have.
	File *FileEndpoint `json:"file,omitempty"`
}

// endpointRecord is an endpoint as it is kept.
type endpointRecord struct {
	Endpoint
	Sealed string `json:"sealed,omitempty"`
	// SealedFile is the secret of File.
	SealedFile string `json:"sealed_file,omitempty"`
}

// wants reports whether the endpoint is to hear of an event.
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
			bad.Add("out_of_range", fmt.Sprintf("types[%d]", i), fmt.Sprintf("%.40q is not an event type", t), "use "+strings.Join(Types(), ", "))
		}
	}
	if len(e.Note) > maxNote {
		bad.Add("out_of_range", "note", fmt.Sprintf("has %d bytes", len(e.Note)), fmt.Sprintf("at most %d are allowed", maxNote))
	}
	return bad.OrNil()
}

// hostOf is what attempts at one time are counted by.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
