#!/bin/sh
# Installs what the tests need besides Go, if it is missing: redis-server,
# PostgreSQL, Chromium, Prometheus and Python, whose programs the tests start themselves. No service of the system
# is started.
set -eu

has_postgres() {
  command -v initdb >/dev/null && command -v postgres >/dev/null && return
  for program in /usr/lib/postgresql/*/bin/initdb; do # where Debian has them, outside the PATH
    [ -x "$program" ] && return
  done
  return 1
}

missing=
command -v redis-server >/dev/null || missing="redis-server"
has_postgres || missing="$missing postgresql"
command -v "${WEIR_CHROMIUM:-chromium}" >/dev/null || missing="$missing chromium"
{ command -v prometheus && command -v promtool; } >/dev/null || missing="$missing prometheus"
command -v python3 >/dev/null || missing="$missing python3"
if [ -z "$missing" ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing:" $missing "- the tests start redis-server 7.0 or later, PostgreSQL 13 or later, Chromium, Prometheus and Python 3.9 or later. Install them and try again, for instance:" >&2
  echo "  Debian, Ubuntu:  sudo apt-get install -y" $missing "   (or: sudo make deps)" >&2
  echo "  macOS:           brew install redis postgresql prometheus python; brew install --cask chromium" >&2
  exit 1
fi

policy=/usr/sbin/policy-rc.d # asked by every package that wants to start a service
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends $missing >/dev/null ||
  { apt-get update >/dev/null && apt-get install -y --no-install-recommends $missing >/dev/null; }
if command -v systemctl >/dev/null; then
  systemctl disable $missing >/dev/null 2>&1 || true # nor at the next start of the machine
fi
echo "installed:" $missing
