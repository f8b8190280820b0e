// The person's own wallet, found through EIP-6963; no key is ever here.
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
export function last() { return localStorage.getItem("wallet"); }

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

/** What a wallet, or the way to it, did not do; its message is for the person. */
export class Problem extends Error {
  constructor(code, more = "") { super(TEXTS[code] ? TEXTS[code].replace("{more}", more) : more || code); this.code = code; }
  /** True where the wallet has certainly sent nothing. */
  get sure() { return ["rejected", "busy", "locked", "funds"].includes(this.code); }
}

const TEXTS = {
  no_wallet: "No wallet was found here. Install one that you trust, or open this page in its own browser.",
  rejected: "You rejected it in your wallet. Nothing was signed and nothing was sent.",
  busy: "Your wallet is already asking you something. Open it and answer there.",
  locked: "Your wallet is locked, or does not share an account with this site. Unlock it and try again.",
  offline: "Your wallet has lost its connection. Look there whether it was sent before you send it again.",
  other_account: "Your wallet shows another account. This mandate belongs to {more}. Switch the account in your wallet.",
  other_chain: "Your wallet is on another network and did not switch. This mandate lives on {more}.",
  unknown_chain: "Your wallet does not know the network {more}. Add it there first.",
  funds: "The wallet says there is not enough for this, gas included. Nothing was sent.",
  elsewhere: "Another tab of this browser is sending this. Nothing was sent from here.",
  left: "This was handed to your wallet before, and the page was left before the wallet answered. Look there: what waits can still be confirmed or rejected there, what was sent is in the record soon. Only if your wallet shows neither, start over.",
  no_hash: "Your wallet named no transaction. Look there whether it was sent before you send it again.",
  silent: "You have sent this before, and the service does not answer: what became of it is not known. Do not send it again. Open this page anew in a moment.",
  underway: "It is still on its way. Wait for it in your wallet, then open this page again.",
  first_failed: "The first transaction failed on chain. Nothing was deposited.",
  batch_failed: "Your wallet says that the calls failed. Nothing was deposited.",
};
const CODES = { 4001: "rejected", ACTION_REJECTED: "rejected", [-32002]: "busy", 4100: "locked", 4900: "offline", 4901: "offline" };

/** Ask the wallet. Throws a Problem with a sentence for the person. */
export async function ask(wallet, method, params) {
  try { return await wallet.provider.request({ method, params }); }
  catch (e) {
    const code = CODES[e?.code] ?? (/insufficient funds/i.test(e?.message ?? "") ? "funds" : null);
    throw code ? new Problem(code) : new Problem("other", "Your wallet answers: " + String(e?.message ?? e).slice(0, 200) + ". Look there before you try again.");
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

/** Mark a check of the page as passed or not. */
export function mark(name, ok) { document.querySelector(`[data-check=${name}]`).className = ok ? "ok" : "no"; return ok; }

/** On a press: the wallet signs the typed data (JSON text), and the form takes the signature in. */
export function signs(button, state, form, typed) {
  const { owner, chain, chainName } = document.body.dataset;
  button.addEventListener("click", async () => {
    button.disabled = true;
    tell(state, "Compare in your wallet, then confirm there. It must show the same values as this page.");
    try {
      const wallet = await remembered();
      await ready(wallet, owner, Number(chain), chainName);
      mark("wallet", true);
      form.elements.signature.value = await ask(wallet, "eth_signTypedData_v4", [owner, typed]);
      tell(state, "Signed. Handing it in.");
      form.requestSubmit();
    } catch (e) {
      tell(state, e instanceof Problem ? e.message : String(e), "warn");
      button.disabled = false;
    }
  });
}

export function hex(text) { return "0x" + [...new TextEncoder().encode(text)].map((b) => b.toString(16).padStart(2, "0")).join(""); }
