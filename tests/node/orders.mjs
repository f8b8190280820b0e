// What the browser makes of orders. Reads {checks: [{told, says, now, words}], vectors: [{action, nonce, vault, expires, network, key}]} on stdin;
// prints {checks: [{found, digest}], vectors: [{packed, hash, signature, address}]}.
import { readFileSync } from "node:fs";
const { agentData, faults } = await import(process.argv[2]);
const { actionHash, addressOf, bytes, hashTypedData, hex, pack, sign } = await import(new URL("../vendor/order.js", process.argv[2]));

const { checks, vectors } = JSON.parse(readFileSync(0, "utf8"));
const looked = ({ told, says, now, words }) => { try { return faults(told, says, now, words); } catch (e) { return { found: { bytes: ["It cannot be read."] }, digest: null }; } };
const made = async ({ action, nonce, vault, expires, network, key }) => {
  const hash = actionHash(action, nonce, expires, vault), secret = bytes(key);
  return { packed: hex(pack(action)), hash, signature: await sign(hashTypedData(agentData(network, hash)), secret), address: addressOf(secret) };
};
process.stdout.write(JSON.stringify({ checks: checks.map(looked), vectors: await Promise.all(vectors.map(made)) }));
