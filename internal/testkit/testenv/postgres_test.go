package testenv_test

import (
	"testing"

	"github.com/weirhq/weir/internal/testkit/testenv"
)

func TestAPostgresComesBackWithItsData(t *testing.T) {
	s := testenv.Postgres(t)
	s.Exec("CREATE TABLE t (n int); INSERT INTO t VALUES (41)")
	s.Kill()
	s.Restart()
	s.Exec("DO $$ BEGIN ASSERT (SELECT n FROM t) = 41; END $$")
}
