// What the browser hashes and signs an order with: two functions of viem, the curve, and the venue's packing.
import * as secp from "@noble/secp256k1";
import { getAddress, hashTypedData, keccak256 } from "viem/utils";

const bytes = (hex) => Uint8Array.from(hex.replace(/^0x/, "").match(/../g) ?? [], (b) => parseInt(b, 16));
const hex = (raw) => "0x" + [...raw].map((b) => b.toString(16).padStart(2, "0")).join("");

/** Big-endian bytes of a whole number below 2^53. */
const big = (n, size) => Array.from({ length: size }, (_, i) => Number((BigInt(n) >> BigInt(8 * (size - 1 - i))) & 255n));

/** A head of msgpack: the short form, then those of 8, 16 and 32 bits (0: there is none). */
function head(n, short, most, codes) {
  if (n <= most) return [short | n];
  const size = n < 256 && codes[0] ? 0 : n < 65536 ? 1 : 2;
  return [codes[size], ...big(n, 1 << size)];
}

/** MessagePack as the venue's own clients write it: text, whole numbers from 0, true and false, lists, maps in their order. */
export function pack(value) {
  if (value === true || value === false) return [value ? 0xc3 : 0xc2];
  if (typeof value === "string") { const raw = new TextEncoder().encode(value); return [...head(raw.length, 0xa0, 31, [0xd9, 0xda, 0xdb]), ...raw]; }
  if (Number.isSafeInteger(value) && value >= 0) return value < 2 ** 32 ? head(value, 0, 127, [0xcc, 0xcd, 0xce]) : [0xcf, ...big(value, 8)];
  if (Array.isArray(value)) return [...head(value.length, 0x90, 15, [0, 0xdc, 0xdd]), ...value.flatMap(pack)];
  if (value && typeof value === "object") { const all = Object.entries(value); return [...head(all.length, 0x80, 15, [0, 0xde, 0xdf]), ...all.flat().flatMap(pack)]; }
  throw new TypeError("not to be packed");
}

/** The hash that stands for an action: its bytes, nonce, vault or none, expiry or none. */
export function actionHash(action, nonce, expires, vault = null) {
  const tail = [...big(nonce, 8), ...(vault ? [1, ...bytes(vault)] : [0]), ...(expires == null ? [] : [0, ...big(expires, 8)])];
  return keccak256(Uint8Array.from([...pack(action), ...tail]));
}

/** The address of a secret key of 32 bytes. */
export function addressOf(secret) {
  const point = secp.getPublicKey(secret, false);
  return getAddress("0x" + keccak256(point.slice(1)).slice(-40));
}

/** {r, s, v} over a hash, low s, the same each time (RFC 6979). */
export async function sign(hash, secret) {
  const raw = await secp.signAsync(bytes(hash), secret, { prehash: false, format: "recovered" });
  return { r: hex(raw.slice(1, 33)), s: hex(raw.slice(33, 65)), v: 27 + raw[0] };
}

export const newSecret = () => secp.utils.randomSecretKey();
export { bytes, getAddress, hashTypedData, hex, keccak256 };
