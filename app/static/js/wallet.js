// The person's own wallet, found through EIP-6963; no key is ever here.
import { data } from "./dom.js";

const found = new Map();
const waiting = new Set();

addEventListener("eip6963:announceProvider", ({ detail }) => {
  const { info, provider } = detail ?? {};
  if (!info?.rdns || !provider || found.has(info.uuid)) return;
  const icon = /^data:image\/(png|svg\+xml|webp|jpeg|gif)[;,]/.test(info.icon ?? "") ? info.icon : null;
  found.set(info.uuid, Object.freeze({ name: String(info.name).slice(0, 40), rdns: String(info.rdns).slice(0, 80), icon, provider }));
  for (const tell of waiting) tell([...found.values()]);
});

/** Tell of the wallets that are there, now and whenever one more announces itself. */
export function wallets(tell) { waiting.add(tell); tell([...found.values()]); dispatchEvent(new Event("eip6963:requestProvider")); }

/** The wallet that was used last. */
export const last = () => localStorage.getItem("wallet");

/** That wallet, or the only one; it may announce itself a moment late. */
export async function remembered(ms = 400) {
  const wanted = last();
  const pick = () => [...found.values()].find((w) => w.rdns === wanted) ?? (found.size === 1 ? [...found.values()][0] : null);
  dispatchEvent(new Event("eip6963:requestProvider"));
  for (let spent = 0; spent < ms && !pick(); spent += 50) await new Promise((r) => setTimeout(r, 50));
  const wallet = pick();
  if (!wallet) throw new Problem("no_wallet");
  return wallet;
}

let texts;
/** A text of the page by its code; for a code without one what there is `more` to say. */
export function says(code, more = "") {
  texts ??= data("wallet-says") ?? {};
  return texts[code]?.replace("{more}", more) ?? (more || code);
}

/** What a wallet, or the way to it, did not do; its message is for the person. */
export class Problem extends Error {
  constructor(code, more = "") { super(says(code, more)); this.code = code; }
  /** True where the wallet has certainly sent nothing. */
  get sure() { return ["rejected", "busy", "locked", "funds"].includes(this.code); }
}

const CODES = { 4001: "rejected", ACTION_REJECTED: "rejected", [-32002]: "busy", 4100: "locked", 4900: "offline", 4901: "offline" };

/** Ask the wallet. Throws a Problem with a sentence for the person. */
export async function ask(wallet, method, params) {
  try { return await wallet.provider.request({ method, params }); }
  catch (e) {
    const code = CODES[e?.code] ?? (/insufficient funds/i.test(e?.message ?? "") ? "funds" : null);
    throw code ? new Problem(code) : new Problem("answers", String(e?.message ?? e).slice(0, 200));
  }
}

/** See that the wallet shows this owner on this chain; a switch is asked for once. */
export async function ready(wallet, owner, chain, name) {
  const accounts = await ask(wallet, "eth_requestAccounts");
  if (!accounts?.length) throw new Problem("locked");
  if (accounts[0].toLowerCase() !== owner.toLowerCase()) throw new Problem("other_account", owner);
  if (Number(await ask(wallet, "eth_chainId")) === chain) return;
  try { await wallet.provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId: "0x" + chain.toString(16) }] }); }
  catch (e) { throw new Problem(e?.code === 4902 ? "unknown_chain" : e?.code === 4001 ? "rejected" : "other_chain", `${name} (${chain})`); }
  if (Number(await ask(wallet, "eth_chainId")) !== chain) throw new Problem("other_chain", `${name} (${chain})`);
}

/** Show how it goes. */
export function tell(state, text, look = "") { state.className = "state note " + look; state.textContent = text; }

/** Show what went wrong. */
export function fail(state, e) { tell(state, e instanceof Problem ? e.message : String(e), "warn"); }

/** Mark a check of the page as passed or not. */
export function mark(name, ok) { document.querySelector(`[data-check=${name}]`).className = ok ? "ok" : "no"; return ok; }

/** On a press: the wallet signs the typed data (JSON text), and the form takes the signature in. */
export function signs(button, state, form, typed) {
  const { owner, chain, chainName } = document.body.dataset;
  button.addEventListener("click", async () => {
    button.disabled = true;
    tell(state, says("typed"));
    try {
      const wallet = await remembered();
      await ready(wallet, owner, Number(chain), chainName);
      mark("wallet", true);
      form.elements.signature.value = await ask(wallet, "eth_signTypedData_v4", [owner, typed]);
      tell(state, says("signed"));
      form.requestSubmit();
    } catch (e) {
      fail(state, e);
      button.disabled = false;
    }
  });
}

export function hex(text) { return "0x" + [...new TextEncoder().encode(text)].map((b) => b.toString(16).padStart(2, "0")).join(""); }
