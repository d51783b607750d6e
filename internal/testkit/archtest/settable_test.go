package archtest

import (
	"slices"
	"testing"
)

// readElsewhere are fields that can be set and that no code selects by name.
func readElsewhere() map[string]string {
	except := map[string]string{}
	for how, names := range map[string][]string{
		"the audit log takes the reason of every body as it comes": {"api.Backfill.Reason", "api.Start.Reason"},
		"translated whole into the type of the same name in package stored": {
			"api.Callback.Events", "api.Callback.Secret", "api.Callback.URL",
			"api.KafkaSource.Connection", "api.KafkaSource.IDFromKey", "api.KafkaSource.Since", "api.KafkaSource.Topic",
			"api.ObjectSource.Bucket", "api.ObjectSource.Connection", "api.ObjectSource.Format", "api.ObjectSource.Key",
			"api.PostgresSource.Connection", "api.PostgresSource.Key", "api.PostgresSource.Query",
			"api.SegmentSource.Body", "api.SegmentSource.Connection", "api.SegmentSource.CursorParam", "api.SegmentSource.LimitParam", "api.SegmentSource.Method", "api.SegmentSource.URL",
		},
		"redeemed before the caller is known, see Server.redeem": {"server.eventsInput.Ticket"},
		"read by Step.Name":                           {"stored.Step.ID"},
		"only shown: limits have a body of their own": {"api.ResourceStatus.EffectiveAt"},
		"a source is written as JSON and read as a feed.Spec": {
			"stored.Source.PageSize", "stored.Source.Timeout", "stored.KafkaSource.Since", "stored.KafkaSource.Topic",
			"stored.ObjectSource.Bucket", "stored.ObjectSource.Format", "stored.ObjectSource.Key", "stored.PostgresSource.Query",
			"stored.SegmentSource.Body", "stored.SegmentSource.CursorParam", "stored.SegmentSource.LimitParam", "stored.SegmentSource.Method",
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
	dirs := []string{"internal/cli/config", "internal/server", "internal/service", "internal/assembly"}
	for _, noun := range []string{"registry", "chain", "draft", "bulk", "outlook", "watch", "result", "fleet", "stored"} {
		dirs = append(dirs, "internal/service/"+noun)
	}
	for _, name := range []string{"serve", "run", "bulk", "manage", "spec", "watch"} {
		dirs = append(dirs, "internal/cli/"+name)
	}
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
