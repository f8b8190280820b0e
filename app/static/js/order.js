// Whether the bytes that are to be signed are the order on the screen: pure functions, held against the venue's vectors under Node.
import { actionHash, hashTypedData, hex, pack } from "../vendor/order.js";
import { DOMAIN, fields } from "./types.js";

export const NOBODY = "0x" + "0".repeat(40);
/** Parts of an order by their names in the bytes, as the words of the page call them. */
const NAMES = { a: "product", b: "side", p: "price", s: "size", r: "reduce", tif: "tif", c: "cloid", asset: "product", cloid: "cloid" };

/** The action that the words on the screen make, keys in the order in which the venue hashes them. */
export function actionOf(s) {
  const a = Number(s.asset), c = s.cloid;
  if (s.kind === "cancel") return { type: "cancelByCloid", cancels: [{ asset: a, cloid: c }] };
  const order = { a, b: s.side === "buy", p: s.price, s: s.size, r: s.reduce === "yes", t: { limit: { tif: s.tif[0].toUpperCase() + s.tif.slice(1) } }, c };
  return { type: "order", orders: [order], grouping: "na", ...(s.builder ? { builder: { b: s.builder.toLowerCase(), f: Math.round(parseFloat(s.fee) * 1e3) } } : {}) };
}

/** What an order key signs for an action’s hash: the network is told by one letter. */
export const agentData = (network, connectionId) => ({
  domain: { name: "Exchange", version: "1", chainId: 1337, verifyingContract: NOBODY },
  types: { EIP712Domain: DOMAIN, Agent: fields("source string,connectionId bytes32") },
  primaryType: "Agent", message: { source: network === "mainnet" ? "a" : "b", connectionId },
});

const flat = (value, at = "") => value && typeof value === "object" ? Object.entries(value).flatMap(([k, v]) => flat(v, at + "." + k)) : [[at, value]];
const text = (value) => JSON.stringify(flat(value).sort());
const scaled = (figure) => { const [whole, frac = ""] = figure.replaceAll(",", "").split("."); return BigInt(whole + frac.padEnd(8, "0")); };

/** Why the bytes are not what the screen says, by the check of the page that fails; nothing where they are. `s`: the words on the screen; `words`: the sentences for what is wrong. */
export function faults(told, s, now, words) {
  const mine = actionOf(s), given = JSON.parse(told.action), theirs = new Map(flat(given)), ours = new Map(flat(mine)), hash = actionHash(mine, told.nonce, told.expires_after), data = agentData(s.network, hash);
  const others = [...new Set([...theirs.keys(), ...ours.keys()])].filter((path) => theirs.get(path) !== ours.get(path));
  const name = (path) => words[path.startsWith(".builder") ? "fee" : /^\.(orders|cancels)\.0\./.test(path) && NAMES[path.split(".").pop()]] ?? `“${path.slice(1)}”`;
  const value = s.value && scaled(s.value) / 100n !== (scaled(s.size) * scaled(s.price) + 9999999999n) / 10000000000n;
  return { digest: hashTypedData(data), found: {
    bytes: [...others.map((path) => words.other.replace("{part}", () => name(path))), ...(value ? [words.value] : [])],
    hash: [...(hex(pack(given)) !== told.action_msgpack || told.action_hash !== hash ? [words.bytes] : []),
      ...(told.network !== s.network || text(told.typed_data) !== text(data) ? [words.message] : [])],
    signer: String(told.signer_must_be) === s.wallet + "," + s.key ? [] : [words.signer],
    time: now < told.expires_after && told.expires_after < now + 6e5 && Math.abs(told.nonce - now) < 864e5 ? [] : [words.time],
  } };
}

/** Ask the venue itself; its answer. */
export const post = async (url, body) => (await fetch(url, { method: "POST", credentials: "omit", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();

/** The venue’s own number of a product, asked of the venue itself. */
export async function assetAt(url, product) {
  const info = (asked) => post(url + "/info", asked), dex = product.includes(":") ? product.split(":")[0] : "", at = (await info({ type: "meta", dex })).universe.findIndex((u) => u.name === product);
  return at < 0 || !dex ? at : 100000 + 10000 * (await info({ type: "perpDexs" })).findIndex((d) => d?.name === dex) + at;
}
