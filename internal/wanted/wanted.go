// Package wanted holds modules in go.mod while what needs them is being written.
package wanted

import (
	_ "code.dny.dev/ssrf"
	_ "github.com/FastFilter/xorfilter"
	_ "github.com/danielgtaylor/huma/v2"
	_ "github.com/danielgtaylor/huma/v2/adapters/humago"
	_ "github.com/danielgtaylor/huma/v2/sse"
	_ "github.com/expr-lang/expr"
	_ "github.com/getkin/kin-openapi/openapi3"
	_ "github.com/getkin/kin-openapi/openapi3filter"
	_ "github.com/getkin/kin-openapi/routers/gorillamux"
	_ "github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/johannesboyne/gofakes3"
	_ "github.com/johannesboyne/gofakes3/backend/s3mem"
	_ "github.com/minio/minio-go/v7"
	_ "github.com/netresearch/go-cron"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/client_golang/prometheus/testutil/promlint"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/tus/tusd/v2/pkg/filestore"
	_ "github.com/tus/tusd/v2/pkg/handler"
	_ "github.com/twmb/franz-go/pkg/kfake"
	_ "github.com/twmb/franz-go/pkg/kgo"
	_ "github.com/twmb/franz-go/pkg/kadm"
	_ "golang.org/x/time/rate"
)
