// Sending: each transaction is decoded here, has to be what its button says, and is handed to the wallet; its hash goes to the service at once.
import { decodeFunctionData, encodeAbiParameters, hashTypedData } from "../vendor/eth.js";
import { ABI, listHash } from "./abi.js";
import { data } from "./dom.js";
import { alone, before, note, offerAgain, startsOver } from "./once.js";
import { Problem, ask, fail, mark, ready, remembered, says, tell } from "./wallet.js";

const same = (a, b) => String(a).toLowerCase() === String(b).toLowerCase();
const micros = (text) => { const [whole, frac = ""] = text.replaceAll(",", "").split("."); return BigInt(whole + frac.padEnd(6, "0")); };

/** One call of the vault, its arguments by what the screen calls them. */
const vault = (name, ...args) => (s) => [[s("vault"), name, ...args.map(s)]];
/** What each button says, as calls: to, function, arguments; `s` reads the words on the screen. */
const SAYS = {
  create: (s) => [[s("factory"), "create"]],
  fund: (s) => [[s("usdc"), "approve", s("vault"), micros(s("amount"))], [s("vault"), "deposit", micros(s("amount"))]],
  pause: vault("revokeAgent"),
  resume: vault("setAgent", "agent"),
  stop: vault("stop"),
  settle: vault("settle"),
  withdraw: vault("withdrawAll"),
  unwind: vault("unwind", "target", "exit"),
};

/** True where the factory is given the seventeen signed values and their list. */
function carries([terms, calls, probes], { typed_data: { domain, message, types, primaryType }, digest }, to) {
  return same(to, domain.verifyingContract) && Object.keys(message).length === 17 && Object.keys(message).every((k) => same(terms[k], message[k]))
    && listHash(calls, probes) === message.allowedTargetsHash && hashTypedData({ domain, message, types, primaryType }) === digest;
}

/** True where the calldata are the plain encoding of what they decode to, with nothing in the gaps. */
const tidy = (data, { functionName, args = [] }) => data.slice(10) === encodeAbiParameters(ABI.find((f) => f.name === functionName).inputs, args).slice(2);

/** True where the calls are what the button says, from this owner, on this chain, with no ether. */
export function saysSo(kind, calls, shown, owner, chain, signed) {
  try {
    const wanted = SAYS[kind](shown).slice(-calls.length);
    return calls.length > 0 && calls.length === wanted.length && calls.every((c, i) => {
      const [to, name, ...args] = wanted[i], told = decodeFunctionData({ abi: ABI, data: c.data });
      return same(c.to, to) && told.functionName === name && tidy(c.data, told) && c.value === "0" && same(c.from, owner) && c.chain_id === Number(chain)
        && (name === "create" ? carries(told.args, signed, c.to) : args.length === (told.args ?? []).length && args.every((a, n) => same(a, told.args[n])));
    });
  } catch { return false; }
}

/** Ask again and again until there is an answer. Throws a Problem after some minutes. */
async function until(look) {
  for (let wait = 400, n = 0; n < 150; n++, wait = Math.min(wait * 1.3, 3000)) {
    const told = await look();
    if (told) return told;
    await new Promise((r) => setTimeout(r, wait));
  }
  throw new Problem("underway");
}

async function mined(wallet, hash) {
  const { status } = await until(() => ask(wallet, "eth_getTransactionReceipt", [hash]));
  if (BigInt(status) === 1n) return;
  note(null);
  throw new Problem("first_failed");
}

/** The hash of a batch that is through (EIP-5792). */
async function batched(wallet, id) {
  const told = await until(async () => { const t = await ask(wallet, "wallet_getCallsStatus", [id]); return t?.status >= 200 && t; });
  const hash = told.status < 300 && told.receipts?.at(-1)?.transactionHash;
  if (hash) return hash;
  note(null);
  throw new Problem("batch_failed");
}

/** Have the wallet send; what it did not certainly turn down stays remembered as asked. */
async function handed(wallet, method, params) {
  note({ asked: Date.now() });
  try { return await ask(wallet, method, params); }
  catch (e) { if (e.sure) note(null); throw e; }
}

async function start(box) {
  const button = box.querySelector("[data-go]"), state = box.querySelector(".state"), form = box.querySelector("form"), kind = box.dataset.send;
  const { owner, chain, chainName } = document.body.dataset;
  const calls = data("calls"), id = "0x" + Number(chain).toString(16), off = button.disabled, follow = (hash) => `${form.action.replace(/sent$/, "tx/")}${hash}?for=${kind}`;
  const fine = saysSo(kind, calls, (name) => box.querySelector(`[data-says=${name}]`).textContent.trim(), owner, chain, data("signed-terms"));
  button.disabled = true;
  if (!mark("calldata", fine)) return tell(state, says("not_this"), "bad");

  /** The wallet of this owner on this network. */
  async function own() {
    const wallet = await remembered();
    await ready(wallet, owner, Number(chain), chainName);
    mark("wallet", true);
    return wallet;
  }

  function handIn(hash) {
    if (!/^0x[0-9a-f]{64}$/i.test(hash)) throw new Problem("no_hash");
    note({ hash });
    tell(state, says("sent"));
    form.elements.tx_hash.value = hash;
    form.requestSubmit();
  }

  /** Both calls in one, where the wallet offers that (EIP-5792); its hash, or null. */
  async function batch(wallet) {
    let able;
    try { able = (await wallet.provider.request({ method: "wallet_getCapabilities", params: [owner, [id]] }))?.[id]; } catch { return null; }
    if (!["supported", "ready"].includes(able?.atomic?.status)) return null;
    tell(state, says("compare_both"));
    const pays = data("capabilities")?.paymasterService, sponsored = pays?.url.startsWith(location.origin + "/") && able.paymasterService?.supported;
    const told = await handed(wallet, "wallet_sendCalls", [{ version: "2.0.0", from: owner, chainId: id, atomicRequired: true, calls: calls.map(({ to, data }) => ({ to, data, value: "0x0" })),
      ...(sponsored && { capabilities: { paymasterService: { url: pays.url, optional: true } } }) }]);
    note({ calls: told.id });
    tell(state, says("has_both"));
    return batched(wallet, told.id);
  }

  async function go() {
    if (before()) return location.reload();
    const wallet = await own();
    let hash = calls.length > 1 ? await batch(wallet) : null;
    for (let n = 0; n < calls.length && !hash; n++) {
      const { from, to, data, step } = calls[n], last = n + 1 === calls.length;
      tell(state, (calls.length > 1 ? says("step", `${n + 1}/${calls.length} (${step})`) + " " : "") + says("compare"));
      const sent = await handed(wallet, "eth_sendTransaction", [{ from, to, data, value: "0x0", chainId: id }]);
      if (last) { hash = sent; break; }
      note({ part: sent });
      tell(state, says("first_sent"));
      await mined(wallet, sent);
    }
    handIn(hash);
  }

  /** What becomes of an earlier press; true where the button may be pressed. */
  async function settled(was) {
    if (was.hash) {
      const told = await fetch(follow(was.hash)).catch(() => null), at = told && new URL(told.url);
      if (!told || told.status >= 500) throw new Problem("silent");
      if (at.pathname === "/app/sign-in" || at.href === follow(was.hash)) { location.replace(told.url); return false; }
      // It has landed: who came by "back" or a reload is led where it led; for everybody else the page is made anew, as things stand now.
      note(null);
      if (performance.getEntriesByType("navigation")[0]?.type === "navigate") location.reload(); else location.replace(told.url);
      return false;
    } else if (was.calls) { handIn(await batched(await own(), was.calls)); return false; }
    else if (was.part && calls.length > 1) {
      tell(state, says("first_open"));
      await mined(await own(), was.part);
      note(null);
      location.reload();
      return false;
    } else if (was.asked) throw new Problem("left");
    note(null);
    return true;
  }

  function problem(e) {
    fail(state, e);
    const open = before();
    if (open && !open.hash && e.code !== "elsewhere") return offerAgain(box);
    button.disabled = off || e.code === "silent";
  }

  try {
    const was = startsOver() ? null : before();
    if (was && !(await alone(() => settled(was)))) return;
    button.disabled = off;
  } catch (e) { problem(e); }
  button.addEventListener("click", () => { button.disabled = true; alone(go).catch(problem); });
}

for (const box of globalThis.document?.querySelectorAll("[data-send]") ?? []) start(box);
