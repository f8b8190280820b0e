/** For pairs of an address that is asked and one that its 402 names: whether the wallet is asked to pay. */
import { fetchWithMandate, NotPaid, walletClient } from "../src/index.js";

declare const process: { argv: string[] };

const WALLET = "https://wallet.example";
const wallet = walletClient(WALLET, { agentKey: "key" });
let named = "";

globalThis.fetch = async (input) => {
  const at = input instanceof Request ? input.url : String(input);
  if (at.startsWith(WALLET)) throw new Error("the wallet was asked");
  return new Response(JSON.stringify({ resource: { url: named }, accepts: [] }), { status: 402 });
};

const told: boolean[] = [];
for (const [url, next] of JSON.parse(process.argv[2] as string) as [string, string][]) {
  named = next;
  try {
    await fetchWithMandate(wallet, url, { publicId: "m_1", maxAmount: "1", why: "hosts" });
  } catch (error) {
    told.push(!(error instanceof NotPaid));
  }
}
console.log(JSON.stringify(told));
