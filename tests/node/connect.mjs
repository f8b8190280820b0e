// Connects by OAuth with the official TypeScript client, from the 401 to a tool, and on to a wider scope. argv: the address, the
// era, the callback, the client's metadata document or nothing, a mandate. A line on stdout is where the browser is sent, one on stdin where it
// came back to; the last line is {agent, scopes, errors}.
import { createInterface } from "node:readline";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import * as one from "@modelcontextprotocol/sdk/client/index.js";
import * as oneHttp from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as two from "@modelcontextprotocol/client";

const [url, era, callback, document, mandate] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const [mcp, http] = era === "2026" ? [two, two] : [one, oneHttp];
const stored = {}, scopes = [];
const provider = {
  redirectUrl: callback,
  clientMetadataUrl: document || undefined,
  clientMetadata: {
    client_name: "An app", redirect_uris: [callback], grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"], token_endpoint_auth_method: "none",
  },
  state: () => "st",
  clientInformation: () => stored.client,
  saveClientInformation: (client) => { stored.client = client; },
  tokens: () => stored.tokens,
  saveTokens: (tokens) => { stored.tokens = tokens; scopes.push(tokens.scope); },
  redirectToAuthorization: (to) => console.log(JSON.stringify({ go: String(to) })),
  saveCodeVerifier: (verifier) => { stored.verifier = verifier; },
  codeVerifier: () => stored.verifier,
  saveDiscoveryState: (state) => { stored.discovery = state; },
  discoveryState: () => stored.discovery,
};
let errors = 0;

async function finish(transport) {
  const back = new URL((await lines.next()).value).searchParams;
  await (era === "2026" ? transport.finishAuth(back) : transport.finishAuth(back.get("code"), back.get("iss") ?? undefined));
}

// What is asked for may send the browser away; then it is asked for again, on a connection with the new token.
async function call(name, given) {
  for (;;) {
    const transport = new http.StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
    const client = era === "2026"
      ? new mcp.Client({ name: "connect", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } })
      : new mcp.Client({ name: "connect", version: "1" });
    try {
      await client.connect(transport);
      const told = await client.callTool({ name, arguments: given });
      if (told.isError) throw new Error(JSON.stringify(told.structuredContent));
      return told.structuredContent;
    } catch (error) {
      const Unauthorized = era === "2026" ? two.UnauthorizedError : UnauthorizedError;
      if (!(error instanceof Unauthorized) || ++errors > 3) throw error;
      await finish(transport);
    } finally {
      await client.close().catch(() => {});
    }
  }
}

const agent = (await call("agents_me", {})).agent_id;
// The older client answers 403 by a refresh, which widens nothing, and gives up: it is not shown here.
if (era === "2026") await call("mandate_report_event", { public_id: mandate, kind: "note", payload: { text: "looking around" }, idempotency_key: "n-1" });
console.log(JSON.stringify({ agent, scopes, errors }));
process.exit(0);
