// Makes one call that may be answered with a task, by the official client of the tasks extension, and follows it to its end. Reads
// {url, key, tool, arguments} from stdin and prints a line when the call is answered, and one with the outcome.
import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";

const asked = JSON.parse(readFileSync(0, "utf8"));
const version = "2026-07-28";
const about = { name: "tasks", version: "1" };
const keyed = { "X-Service-User-Key": asked.key };

// The client's own codecs take no task, so that its host sends what concerns one: the extension has formed it.
let id = 0;
async function rawDispatch(request, options) {
  const headers = {
    ...keyed,
    ...options?.context?.headers,
    Accept: "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": version,
    "Mcp-Method": request.method,
    "Mcp-Name": request.params.taskId ?? request.params.name,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: ++id, ...request });
  const answer = await (await fetch(asked.url + "/mcp", { method: "POST", headers, body, signal: options?.signal })).json();
  return answer.error ? { kind: "error", error: answer.error } : { kind: "result", result: answer.result };
}

const client = new Client(about, { versionNegotiation: { mode: { pin: version } } });
await client.connect(new StreamableHTTPClientTransport(new URL(asked.url + "/mcp"), { requestInit: { headers: keyed } }));
const session = createTaskSessionFromClient(client, {
  endpointId: "wallet",
  rawDispatch,
  v2RequestFraming: { protocolVersion: version, clientInfo: about, clientCapabilities: {} },
});
const execution = await session.callTool(asked.tool, asked.arguments);
console.log(JSON.stringify({ kind: execution.kind, taskId: execution.handle?.taskId }));
const states = [];
const { outcome } = await execution.settle({ onEvent: (e) => void (e.task && states.push(e.task.status)) });
console.log(JSON.stringify({ status: outcome.status, result: outcome.result, states }));
await session.close();
await client.close();
process.exit(0);
