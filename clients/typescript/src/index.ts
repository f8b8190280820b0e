/** A typed client of the delegated-spending wallet: openapi-fetch over the generated types. */
import createClient, { type Client, type ClientOptions } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type Schemas = components["schemas"];
export type Refusal = Schemas["Refusal"];

/** An agent has a key, an owner the token of a session. */
export interface Credential {
  agentKey?: string;
  sessionToken?: string;
}

export type WalletClient = Client<paths>;

/** Money is decimal text, times are ISO 8601 in UTC; a refusal comes back as `error`. */
export function walletClient(
  baseUrl: string,
  credential: Credential = {},
  options: ClientOptions = {},
): WalletClient {
  const headers: Record<string, string> = {};
  if (credential.agentKey) headers["X-Service-User-Key"] = credential.agentKey;
  if (credential.sessionToken) headers["Authorization"] = `Bearer ${credential.sessionToken}`;
  return createClient<paths>({ ...options, baseUrl, headers });
}

export { fetchWithMandate, NotPaid, type PayOptions, type Sign } from "./paying.js";
