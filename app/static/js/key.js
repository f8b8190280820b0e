// The order key: made here, kept here, encrypted under a key that only a signature of the wallet gives. It never leaves this browser.
import { addressOf, getAddress, newSecret } from "../vendor/order.js";
import { Problem, account as shown, ask, hex, same } from "./wallet.js";

const bytes = (text) => new TextEncoder().encode(text);
const done = (request) => new Promise((yes, no) => { request.onsuccess = () => yes(request.result); request.onerror = () => no(request.error); });
let opened = null;

async function store(mode, work) {
  const asked = indexedDB.open("order-keys", 1);
  asked.onupgradeneeded = () => asked.result.createObjectStore("keys", { keyPath: "address" });
  const db = await done(asked);
  try { return await done(work(db.transaction("keys", mode).objectStore("keys"))); } finally { db.close(); }
}

/** What is kept of a key: never more than its address and a sealed box. */
export const held = (address) => store("readonly", (s) => s.get(address.toLowerCase()));
export const forget = (address) => { drop(); return store("readwrite", (s) => s.delete(address.toLowerCase())); };
export function drop() { opened?.secret.fill(0); opened = null; }
addEventListener("pagehide", drop);

/** The text whose signature opens a key. */
const text = (network, address) => `${location.origin} asks to open the order key in this browser.\n\nKey: ${address}\nVenue network: ${network}\n\nThis signature moves no money and is sent to nobody. Whoever has it and this browser's storage can sign orders with the key: sign this text on ${location.origin} only.`;

async function sealer(signature, salt) {
  const base = await crypto.subtle.importKey("raw", bytes(signature.toLowerCase()), "HKDF", false, ["deriveKey"]);
  return crypto.subtle.deriveKey({ name: "HKDF", hash: "SHA-256", salt, info: bytes("wallet order key 1") }, base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}

const bound = (network, wallet, address) => bytes([network, wallet, address].join("|").toLowerCase());
const signature = (wallet, account, network, address) => ask(wallet, "personal_sign", [hex(text(network, address)), account]);

/** Make a key and keep it sealed; its address. A wallet that signs one text in two ways could not open it again: then none is made. */
export async function make(wallet, account, network) {
  const secret = newSecret(), address = addressOf(secret);
  try {
    const first = await signature(wallet, account, network, address);
    if (first.toLowerCase() !== (await signature(wallet, account, network, address)).toLowerCase())
      throw new Problem("two_ways");
    const salt = crypto.getRandomValues(new Uint8Array(32)), iv = crypto.getRandomValues(new Uint8Array(12));
    const box = await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData: bound(network, account, address) }, await sealer(first, salt), secret);
    await store("readwrite", (s) => s.put({ address: address.toLowerCase(), salt, iv, box }));
    return address;
  } finally { secret.fill(0); }
}

/** Open a key: one signature of the wallet a page. */
export async function open(wallet, account, network, of) {
  const address = getAddress(of);
  if (opened?.address === address) return opened.secret;
  const kept = await held(address);
  if (!kept) throw new Problem("no_key");
  let raw;
  const key = await sealer(await signature(wallet, account, network, address), kept.salt);
  try { raw = await crypto.subtle.decrypt({ name: "AES-GCM", iv: kept.iv, additionalData: bound(network, account, address) }, key, kept.box); }
  catch { throw new Problem("not_opened"); }
  const secret = new Uint8Array(raw);
  if (addressOf(secret) !== address) throw new Problem("another_key");
  opened = { address, secret };
  return secret;
}

/** The account that the wallet shows has to be this one. */
export async function shows(wallet, account) {
  if (!same(await shown(wallet), account)) throw new Problem("not_linked", account);
}
