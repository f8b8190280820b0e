// The own account: link a wallet, make and approve an order key, approve the builder fee, take back, forget.
import { hex as ofBytes } from "../vendor/order.js";
import { DOMAIN, fields } from "./types.js";
import { $, data } from "./dom.js";
import { forget, held, make, shows } from "./key.js";
import { NOBODY, post } from "./order.js";
import { Problem, account, ask, hex, mark, remembered, tell } from "./wallet.js";

const own = data("own"), { owner } = document.body.dataset, words = $("own").dataset;
const TYPES = { ApproveAgent: "hyperliquidChain string,agentAddress address,agentName string,nonce uint64", ApproveBuilderFee: "hyperliquidChain string,maxFeeRate string,builder address,nonce uint64" };

/** On a press of a form’s button: do the work, then send the form; what goes wrong is said beside it. */
function on(id, work) {
  const form = $(id), button = form?.querySelector("[data-go]");
  button?.addEventListener("click", async () => {
    const state = form.querySelector(".state");
    button.disabled = true;
    try {
      const wallet = await remembered();
      if (own.wallet) await shows(wallet, own.wallet);
      await work(wallet, form.elements, (text) => tell(state, text));
      form.requestSubmit();
    } catch (e) {
      tell(state, e instanceof Problem ? e.message : words.failed + " " + (e?.message ?? e), "warn");
      button.disabled = false;
      button.focus();
    }
  });
  if (button) button.disabled = "later" in button.dataset;
  return button;
}

/** The wallet signs one of the venue’s own approvals, made here from what the page shows; the form takes it in. */
async function approves(wallet, into, type, message) {
  const chain = "0x" + BigInt(await ask(wallet, "eth_chainId")).toString(16), nonce = Date.now(), primaryType = "HyperliquidTransaction:" + type;
  const whole = { hyperliquidChain: own.network === "mainnet" ? "Mainnet" : "Testnet", ...message, nonce };
  const typed = { domain: { name: "HyperliquidSignTransaction", version: "1", chainId: Number(chain), verifyingContract: NOBODY }, types: { EIP712Domain: DOMAIN, [primaryType]: fields(TYPES[type]) }, primaryType, message: whole };
  const raw = await ask(wallet, "eth_signTypedData_v4", [own.wallet, JSON.stringify(typed)]), v = parseInt(raw.slice(130), 16);
  const signature = { r: raw.slice(0, 66), s: "0x" + raw.slice(66, 130), v: v < 27 ? v + 27 : v };
  into.nonce.value = nonce;
  into.signature_chain_id.value = chain;
  into.signature.value = JSON.stringify(signature);
  return { action: { type: type[0].toLowerCase() + type.slice(1), signatureChainId: chain, ...whole }, nonce, signature };
}

/** A name with its end, by the days that were chosen. */
const lasting = (into, name) => `${name} valid_until ${Math.min(Date.now() + 864e5 * Number(into.days.value), Date.parse(own.until))}`;

/** The wallet approves a key under a name, or with nobody’s address takes back what has the name. */
function names(wallet, into, address, name) {
  into.agent_address.value = address;
  into.agent_name.value = name;
  return approves(wallet, into, "ApproveAgent", { agentAddress: address.toLowerCase(), agentName: name });
}

on("choose", async (wallet, into) => {
  into.address.value = await account(wallet);
});

/** What this page says and the text to sign does not; the terms are hashed here. */
async function missing(message) {
  const digest = ofBytes(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(own.terms)))).slice(2);
  const site = [location.host, location.origin].some((here) => message.startsWith(here + " wants you to sign in with your Ethereum account:\n" + own.address + "\n"));
  return [...(site ? [] : [location.host]), ...[`signed in with ${owner}.`, "does not move funds and does not allow trading.", `\nURI: ${location.origin}\n`, `\n- urn:terms:sha256:${digest}\n- urn:venue:${own.network}`].filter((part) => !message.includes(part))];
}

const linking = on("link", async (wallet, into) => {
  await shows(wallet, own.address);
  into.signature.value = await ask(wallet, "personal_sign", [hex($("message").textContent.trim()), own.address]);
});
if (linking) missing($("message").textContent.trim()).then((lacks) => {
  linking.disabled = !mark("text", !lacks.length);
  if (lacks.length) tell(document.querySelector("#link .state"), words.lacks + " " + lacks.join(", "), "bad");
}, () => { linking.disabled = true; });

on("enable", async (wallet, into, say) => {
  if (!globalThis.crypto?.subtle) throw new Problem("other", words.insecure);
  say(words.three);
  const address = await make(wallet, own.wallet, own.network);
  try { await names(wallet, into, address, lasting(into, own.name)); }
  catch (e) { await forget(address); throw e; }
});

on("revoke", async (wallet, into) => {
  await names(wallet, into, NOBODY, own.name);
  await forget(own.key);
});

on("keeper-enable", (wallet, into) => names(wallet, into, $("keeper-key").textContent.trim(), lasting(into, own.keeper_name)));
on("keeper-revoke", (wallet, into) => names(wallet, into, NOBODY, own.keeper_name));

on("fee", async (wallet, into, say) => {
  const approval = await approves(wallet, into, "ApproveBuilderFee", { maxFeeRate: into.max_fee_rate.value, builder: $("builder").textContent.trim().toLowerCase() });
  say(words.telling);
  const answer = await post(own.venue + "/exchange", approval);
  if (answer.status !== "ok") throw new Problem("other", words.refused + " " + String(answer.response).slice(0, 200));
});

const gone = $("forget"), here = (text) => { $("here").textContent = text; };
if (own.key) held(own.key).then((kept) => { here(kept ? words.here : words.elsewhere); gone.hidden = !kept; });
gone?.addEventListener("click", async () => { await forget(own.key); gone.hidden = true; here(words.forgotten); });
