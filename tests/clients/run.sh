#!/bin/sh
# Runs all clients against a service on a small simulated shop. usage: run.sh [MATCHRANK]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
matchrank=${1:-matchrank}
work=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2> /dev/null || true; wait "$server" || true; fi; rm -rf "$work"' EXIT
cd "$work"

python3 -m venv venv
venv/bin/pip install --quiet cohere llama-index-postprocessor-tei-rerank
printf 'id,title\nd1,alpha beta gamma\nd2,alpha delta\nd3,epsilon zeta\n' > docs.csv
printf 'query,document,clicks\nalpha,d1,3\nzeta,d3,2\ndelta,d2,1\n' > log.csv
"$matchrank" ingest --clicks log.csv --documents docs.csv --out shop --quiet
"$matchrank" train bm25 --data shop --out bm25.model --quiet

"$matchrank" serve --data shop --model bm25.model --state state --listen 127.0.0.1:0 --quiet > said &
server=$!
until grep -q serving said; do sleep 0.1; done
url=$(sed 's/.* //' said)
CO_API_URL=$url CO_API_KEY=any venv/bin/python "$here/cohere_client.py"
SERVICE_URL=$url venv/bin/python "$here/tei_client.py"
"$here/metarank.sh" "$url" bm25
