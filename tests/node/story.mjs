// Plays a story over MCP with the TypeScript SDK. Reads {key, ways: [{url, transport, steps: [{tool, arguments}]}]} from
// stdin and prints [{tools: [name…], answers: [{isError, body}]}], one for each way.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

async function played(key, way) {
  const headers = { "X-Service-User-Key": key };
  const transport =
    way.transport === "sse"
      ? new SSEClientTransport(new URL(way.url), { requestInit: { headers } })
      : new StreamableHTTPClientTransport(new URL(way.url), { requestInit: { headers } });
  const client = new Client({ name: "story", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const answers = [];
  for (const step of way.steps) {
    const told = await client.callTool({ name: step.tool, arguments: step.arguments });
    answers.push({ isError: told.isError ?? false, body: told.structuredContent, text: JSON.parse(told.content[0].text) });
  }
  await client.close();
  return { tools: tools.map((t) => t.name), answers };
}

const story = JSON.parse(readFileSync(0, "utf8"));
const told = [];
for (const way of story.ways) told.push(await played(story.key, way));
console.log(JSON.stringify(told));
