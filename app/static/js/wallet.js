// The person's own wallet, found through EIP-6963; no key is ever here.
import { $, data } from "./dom.js";

const found = new Map();
const list = () => [...found.values()];
const request = () => dispatchEvent(new Event("eip6963:requestProvider"));
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));
let heard;

addEventListener("eip6963:announceProvider", ({ detail }) => {
  const { info, provider } = detail ?? {};
  if (!info?.rdns || !provider || found.has(info.uuid)) return;
  const icon = /^data:image\//.test(info.icon) && info.icon; // an <img> runs nothing, whatever is in it
  found.set(info.uuid, { name: String(info.name).slice(0, 40), rdns: String(info.rdns).slice(0, 80), icon, provider });
  heard?.(list());
});

/** Tell of the wallets that are there, now and whenever one more announces itself. */
export function wallets(listen) { heard = listen; heard(list()); request(); }

/** The wallet that was used last. */
export const last = () => localStorage.getItem("wallet");

/** That wallet, or the only one; it may announce itself a moment late. */
export async function remembered(ms = 400) {
  const pick = () => list().find((w) => w.rdns === last()) ?? (found.size === 1 ? list()[0] : null);
  request();
  for (let spent = 0; spent < ms && !pick(); spent += 50) await pause(50);
  const wallet = pick();
  if (!wallet) throw new Problem("no_wallet");
  return wallet;
}

let texts;
/** A text of the page by its code; for a code without one what there is `more` to say. */
export function says(code, more = "") {
  texts ??= data("wallet-says") ?? {};
  return texts[code]?.replace("{more}", () => more) ?? (more || code);
}

/** What a wallet, or the way to it, did not do; its message is for the person. */
export class Problem extends Error { constructor(code, more = "") { super(says(code, more)); this.code = code; } }

const CODES = { 4001: "rejected", ACTION_REJECTED: "rejected", [-32002]: "busy", 4100: "locked", 4900: "offline", 4901: "offline" };

/** True for the same address or hash, however it is written. */
export const same = (a, b) => String(a).toLowerCase() === String(b).toLowerCase();

/** The page's network as wallets name it. */
export const chainId = () => "0x" + Number(document.body.dataset.chain).toString(16);

/** Ask the wallet. Throws a Problem for the person. */
export async function ask(wallet, method, params) {
  try { return await wallet.provider.request({ method, params }); }
  catch (e) {
    throw new Problem(CODES[e?.code] ?? (/insufficient funds/i.test(e?.message) ? "funds" : "answers"), String(e?.message ?? e).slice(0, 200));
  }
}

/** The account that the wallet shows. Throws a Problem where it shows none. */
export async function account(wallet) {
  const [shown] = await ask(wallet, "eth_requestAccounts") ?? [];
  if (!shown) throw new Problem("locked");
  return shown;
}

/** The wallet, once it shows the page's owner on the page's network; a switch is asked for once. */
export async function mine() {
  const { owner, chain, chainName } = document.body.dataset, wallet = await remembered(), where = `${chainName} (${chain})`;
  const there = async () => Number(await ask(wallet, "eth_chainId")) === Number(chain);
  if (!same(await account(wallet), owner)) throw new Problem("other_account", owner);
  if (!(await there())) {
    try { await wallet.provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId: chainId() }] }); }
    catch (e) { throw new Problem({ 4902: "unknown_chain", 4001: "rejected" }[e?.code] ?? "other_chain", where); }
    if (!(await there())) throw new Problem("other_chain", where);
  }
  mark("wallet", true);
  return wallet;
}

/** Show how it goes. */
export function tell(state, text, look = "") { state.className = "state note " + look; state.textContent = text; }

/** Show what went wrong. */
export function fail(state, e) { tell(state, e instanceof Problem ? e.message : String(e), "warn"); }

/** Mark a check of the page as passed or not. */
export function mark(name, ok) { document.querySelector(`[data-check=${name}]`).className = ok ? "ok" : "no"; return ok; }

/** On a press: do the work; where it fails, say so, and the button is on again. */
export function pressed(button, state, first, work) {
  button.onclick = async () => {
    button.disabled = true;
    tell(state, first);
    try { await work(); } catch (e) { fail(state, e); button.disabled = false; button.focus(); }
  };
}

/** On a press: the wallet signs the typed data, and the form takes it in. With faults the button stays off. */
export function signs(form, typed, faults) {
  const button = $("sign"), state = $("state");
  if (faults.length) return tell(state, [says("tampered"), ...faults].join(" "), "bad");
  button.disabled = false;
  pressed(button, state, says("typed"), async () => {
    form.elements.signature.value = await ask(await mine(), "eth_signTypedData_v4", [document.body.dataset.owner, JSON.stringify(typed)]);
    tell(state, says("signed"));
    form.requestSubmit();
  });
}

export function hex(text) { return "0x" + [...new TextEncoder().encode(text)].map((b) => b.toString(16).padStart(2, "0")).join(""); }
