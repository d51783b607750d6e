#!/bin/sh
# Checks the OpenAPI document that a freshly built server serves: spectral and redocly have no error, and clients from
# openapi-typescript, hey-api, orval and ogen are generated, compiled (TypeScript strictly) and tell the story of
# walk/story.ts to the server. The client of oapi-codegen is tested by tools/apiclient, in make test.
#
# Run it with make generators. It needs Go, Node.js 20 and npm, works in a temporary directory, and takes about five
# minutes. Versions are pinned in package.json, package-lock.json and ogen/go.mod.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server=
stop() {
  [ -z "$server" ] || { kill "$server" && wait "$server" || true; }
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 1' INT TERM
export CGO_ENABLED=0

echo "== a server"
(cd "$here/../.." && go build -ldflags=-s -o "$work/weir" ./cmd/weir)
printf 'log: {format: json}\n' >"$work/weir.yaml"
(cd "$work" && exec ./weir serve --config weir.yaml --listen 127.0.0.1:0 --data data 2>serve.log >/dev/null) &
server=$!
url=
for _ in $(seq 300); do
  url=$(sed -n 's/.*"msg":"serving","url":"\([^"]*\)".*/\1/p' "$work/serve.log" 2>/dev/null || true)
  [ -z "$url" ] || break
  sleep 0.1
done
[ -n "$url" ] || { cat "$work/serve.log" >&2; exit 1; }

cp -R "$here/." "$work/js" && cd "$work/js" && rm -rf node_modules gen js
npm ci --ignore-scripts --no-audit --no-fund
PATH="$work/js/node_modules/.bin:$PATH"
get='fetch(process.argv[1]).then(async (r) => { if (!r.ok) throw r.status; process.stdout.write(await r.text()) })'
node -e "$get" "$url/openapi.json" >openapi.json
node -e "$get" "$url/openapi-3.0.json" >openapi-3.0.json

echo "== linters"
printf 'extends: ["spectral:oas"]\n' >spectral.yaml
spectral lint --fail-severity=warn -r spectral.yaml openapi.json
redocly lint --extends=recommended --max-problems=1000 openapi.json

echo "== openapi-typescript, hey-api, orval"
openapi-typescript openapi.json -o gen/openapi-typescript/schema.d.ts
openapi-ts -i openapi.json -o gen/hey-api -p @hey-api/client-fetch @hey-api/typescript @hey-api/sdk
orval --config ./orval.config.ts
wc -c gen/openapi-typescript/schema.d.ts
tsc -p .
for walk in openapi-fetch hey-api orval; do
  echo "$walk: $(node "js/walk/$walk.js" "$url")"
done

echo "== ogen"
cd ogen
node document.mjs ../openapi-3.0.json >openapi.json
go tool ogen --config ogen.yml --target weirogen --package weirogen openapi.json >ogen.log 2>&1 || { cat ogen.log >&2; exit 1; }
go build -tags generated -ldflags=-s -o "$work/ogenwalk" ./walk
echo "ogen: $("$work/ogenwalk" "$url")"
