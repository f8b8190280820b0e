/** Pays for one request; prints what came of it as one line of JSON. */
import { fetchWithMandate, NotPaid, walletClient } from "../src/index.js";

declare const process: { argv: string[] };

const [base, agentKey, publicId, url, maxAmount, signer, timeoutMs] = process.argv.slice(2) as [
  string, string, string, string, string, string, string,
];
const wallet = walletClient(base, { agentKey });
const sign = async (typedData: unknown): Promise<string> =>
  (await fetch(signer, { method: "POST", body: JSON.stringify(typedData) })).text();

try {
  const options = { publicId, maxAmount, why: "the report", sign, timeoutMs: Number(timeoutMs) };
  const { response, payment } = await fetchWithMandate(wallet, url, options);
  console.log(JSON.stringify({ status: response.status, body: await response.text(), bill: payment?.bill.bill_id }));
} catch (error) {
  if (error instanceof NotPaid) console.log(JSON.stringify({ notPaid: error.message, code: error.refusal?.error }));
  else console.log(JSON.stringify({ failed: (error as Error).name }));
}
