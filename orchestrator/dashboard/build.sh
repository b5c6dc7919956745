#!/usr/bin/env bash
# build.sh BIN [bundle|tools|check], with Node from the system if it is new enough, else from a wheel put beside Python.
# BIN is the virtual environment's bin folder, which has uv and python.
#   bundle  the pages, into dist/ (the default)
#   tools   what checks and the browser's tests need besides
#   check   the dashboard's types against those of the API
set -euo pipefail
bin=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"

new_enough() {
  command -v npm >/dev/null && node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null
}

if ! new_enough; then
  export PATH="$bin:$PATH"
  new_enough || "$bin/uv" pip install --quiet --python "$bin/python" --require-hashes -r ../../requirements-node.lock
  hash -r  # an older node has been found before
  new_enough || { echo "Node 20.19 or newer is needed" >&2; exit 1; }
fi

# Bounded: without the registry this says so soon instead of holding the installation up.
install() {
  npm ci "$@" --ignore-scripts --no-progress --loglevel=error \
    --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=2000 --fetch-timeout=30000
}

tools() {
  # npm ci begins by removing what is there, the mark too.
  [ node_modules/.tools -nt package-lock.json ] || { install && touch node_modules/.tools; }
}

bundle() {
  [ node_modules/.package-lock.json -nt package-lock.json ] || install --omit=dev
  # Built aside and then put in place: a page that is served meanwhile is whole.
  rm -rf dist.new dist.old
  ./node_modules/.bin/vite build --logLevel warn --outDir dist.new
  [ ! -d dist ] || mv dist dist.old
  mv dist.new dist
  rm -rf dist.old
}

check() {
  tools
  "$bin/python" -m orchestrator.api.reference --document >openapi.json
  npm run --silent types
  npm run --silent check
}

"${2:-bundle}"
