/** The story that both clients play; prints what it saw as one line of JSON. */
import { walletClient } from "../src/index.js";

declare const process: { argv: string[] };

const [base, agentKey, publicId, target, data] = process.argv.slice(2) as [string, string, string, string, string];
const wallet = walletClient(base, { agentKey });
const path = { public_id: publicId };

const me = await wallet.GET("/wallet/agents/me");
const limits = await wallet.GET("/wallet/mandates/{public_id}/limits", { params: { path } });
const over = await wallet.GET("/wallet/mandates/{public_id}/execute-call", {
  params: { path, query: { target, data, approve_amount: "101" } },
});
const reported = await wallet.POST("/wallet/mandates/{public_id}/events", {
  params: { path },
  body: { kind: "note", payload: { text: "hello" } },
});
const read = await wallet.GET("/wallet/mandates/{public_id}", {
  params: { path, query: { parts: "progress,events" } },
});

console.log(
  JSON.stringify({
    agent: me.data?.name,
    possible: limits.data?.limits.remaining.value,
    binding: limits.data?.limits.remaining.binding.key,
    refused: over.error?.error,
    status: over.response.status,
    flagged: reported.data?.violation,
    worth: read.data?.progress?.worth_est,
    newest: read.data?.events?.[0]?.payload.text,
  }),
);
