// The own account: link a wallet, make and approve an order key, approve the builder fee, take back, forget.
import { hex as ofBytes } from "../vendor/order.js";
import { NOBODY, DOMAIN } from "./order.js";
import { forget, held, make, shows } from "./key.js";
import { Problem, ask, hex, mark, remembered, tell } from "./wallet.js";

const own = JSON.parse(document.getElementById("own").textContent), { owner } = document.body.dataset;
const text = (id) => document.getElementById(id)?.textContent.trim() ?? "";
const chainName = own.network === "mainnet" ? "Mainnet" : "Testnet";
const TYPES = { ApproveAgent: "hyperliquidChain string,agentAddress address,agentName string,nonce uint64", ApproveBuilderFee: "hyperliquidChain string,maxFeeRate string,builder address,nonce uint64" };

/** On a press of a form’s button: do the work, then send the form; what goes wrong is said beside it. */
function on(id, work) {
  const form = document.getElementById(id), button = form?.querySelector("[data-go]");
  button?.addEventListener("click", async () => {
    const state = form.querySelector(".state");
    button.disabled = true;
    try {
      const wallet = await remembered();
      await work(wallet, form.elements, (t) => tell(state, t));
      form.requestSubmit();
    } catch (e) {
      tell(state, e instanceof Problem ? e.message : "It was not done: " + (e?.message ?? e), "warn");
      button.disabled = false;
    }
  });
  return button;
}

/** The wallet signs one of the venue’s own approvals, made here from what the page shows; the form takes it in. */
async function approves(wallet, fields, type, message) {
  const chain = "0x" + BigInt(await ask(wallet, "eth_chainId")).toString(16), nonce = Date.now(), primaryType = "HyperliquidTransaction:" + type;
  const types = { EIP712Domain: DOMAIN, [primaryType]: TYPES[type].split(",").map((f) => { const [name, kind] = f.split(" "); return { name, type: kind }; }) };
  const whole = { hyperliquidChain: chainName, ...message, nonce };
  const data = { domain: { name: "HyperliquidSignTransaction", version: "1", chainId: Number(chain), verifyingContract: NOBODY }, types, primaryType, message: whole };
  const raw = await ask(wallet, "eth_signTypedData_v4", [own.wallet, JSON.stringify(data)]), v = parseInt(raw.slice(130), 16);
  const signature = { r: raw.slice(0, 66), s: "0x" + raw.slice(66, 130), v: v < 27 ? v + 27 : v };
  Object.assign(fields.nonce, { value: nonce });
  fields.signature_chain_id.value = chain;
  fields.signature.value = JSON.stringify(signature);
  return { action: { type: type[0].toLowerCase() + type.slice(1), signatureChainId: chain, ...whole }, nonce, signature };
}

on("choose", async (wallet, fields) => {
  const [address] = await ask(wallet, "eth_requestAccounts") ?? [];
  if (!address) throw new Problem("locked");
  fields.address.value = address;
});

/** What in the text to sign is not what this page says; the terms are hashed here. */
async function missing(message) {
  const digest = ofBytes(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(own.terms))));
  return [[[location.host, location.origin].some((site) => message.startsWith(site + " wants you to sign in")), "this site"], [message.includes(`account:\n${own.address}\n`), "your wallet"],
    [message.includes(`signed in with ${owner}.`), "your session"], [message.includes("does not move funds and does not allow trading."), "that it moves nothing"], [message.includes(`\nURI: ${location.origin}\n`), "this address"],
    [message.endsWith(`\n- urn:terms:sha256:${digest.slice(2)}\n- urn:venue:${own.network}`), "these terms and this network"]].filter(([ok]) => !ok).map(([, name]) => name);
}

const linking = on("link", async (wallet, fields) => {
  await shows(wallet, own.address);
  fields.signature.value = await ask(wallet, "personal_sign", [hex(text("message")), own.address]);
});
if (linking) missing(text("message")).then((lacks) => {
  linking.disabled = !mark("text", !lacks.length);
  if (lacks.length) tell(document.querySelector("#link .state"), `The text to sign does not name ${lacks.join(", ")}. Do not sign it. Tell the operator.`, "bad");
}, () => { linking.disabled = true; });

on("enable", async (wallet, fields, say) => {
  if (!globalThis.crypto?.subtle) throw new Problem("other", "Without a secure connection (https) no key can be kept here. Paper orders work.");
  await shows(wallet, own.wallet);
  say("Your wallet asks three times: twice for the text that seals the key, then for the approval at the venue.");
  const until = Math.min(Date.now() + 864e5 * Number(fields.days.value), Date.parse(own.until)), address = await make(wallet, own.wallet, own.network);
  fields.agent_address.value = address;
  fields.agent_name.value = `${own.name} valid_until ${until}`;
  try { await approves(wallet, fields, "ApproveAgent", { agentAddress: address.toLowerCase(), agentName: fields.agent_name.value }); }
  catch (e) { await forget(address); throw e; }
});

on("revoke", async (wallet, fields) => {
  await shows(wallet, own.wallet);
  fields.agent_address.value = NOBODY;
  fields.agent_name.value = own.name;
  await approves(wallet, fields, "ApproveAgent", { agentAddress: NOBODY, agentName: own.name });
  if (own.key) await forget(own.key);
});

on("fee", async (wallet, fields, say) => {
  await shows(wallet, own.wallet);
  const rate = fields.max_fee_rate.value, { action, nonce, signature } = await approves(wallet, fields, "ApproveBuilderFee", { maxFeeRate: rate, builder: text("builder").toLowerCase() });
  say("Signed. Telling the venue.");
  const answer = await (await fetch(own.venue + "/exchange", { method: "POST", credentials: "omit", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ action, nonce, signature }) })).json();
  if (answer.status !== "ok") throw new Problem("other", "The venue refused: " + String(answer.response).slice(0, 200));
});

const gone = document.getElementById("forget");
if (own.key) held(own.key).then((kept) => {
  document.getElementById("here").textContent = kept ? "This browser holds it, sealed." : "This browser does not hold it: another one does, or nobody.";
  gone.hidden = !kept;
});
gone?.addEventListener("click", async () => {
  await forget(own.key);
  gone.hidden = true;
  document.getElementById("here").textContent = "Forgotten here. The venue still takes it from whoever has a copy, until you revoke it or its time is over.";
});
