package archtest

import (
	"slices"
	"testing"
)

// readElsewhere are fields that can be set and that no code selects by name.
func readElsewhere() map[string]string {
	except := map[string]string{}
	for how, names := range map[string][]string{
		"the audit log takes the reason of every body as it comes": {"api.Backfill.Reason", "api.Rotate.Reason", "api.Start.Reason"},
		"a source is written as JSON and read as a feed.Spec": {
			"api.Source.PageSize", "api.Source.Timeout", "api.KafkaSource.IDFromKey", "api.KafkaSource.Since", "api.KafkaSource.Topic",
			"api.ObjectSource.Bucket", "api.ObjectSource.Format", "api.ObjectSource.Key", "api.PostgresSource.Key", "api.PostgresSource.Query",
			"api.SegmentSource.Body", "api.SegmentSource.CursorParam", "api.SegmentSource.LimitParam", "api.SegmentSource.Method",
		},
	} {
		for _, name := range names {
			except[name] = how
		}
	}
	return except
}

func TestEverythingThatCanBeSetIsRead(t *testing.T) {
	tree := repository(t)
	dirs := []string{"internal/cli/config", "internal/cli", "internal/server", "internal/service", "internal/node"}
	var paths []string
	for _, dir := range dirs {
		paths = append(paths, tree.Module+"/"+dir)
	}
	e, err := listExports(tree.Root, paths...)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, CheckSettable(tree, e, dirs, readElsewhere()))
}

func TestSettableRuleFindsPlantedFields(t *testing.T) {
	root := write(t, "go.mod", "module example.test/weir\n\ngo 1.26.0\n",
		"config/server.go", "package config\n\ntype Server struct {\n\tUsed string `yaml:\"used\"`\n\tLost string `yaml:\"lost\"`\n\tIn Inner `yaml:\"in\"`\n}\n\ntype Inner struct { Deep int `yaml:\"deep\"` }\n\nfunc use(s *Server) (string, Inner) { s.Lost = s.Used; s.In.Deep = 1; return s.Used, s.In }\n",
		"server/query.go", "package server\n\ntype Paging struct { Limit int `query:\"limit\"`; Cursor string `query:\"cursor\"` }\n\ntype listInput struct {\n\tPaging\n\tBody struct { Note string `json:\"note\"` }\n}\n\nfunc list(in *listInput) int { return in.Limit }\n")
	tree, err := Load(root, "example.test/weir")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, v := range CheckSettable(tree, exports{}, []string{"config", "server"}, map[string]string{"config.Server.Used": "no need"}) {
		found = append(found, v.Where)
	}
	want := []string{"config.Inner.Deep", "config.Server.Lost", "server.Paging.Cursor", `struct{Note string "json:\"note\""}.Note`, "config.Server.Used"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}
