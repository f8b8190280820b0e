#!/usr/bin/env bash
# Plays a story of one way, {url, key, steps}, over MCP with nothing but curl and python's json; stdout as in story.mjs.
set -euo pipefail
story=$(cat)
get() { python3 -c 'import json,sys; told=json.loads(sys.argv[1]); print(eval(sys.argv[2]))' "$1" "$2"; }
url=$(get "$story" 'told["url"]')
key=$(get "$story" 'told["key"]')
heads=$(mktemp)
trap 'rm -f "$heads"' EXIT
post() {
  curl -sS --fail-with-body -D "$heads" -X POST "$url" -H "X-Service-User-Key: $key" -H 'Content-Type: application/json' \
    -H 'Accept: application/json, text/event-stream' "${session[@]}" -d "$1"
}
session=()
hello='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'
post "$hello" > /dev/null
id=$(grep -i '^mcp-session-id:' "$heads" | tr -d '\r' | cut -d' ' -f2)
session=(-H "Mcp-Session-Id: $id" -H 'MCP-Protocol-Version: 2025-11-25')
post '{"jsonrpc":"2.0","method":"notifications/initialized"}' > /dev/null
listed=$(post '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
answers=()
steps=$(get "$story" 'len(told["steps"])')
for ((n = 0; n < steps; n++)); do
  call=$(get "$story" 'json.dumps({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":told["steps"]['"$n"']["tool"],"arguments":told["steps"]['"$n"']["arguments"]}})')
  answers+=("$(post "$call")")
done
python3 - "$listed" "${answers[@]}" << 'PY'
import json, sys
listed, *answers = (json.loads(a)["result"] for a in sys.argv[1:])
told = [{"isError": a.get("isError", False), "body": a["structuredContent"], "text": json.loads(a["content"][0]["text"])} for a in answers]
print(json.dumps([{"tools": [t["name"] for t in listed["tools"]], "answers": told}]))
PY
