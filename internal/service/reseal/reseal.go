// Package reseal seals the secrets of records again with the newest key of the vault, so that older keys can be dropped.
//
// It works while nodes use the store: a record that is changed meanwhile is read again. It can be ended at any moment and
// run again, on any node: what is sealed with the newest key is left alone. Secrets in the rows of partitions, those of
// callbacks of single bulk actions, stay as they are until their bulk action is removed; [Count] counts them.
package reseal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/vault"
)

// kinds lists the kinds of record that hold secrets.
var kinds = [...]string{"action", "connection", "template", "schedule", "draft", "webhook", "delivery"}

// Records seals again what is not sealed with the newest key, and returns how many secrets it sealed. Secrets that it
// cannot open are left, and are in the error.
func Records(ctx context.Context, s records.Keeper, v *vault.Vault) (sealed int, err error) {
	for _, kind := range kinds {
		table := records.New[json.RawMessage](s, kind)
		for e, failed := range table.All(ctx, "") {
			if failed != nil {
				return sealed, errors.Join(err, failed)
			}
			if len(stale(e.Value, v)) == 0 {
				continue
			}
			n := 0
			_, failed = table.Update(ctx, e.Name, func(content *json.RawMessage) error {
				again, err := record(kind, e.Name, *content, v)
				n, *content = len(again), replace(*content, again)
				return err
			})
			switch {
			case failed == nil:
				sealed += n
			case ctx.Err() != nil:
				return sealed, ctx.Err()
			case !errors.Is(failed, weir.ErrNotFound): // else it was removed meanwhile
				err = errors.Join(err, failed)
			}
		}
	}
	return sealed, err
}

// sealedText finds secrets as [vault.Vault.Seal] returns them.
var sealedText = regexp.MustCompile(`sealed1\.([0-9a-f]+)\.[0-9A-Za-z_-]+`)

// stale returns the secrets in a record that are not sealed with the newest key.
func stale(content []byte, v *vault.Vault) (list []string) {
	for _, m := range sealedText.FindAllSubmatch(content, -1) {
		if string(m[1]) != v.KeyIDs()[0] {
			list = append(list, string(m[0]))
		}
	}
	return list
}

// replace puts new secrets in the place of others. The rest of the record stays as it is.
func replace(content []byte, again map[string]string) []byte {
	for old, fresh := range again {
		content = bytes.ReplaceAll(content, []byte(old), []byte(fresh))
	}
	return content
}

// record seals the secrets of a record again: from the old form to the new one.
func record(kind, name string, content []byte, v *vault.Vault) (map[string]string, error) {
	again := map[string]string{}
	for _, old := range stale(content, v) {
		fresh, err := seal(placesOf(kind, name, content, old), old, v)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", kind, name, err)
		}
		again[old] = fresh
	}
	return again, nil
}

// seal seals a secret again for the place that it opens for: it opens for no other.
func seal(places []string, old string, v *vault.Vault) (string, error) {
	var failed error
	for _, place := range places {
		plain, err := v.Open(place, old)
		if err == nil {
			return v.Seal(place, plain)
		}
		failed = err
	}
	return "", failed
}

// placesOf returns the places that a secret of a record may be sealed for, as its packages have them: the record, a member
// of one of its maps, or the callback of what it creates.
func placesOf(kind, name string, content []byte, sealed string) []string {
	var doc struct {
		ID, Name, Tenant string
		BulkAction       struct{ Tenant string } `json:"bulk_action"`
		Spec             struct{ Tenant string }
	}
	_ = json.Unmarshal(content, &doc) // what is missing is no place
	var places []string
	for _, n := range []string{name, doc.ID, doc.Name, name[strings.LastIndex(name, "/")+1:]} {
		if n != "" {
			place := kind + "/" + n
			places = append(places, place, place+"/"+memberOf(content, sealed), "callback/"+n, "callback/named-template/"+n)
		}
	}
	for _, t := range []string{doc.Tenant, doc.BulkAction.Tenant, doc.Spec.Tenant, "", "default"} {
		places = append(places, "callback/template/"+t)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// memberOf returns the name of the member that has a secret as its value.
func memberOf(content []byte, sealed string) string {
	var doc any
	if json.Unmarshal(content, &doc) != nil {
		return ""
	}
	name := ""
	var look func(v any, at string)
	look = func(v any, at string) {
		switch v := v.(type) {
		case string:
			if v == sealed {
				name = at
			}
		case []any:
			for _, inner := range v {
				look(inner, at)
			}
		case map[string]any:
			for k, inner := range v {
				look(inner, k)
			}
		}
	}
	look(doc, "")
	return name
}
