package client_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
)

func TestADraftIsDescribedCheckedAndStarted(t *testing.T) {
	c, ctx := real(t), t.Context()
	b, err := c.Create(ctx, api.NewBulkAction{Steps: []api.Step{{Action: "picky"}}})
	if err != nil {
		t.Fatal(err)
	}
	id, size, err := c.UploadStream(ctx, "u.csv", strings.NewReader("user_id\nu1\n\nu2\nu1\n"))
	if err != nil || size != 18 {
		t.Fatalf("the upload has %d bytes, %v", size, err)
	}
	d, err := c.ChangeDraft(ctx, b.ID, func(n *api.NewBulkAction) error {
		n.Name, n.Source, n.Duplicates = "autumn", &api.Source{Upload: id}, "keep_first"
		return nil
	})
	if err != nil || d.Name != "autumn" {
		t.Fatalf("it is described as %+v, %v", d, err)
	}
	check, err := c.Check(ctx, b.ID, 0)
	if err != nil || check.Items != 2 || check.Duplicates != 1 || !check.Complete {
		t.Errorf("the rows are %+v, %v", check, err)
	}
	d.Name = "winter"
	if d, err = c.Describe(ctx, b.ID, d); err != nil || d.Name != "winter" {
		t.Errorf("it is described as %+v, %v", d, err)
	}
	if d, err = c.Draft(ctx, b.ID); err != nil || d.Name != "winter" {
		t.Errorf("it is described as %+v, %v", d, err)
	}
	if _, err := c.Start(ctx, b.ID, api.Start{}); err != nil {
		t.Error(err)
	}
}
