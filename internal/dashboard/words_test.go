package dashboard

import "testing"

func TestASentenceLeavesNamesAsTheyAre(t *testing.T) {
	for text, want := range map[string]string{
		"this cannot be done now": "This cannot be done now.", "no, it is not": "No, it is not.", "is it so?": "Is it so?", "": "",
		"send-message has no undo": "send-message has no undo.", "rate: missing unit": "rate: missing unit.", "ba_01k is draft": "ba_01k is draft.",
		"items[0].id is empty": "items[0].id is empty.", "été is not a tenant": "été is not a tenant.", "eMail was not found": "eMail was not found.",
	} {
		if got := sentence(text); got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
	if p := paramOf("customer_id", []byte(`7`)); p.Title != "" {
		t.Errorf("the parameter customer_id is given the title %q", p.Title)
	}
}
