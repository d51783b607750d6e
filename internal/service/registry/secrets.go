package registry

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/vault"
)

// Hidden stands for a secret in responses. Sent back in a change, it keeps the stored secret.
const Hidden = "[secret]"

// hideAll returns secrets as responses show them.
func hideAll(secrets map[string]string) map[string]string {
	out := maps.Clone(secrets)
	for k := range out {
		out[k] = Hidden
	}
	return out
}

// sealAll returns secrets as they are stored: each is sealed for the place and its name, and Hidden
// keeps the one before. Field is the field of the request that holds them.
func sealAll(v *vault.Vault, place, field string, secrets, before map[string]string) (map[string]string, error) {
	out := maps.Clone(secrets)
	for _, k := range slices.Sorted(maps.Keys(out)) {
		value, err := sealOne(v, place+"/"+k, field+"."+k, out[k], before[k])
		if err != nil {
			return nil, err
		}
		if out[k] == Hidden && value == "" {
			return nil, &weir.FieldError{Code: "bad_value", Field: field + "." + k, Problem: "no stored value to keep",
				Fix: "send the value"}
		}
		out[k] = value
	}
	return out, nil
}

// sealOne is sealAll for a single secret; an empty one stays empty. A value that looks sealed is refused:
// it would be stored unchanged and could never be opened.
func sealOne(v *vault.Vault, place, field, secret, before string) (string, error) {
	switch {
	case secret == Hidden:
		return before, nil
	case secret == "":
		return "", nil
	case vault.IsSealed(secret):
		return "", &weir.FieldError{Code: "bad_value", Field: field, Problem: "is a sealed secret",
			Fix: "send the plain value; the server seals it before it is stored"}
	}
	return v.Seal(place, []byte(secret))
}

// openAll returns secrets in plain text.
func openAll(v *vault.Vault, place string, secrets map[string]string) (map[string]string, error) {
	out := maps.Clone(secrets)
	for k, sealed := range out {
		var err error
		if out[k], err = openOne(v, place+"/"+k, sealed); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func openOne(v *vault.Vault, place, sealed string) (string, error) {
	if !vault.IsSealed(sealed) {
		return sealed, nil
	}
	plain, err := v.Open(place, sealed)
	if err != nil {
		return "", fmt.Errorf("secret of %s: %w", place, err)
	}
	return string(plain), nil
}
