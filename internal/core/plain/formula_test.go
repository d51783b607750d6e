package plain

import "testing"

func TestFormulasAreRecognised(t *testing.T) {
	for _, cell := range []string{"=1", "+1", "-1+1", "@a", "\t1", "\r", "\n=1", "\x00", "＝1", "－1", "-", "-.", "-5.", "-.5", "-1.2.3", " =1", "\u00a0=1", "\u200b@a", "\ufeff=1", "  -a"} {
		if !Formula(cell) || !Formula([]byte(cell)) {
			t.Errorf("%q is not recognised as a formula", cell)
		}
	}
	for _, cell := range []string{"", " ", "a", "-5", "-5.25", " -5", "1-1", "é=1", "a=1", "'=1", "\u00a0", "\xff"} {
		if Formula(cell) || Formula([]byte(cell)) {
			t.Errorf("%q is taken for a formula", cell)
		}
	}
}

func TestInvisibleCharactersAreKnown(t *testing.T) {
	for _, r := range " \u00a0\u200b\u200f\u061c\ufeff\U000e0041\u2028\u3000" {
		if !Invisible(r) {
			t.Errorf("%U is visible", r)
		}
	}
	if !Blank(" \u200b") || Blank("") || Blank(" a ") {
		t.Error("which texts are blank is wrong")
	}
	for _, r := range "a-é山ש" {
		if Invisible(r) {
			t.Errorf("%U is invisible", r)
		}
	}
}
