// Plays a story over MCP with the TypeScript SDK. Reads {url, transport, key, steps: [{tool, arguments}]} from stdin and
// prints {tools: [name…], answers: [{isError, body}]}.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const story = JSON.parse(readFileSync(0, "utf8"));
const headers = { "X-Service-User-Key": story.key };
const transport =
  story.transport === "sse"
    ? new SSEClientTransport(new URL(story.url), { requestInit: { headers } })
    : new StreamableHTTPClientTransport(new URL(story.url), { requestInit: { headers } });
const client = new Client({ name: "story", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const answers = [];
for (const step of story.steps) {
  const told = await client.callTool({ name: step.tool, arguments: step.arguments });
  answers.push({ isError: told.isError ?? false, body: told.structuredContent, text: JSON.parse(told.content[0].text) });
}
await client.close();
console.log(JSON.stringify({ tools: tools.map((t) => t.name), answers }));
