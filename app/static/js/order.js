// Whether the bytes that are to be signed are the order on the screen: pure functions, held against the venue's vectors under Node.
import { actionHash, hashTypedData, hex, pack } from "../vendor/order.js";

const field = (name, type = "string") => ({ name, type });
export const DOMAIN = [field("name"), field("version"), field("chainId", "uint256"), field("verifyingContract", "address")];
export const NOBODY = "0x" + "0".repeat(40);
const NAMES = { "orders.0.a": "product", "orders.0.b": "side", "orders.0.p": "price", "orders.0.s": "size", "orders.0.r": "reduce-only mark", "orders.0.t.limit.tif": "time in force", "orders.0.c": "order’s own id", "builder.b": "address that is paid for bringing it", "builder.f": "fee for bringing it", "cancels.0.asset": "product", "cancels.0.cloid": "order’s own id" };

/** The action that the words on the screen make, keys in the order in which the venue hashes them. */
export function actionOf(s) {
  if (s.kind === "cancel") return { type: "cancelByCloid", cancels: [{ asset: Number(s.asset), cloid: s.cloid }] };
  const order = { a: Number(s.asset), b: s.side === "buy", p: s.price, s: s.size, r: s.reduce === "yes", t: { limit: { tif: s.tif[0].toUpperCase() + s.tif.slice(1) } }, c: s.cloid };
  return { type: "order", orders: [order], grouping: "na", ...(s.builder ? { builder: { b: s.builder.toLowerCase(), f: Number(s.fee) } } : {}) };
}

/** What an order key signs for an action’s hash: the network is told by one letter. */
export const agentData = (network, connectionId) => ({
  domain: { name: "Exchange", version: "1", chainId: 1337, verifyingContract: NOBODY },
  types: { EIP712Domain: DOMAIN, Agent: [field("source"), field("connectionId", "bytes32")] },
  primaryType: "Agent", message: { source: network === "mainnet" ? "a" : "b", connectionId },
});

const flat = (value, at = "") => value && typeof value === "object" ? Object.entries(value).flatMap(([k, v]) => flat(v, at + "." + k)) : [[at.slice(1), value]];
const scaled = (text) => { const [whole, frac = ""] = text.split("."); return BigInt(whole + frac.padEnd(8, "0")); };

/** USDC millionths of size × price, rounded up. */
export const worth = (size, price) => (scaled(size) * scaled(price) + 9999999999n) / 10000000000n;

/** Why the bytes are not what the screen says, by the check of the page that fails; nothing where they are. `s`: the words on the screen. */
export function faults(told, s, now) {
  const found = { bytes: [], hash: [], signer: [], time: [] }, mine = actionOf(s), given = JSON.parse(told.action);
  const theirs = new Map(flat(given)), ours = new Map(flat(mine));
  for (const path of new Set([...theirs.keys(), ...ours.keys()]))
    if (theirs.get(path) !== ours.get(path)) found.bytes.push(`The ${NAMES[path] ?? `part “${path}”`} in the bytes is another than on this page.`);
  if (hex(pack(mine)) !== told.action_msgpack && !found.bytes.length) found.bytes.push("The bytes are not those of this order.");
  if (s.value && scaled(s.value.replaceAll(",", "")) / 100n !== worth(s.size, s.price)) found.bytes.push("The value on this page is not size times price.");
  if (hex(pack(given)) !== told.action_msgpack) found.hash.push("The packed bytes are of another action.");
  const hash = actionHash(mine, told.nonce, told.expires_after), data = agentData(s.network, hash);
  if (told.action_hash !== hash) found.hash.push("The fingerprint is of other bytes: another order, another time, or a vault’s.");
  if (told.network !== s.network || JSON.stringify(flat(told.typed_data).sort()) !== JSON.stringify(flat(data).sort())) found.hash.push("The message to sign is for another network or another fingerprint.");
  if (![s.wallet, s.key].every((a) => told.signer_must_be.includes(a)) || told.signer_must_be.length !== 2) found.signer.push("Another wallet or another order key is asked for than on this page.");
  if (!(now < told.expires_after && told.expires_after < now + 6e5 && Math.abs(told.nonce - now) < 864e5)) found.time.push("Its time is up, or this computer’s clock is wrong. Prepare it again.");
  return { found, digest: hashTypedData(data) };
}

/** The venue’s own number of a product, asked of the venue itself. */
export async function assetAt(url, product) {
  const info = async (asked) => (await (await fetch(url + "/info", { method: "POST", credentials: "omit", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked) })).json());
  const dex = product.includes(":") ? product.split(":")[0] : "", at = (await info({ type: "meta", dex })).universe.findIndex((u) => u.name === product);
  if (at < 0) return -1;
  return dex ? 100000 + 10000 * (await info({ type: "perpDexs" })).findIndex((d) => d?.name === dex) + at : at;
}
