#!/bin/sh
# The curl lines of Metarank's documentation, with the address and the model of a running service.
# usage: metarank.sh URL MODEL [WRITE_KEY]; with a key, or without keys, feedback is sent, too.
set -eu
url=$1
model=$2
key=${3:-none}

answer=$(curl -sS -H "Authorization: Bearer $key" "$url/rank/$model?explain=true" -d '{
  "id": "81f46c34-a4bb-469c-8708-f8127cd67d27",
  "timestamp": "1599391467000",
  "user": "user1",
  "session": "session1",
  "fields": [
      {"name": "query", "value": "alpha"},
      {"name": "source", "value": "search"}
  ],
  "items": [
    {"id":"72998"}, {"id":"589", "fields": [{"name": "title", "value": "alpha"}]}, {"id":"134130"}
  ]
}')
echo "$answer" | grep -q '"took":' && echo "$answer" | grep -q '"items":\[{"item":"589"' || { echo "FAILED: $answer"; exit 1; }
echo "ok: rank"

answer=$(curl -sS -H "Authorization: Bearer $key" "$url/feedback" -d '{
    "event": "ranking",
    "id": "id1",
    "items": [
        {"id":"72998"}, {"id":"589"}, {"id":"134130"}, {"id":"5459"},
        {"id":"1917"}, {"id":"2571"}, {"id":"1527"}, {"id":"97752"},
        {"id":"1270"}, {"id":"1580"}, {"id":"109487"}, {"id":"79132"}
    ],
    "user": "alice",
    "session": "alice1",
    "timestamp": 1661431894711
}')
echo "$answer" | grep -q '"status":"ok","accepted":1,"updated":0,"tookMillis":' || { echo "FAILED: $answer"; exit 1; }
echo "ok: feedback, a ranking"

answer=$(curl -sS -H "Authorization: Bearer $key" "$url/feedback" -d '{
    "event": "interaction",
    "type": "click",
    "fields": [],
    "id": "id2",
    "ranking": "id1",
    "item": "1580",
    "user": "alice",
    "session": "alice1",
    "timestamp": 1661431896711
}')
echo "$answer" | grep -q '"status":"ok","accepted":1,"updated":0,"tookMillis":' || { echo "FAILED: $answer"; exit 1; }
echo "ok: feedback, an interaction"
