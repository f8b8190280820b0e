// Sending: each transaction is decoded here, has to be what its button says, and is handed to the wallet; its hash goes to the service at once.
import { decodeFunctionData, encodeAbiParameters, hashTypedData } from "../vendor/eth.js";
import { ABI } from "./abi.js";
import { listHash } from "./terms.js";
import { Problem, ask, mark, ready, remembered, tell } from "./wallet.js";

const same = (a, b) => String(a).toLowerCase() === String(b).toLowerCase();
const micros = (text) => { const [whole, frac = ""] = text.replaceAll(",", "").split("."); return BigInt(whole + frac.padEnd(6, "0")); };

/** What each button says, as calls: to, function, arguments; `s` reads the words on the screen. */
const SAYS = {
  create: (s) => [[s("factory"), "create"]],
  fund: (s) => [[s("usdc"), "approve", s("vault"), micros(s("amount"))], [s("vault"), "deposit", micros(s("amount"))]],
  pause: (s) => [[s("vault"), "revokeAgent"]],
  resume: (s) => [[s("vault"), "setAgent", s("agent")]],
  stop: (s) => [[s("vault"), "stop"]],
  settle: (s) => [[s("vault"), "settle"]],
  withdraw: (s) => [[s("vault"), "withdrawAll"]],
  unwind: (s) => [[s("vault"), "unwind", s("target"), s("exit")]],
};

/** True where the factory is given the seventeen signed values and their list. */
function carries([terms, calls, probes], { typed_data: { domain, message, types, primaryType }, digest }, to) {
  return same(to, domain.verifyingContract) && Object.keys(message).length === 17 && Object.keys(message).every((k) => same(terms[k], message[k]))
    && listHash(calls, probes) === message.allowedTargetsHash && hashTypedData({ domain, message, types, primaryType }) === digest;
}

/** True where the calldata are the plain encoding of what they decode to, with nothing in the gaps. */
const tidy = (data, { functionName, args = [] }) => data.slice(10) === encodeAbiParameters(ABI.find((f) => f.name === functionName).inputs, args).slice(2);

/** True where the calls are what the button says, from this owner, on this chain, with no ether. */
export function saysSo(kind, calls, says, owner, chain, signed) {
  try {
    const wanted = SAYS[kind](says).slice(-calls.length);
    return calls.length > 0 && calls.length === wanted.length && calls.every((c, i) => {
      const [to, name, ...args] = wanted[i], told = decodeFunctionData({ abi: ABI, data: c.data });
      return same(c.to, to) && told.functionName === name && tidy(c.data, told) && c.value === "0" && same(c.from, owner) && c.chain_id === Number(chain)
        && (name === "create" ? carries(told.args, signed, c.to) : args.length === (told.args ?? []).length && args.every((a, n) => same(a, told.args[n])));
    });
  } catch { return false; }
}

async function mined(wallet, hash) {
  for (let wait = 400, n = 0; n < 150; n++, wait = Math.min(wait * 1.3, 3000)) {
    const receipt = await ask(wallet, "eth_getTransactionReceipt", [hash]);
    if (receipt && BigInt(receipt.status) === 1n) return;
    if (receipt) throw new Problem("other", "The first transaction failed on chain. Nothing was deposited.");
    await new Promise((r) => setTimeout(r, wait));
  }
  throw new Problem("other", "The first transaction is still on its way. Wait for it in your wallet, then open this page again.");
}

async function start(box) {
  const button = box.querySelector("[data-go]"), state = box.querySelector(".state"), form = box.querySelector("form"), kind = box.dataset.send;
  const { owner, chain, chainName } = document.body.dataset, key = "sent " + location.pathname, read = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");
  const calls = read("calls"), follow = (hash) => `${form.action.replace(/sent$/, "tx/")}${hash}?for=${kind}`, off = button.disabled;
  const fine = saysSo(kind, calls, (name) => box.querySelector(`[data-says=${name}]`).textContent.trim(), owner, chain, read("signed-terms"));
  button.disabled = true;
  if (!mark("calldata", fine)) return tell(state, "The prepared transaction is not what this button says. Do not send it. Tell the operator.", "bad");
  // A reload, the back button and a second tab come to what was sent, not to a second press.
  const sent = localStorage.getItem(key);
  if (sent && !location.search.includes("again") && (await fetch(follow(sent), { redirect: "manual" })).ok) return location.replace(follow(sent));
  localStorage.removeItem(key);
  button.disabled = off;
  let done = 0, hash = null;
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const wallet = await remembered();
      await ready(wallet, owner, Number(chain), chainName);
      mark("wallet", true);
      for (; done < calls.length; done++) {
        const { from, to, data, chain_id, step } = calls[done], of = calls.length > 1 ? `Step ${done + 1} of ${calls.length} (${step}): ` : "";
        if (hash) { tell(state, "The first is on its way. The second is asked for when it is confirmed."); await mined(wallet, hash); }
        tell(state, of + "Compare in your wallet, then confirm there.");
        if (localStorage.getItem(key)) return location.assign(follow(localStorage.getItem(key)));
        hash = await ask(wallet, "eth_sendTransaction", [{ from, to, data, value: "0x0", chainId: "0x" + chain_id.toString(16) }]);
      }
      localStorage.setItem(key, hash);
      tell(state, "Sent. Following it.");
      form.elements.tx_hash.value = hash;
      form.requestSubmit();
    } catch (e) {
      tell(state, e instanceof Problem ? e.message : String(e), "warn");
      button.disabled = false;
    }
  });
}

for (const box of globalThis.document?.querySelectorAll("[data-send]") ?? []) start(box);
