// Calls one tool again and again with the official TypeScript clients, and connects anew where a connection broke. Reads
// {url, way, key, tool, clients, calls, pauseMs} from stdin and prints {answered, errors: {message: count}}.
import { readFileSync } from "node:fs";
import * as one from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import * as oneHttp from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as two from "@modelcontextprotocol/client";

const asked = JSON.parse(readFileSync(0, "utf8"));
const options = { requestInit: { headers: { "X-Service-User-Key": asked.key } } };
const about = { name: "calls", version: "1" };

async function connected() {
  if (asked.way === "streamable-2026") {
    const client = new two.Client(about, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
    await client.connect(new two.StreamableHTTPClientTransport(new URL(asked.url + "/mcp"), options));
    return client;
  }
  const client = new one.Client(about);
  await client.connect(
    asked.way === "sse-2025"
      ? new SSEClientTransport(new URL(asked.url + "/sse"), options)
      : new oneHttp.StreamableHTTPClientTransport(new URL(asked.url + "/mcp"), options),
  );
  return client;
}

const tally = { answered: 0, errors: {} };
async function caller(calls) {
  let left = calls;
  while (left > 0) {
    let client;
    try {
      client = await connected();
      for (; left > 0; left--) {
        const call = { name: asked.tool, arguments: {} };
        const told = await (asked.way === "streamable-2026" ? client.callTool(call) : client.callTool(call, undefined, { timeout: 20_000 }));
        const refused = told.structuredContent?.refusal;
        if (refused?.retry_safe) throw new Error("RetrySafe: " + refused.error);
        if (told.isError) throw new Error(JSON.stringify(told.structuredContent));
        tally.answered++;
        await new Promise((done) => setTimeout(done, asked.pauseMs));
      }
    } catch (error) {
      const cause = String(error.cause?.code ?? error.message);
      tally.errors[cause] = (tally.errors[cause] ?? 0) + 1;
      if (Object.values(tally.errors).reduce((a, b) => a + b) > Math.max(100, asked.calls)) break;
      await new Promise((done) => setTimeout(done, 100));
    }
    await client?.close().catch(() => {});
  }
}
await Promise.all(Array.from({ length: asked.clients }, () => caller(asked.calls / asked.clients)));
console.log(JSON.stringify(tally));
process.exit(0);
