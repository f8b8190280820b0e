// Sending: each transaction is decoded here, has to be what its button says, and goes to the wallet; the service gets its hash.
import { decodeFunctionData, encodeAbiParameters, hashTypedData } from "../vendor/eth.js";
import { ABI, EXITS, listHash } from "./abi.js";
import { all, data, micros } from "./dom.js";
import { alone, before, note, offerAgain, startsOver } from "./once.js";
import { Problem, ask, chainId, fail, mark, mine, pause, same, says, tell } from "./wallet.js";


/** One call of the vault, its arguments by what the screen calls them. */
const vault = (name, ...args) => (s) => [[s("vault"), name, ...args.map(s)]];
/** What each button says, as calls: to, function, arguments; `s` reads the words on the screen. */
const SAYS = {
  create: (s, n) => [...(n > 1 ? [[s("deployer"), "deploy", [micros(s("per-payment")), micros(s("per-day")), micros(s("float")), s("payees")]]] : []), [s("factory"), "create"]],
  fund: (s) => [[s("usdc"), "approve", s("vault"), micros(s("amount"))], [s("vault"), "deposit", micros(s("paid"))]],
  pause: vault("revokeAgent"),
  resume: vault("setAgent", "agent"),
  stop: vault("stop"),
  record: vault("record"),
  withdraw: vault("withdrawAll"),
  void: (s) => [[s("purse"), "void"]],
  unwind: vault("unwind", "target", "exit"),
  drain: (s) => [[s("vault"), "unwind", s("hub"), "0x9890220b"]],
  sweep: (s) => [[s("hub"), "sweep", s("vault")]],
};

/** True where the factory is given the seventeen signed values and their list. */
function carries([terms, calls, probes], { typed_data: { domain, message, types, primaryType }, digest }, to) {
  const named = Object.entries(message);
  return same(to, domain.verifyingContract) && named.length === 17 && named.every(([n, v]) => same(terms[n], v))
    && listHash(calls, probes) === message.allowedTargetsHash && hashTypedData({ domain, message, types, primaryType }) === digest;
}

/** True where the calldata are the plain encoding of what they decode to, with nothing in the gaps. */
const tidy = (data, { functionName, args = [] }) => data.slice(10) === encodeAbiParameters(ABI.find((f) => f.name === functionName).inputs, args).slice(2);

/** True where an exit brings what comes out to the vault, of shares that are the vault's own. */
function staysIn(vault, exit) {
  const { args } = decodeFunctionData({ abi: EXITS, data: exit });
  return same(args[2], vault) && (typeof args[0] === "string" || same(args[1], vault));
}

/** The same value; of a tuple the same values in the order of its members. */
const like = (a, b) => (Array.isArray(a) ? a.length === Object.keys(b).length && Object.values(b).every((v, n) => same(a[n], v)) : same(a, b));

/** True where the calls are what the button says, from this owner, on this chain, with no ether. */
export function saysSo(kind, calls, shown, owner, chain, signed) {
  try {
    const wanted = SAYS[kind](shown, calls.length).slice(-calls.length);
    if (kind === "unwind" && !staysIn(shown("vault"), shown("exit"))) return false;
    return calls.length > 0 && calls.length === wanted.length && calls.every((c, i) => {
      const [to, name, ...args] = wanted[i], told = decodeFunctionData({ abi: ABI, data: c.data });
      return same(c.to, to) && told.functionName === name && tidy(c.data, told) && c.value === "0" && same(c.from, owner) && c.chain_id === Number(chain)
        && (name === "create" ? carries(told.args, signed, c.to) : args.length === (told.args ?? []).length && args.every((a, n) => like(a, told.args[n])));
    });
  } catch { return false; }
}

/** Ask again and again until there is an answer. Throws a Problem after some minutes. */
async function until(look) {
  for (let wait = 400, n = 0; n < 150; n++, wait = Math.min(wait * 1.3, 3000)) {
    const told = await look();
    if (told) return told;
    await pause(wait);
  }
  throw new Problem("underway");
}

/** What was sent has ended, and not well. */
function over(code) { note(null); throw new Problem(code); }

async function mined(wallet, hash) {
  const { status } = await until(() => ask(wallet, "eth_getTransactionReceipt", [hash]));
  if (BigInt(status) !== 1n) over("first_failed");
}

/** The hash of a batch that is through (EIP-5792). */
async function batched(wallet, id) {
  const told = await until(async () => { const t = await ask(wallet, "wallet_getCallsStatus", [id]); return t?.status >= 200 && t; });
  return (told.status < 300 && told.receipts?.at(-1)?.transactionHash) || over("batch_failed");
}

/** Have the wallet send; what it did not certainly turn down stays remembered as asked. */
async function handed(wallet, method, params) {
  note({ asked: Date.now() });
  try { return await ask(wallet, method, params); }
  catch (e) { if (["rejected", "locked", "funds"].includes(e.code)) note(null); throw e; }
}

async function start(box) {
  const part = (q) => box.querySelector(q), button = part("[data-go]"), state = part(".state"), form = part("form"), kind = box.dataset.send;
  const { owner, chain } = document.body.dataset, calls = data("calls"), id = chainId(), off = "off" in button.dataset, follow = (hash) => `${form.action.replace(/sent$/, "tx/")}${hash}?for=${form.elements.for.value}`;
  const fine = saysSo(kind, calls, (name) => part(`[data-says=${name}]`).textContent.trim(), owner, chain, data("signed-terms"));
  button.disabled = true;
  if (!mark("calldata", fine)) return tell(state, says("not_this"), "bad");

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
    const wallet = await mine();
    let hash = calls.length > 1 && await batch(wallet);
    for (const [n, { from, to, data, step }] of hash ? [] : calls.entries()) {
      if (hash) {
        note({ part: hash });
        tell(state, says("first_sent"));
        await mined(wallet, hash);
      }
      tell(state, (calls.length > 1 ? says("step", `${n + 1}/${calls.length} (${step})`) + " " : "") + says("compare"));
      hash = await handed(wallet, "eth_sendTransaction", [{ from, to, data, value: "0x0", chainId: id }]);
    }
    handIn(hash);
  }

  /** What becomes of an earlier press; true where the button may be pressed. */
  async function settled(was) {
    if (was.hash) {
      const told = await fetch(follow(was.hash)).catch(() => null), at = told && new URL(told.url);
      if (!told || told.status >= 500) throw new Problem("silent");
      if (at.pathname === "/app/sign-in" || at.href === follow(was.hash)) return location.replace(at);
      // It has landed: who came by "back" or a reload is led where it led; for others the page is made anew.
      note(null);
      return performance.getEntriesByType("navigation")[0]?.type === "navigate" ? location.reload() : location.replace(at);
    }
    if (was.calls) return handIn(await batched(await mine(), was.calls));
    if (was.part && calls.length > 1) {
      tell(state, says("first_open"));
      await mined(await mine(), was.part);
      note(null);
      return location.reload();
    }
    if (was.asked) throw new Problem("left");
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
  button.onclick = () => { button.disabled = true; alone(go).catch(problem).then(() => button.focus()); };
}

for (const box of globalThis.document ? all("[data-send]") : []) start(box);
