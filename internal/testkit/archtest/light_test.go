package archtest

import "testing"

func TestTheLibraryBringsLittleIntoABuild(t *testing.T) {
	tree := repository(t)
	found, err := CheckLight(tree.Root, tree.Module, Lights)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, found)
}

func TestAHeavyPackageIsFound(t *testing.T) {
	tree := repository(t)
	found, err := CheckLight(tree.Root, tree.Module, []Light{{Dirs: []string{"internal/edge/feed"}, Modules: Lights[1].Modules}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"github.com/jackc/pgx/v5", "github.com/minio/minio-go/v7", "github.com/twmb/franz-go"} {
		seen := false
		for _, v := range found {
			seen = seen || v.What == "its build has "+want+", which archtest.Lights does not allow it"
		}
		if !seen {
			t.Errorf("%s is not found among %v", want, found)
		}
	}
}
