/** Ask for calldata within the limits, or learn who can lift what stands in the way. */
import { walletClient } from "../src/index.js";

export async function act(
  baseUrl: string,
  agentKey: string,
  publicId: string,
  target: string,
  data: string,
): Promise<string> {
  const wallet = walletClient(baseUrl, { agentKey });
  const path = { public_id: publicId };

  const limits = await wallet.GET("/wallet/mandates/{public_id}/limits", { params: { path } });
  if (limits.error) return `${limits.error.error}, for the ${limits.error.who_fixes} to fix`;
  const left = limits.data.limits.remaining;
  if (left.value === "0.000000") return `nothing is left: ${left.binding.key} binds`;

  const call = await wallet.GET("/wallet/mandates/{public_id}/execute-call", {
    params: { path, query: { target, data, approve_amount: "25", why: "rebalance" } },
  });
  if (call.error) return `${call.error.error}, for the ${call.error.who_fixes} to fix`;
  if (call.data.status === "pending_approval") return `the owner has to answer: ${call.data.approval_id}`;
  return `sign and send on chain ${call.data.chain_id}, to ${call.data.to}: ${call.data.data}`;
}
