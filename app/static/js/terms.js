// Whether what is on the screen is what will be signed: pure functions, which Python's words and hashes are held against.
import { hashStruct, hashTypedData, keccak256 } from "../vendor/eth.js";
import { DOMAIN, TERMS, listHash } from "./abi.js";
import { micros } from "./dom.js";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export function plain(base) {
  const t = BigInt(base).toString().padStart(7, "0");
  return t.slice(0, -6).replace(/\B(?=(\d{3})+$)/g, ",") + "." + t.slice(-6).replace(/0{1,4}$/, "");
}
const percent = (bps) => Number(bps) / 100 + "%";

function minute(seconds) {
  const [, day, month, year, clock] = new Date(Number(seconds) * 1000).toUTCString().split(" ");
  return `${+day} ${month} ${year}, ${clock.slice(0, 5)} UTC`;
}

/** What is signed of a purse, in words; what it does not limit is as the mandate says. */
function paid({ purse: p, hosts }, m) {
  const least = (own, cap) => plain(own && micros(own) < BigInt(cap) ? micros(own) : cap) + " USDC";
  return "paid services (x402), each bill signed by the agent's own key: at most " + `${least(p.per_payment_usdc, m.perTxCap)} a payment, ${least(p.per_day_usdc, m.dailyCap)} a day, ${least(p.float_usdc, m.dailyCap)} at risk at once, `
    + (p.payees.length ? `to named payees (${p.payees.length})` : "to anybody") + (hosts.length ? `; this service holds them to named hosts (${hosts.length})` : "");
}

// What an entry is called in clause 5: a host, venue or symbol that its writer chose is in the entry alone.
function place(i) {
  const n = (i.hosts || i.symbols)?.length, u = " that this service does not know";
  return i.hosts ? "paid reads (x402)" + (n ? " at named hosts (" + n + ")" : "")
    : i.label || (i.address ? i.address + " " + i.selector + " (a call" + u + ")"
    : !i.venue ? "the vault itself"
    : i.venue !== "hyperliquid" ? "markets of a venue" + u
    : i.venue + ": " + (n ? n + " products" + u : "every market"));
}

/** What clause 5 names: the calls of a purse's hub are what the purse says. */
function places(m, items) {
  const hub = items.find((i) => i.purse)?.purse.hub;
  return [...new Set(items.filter((i) => !hub || i.address !== hub).map((i) => (i.purse ? paid(i, m) : place(i))))];
}

/** The sentences that these values allow, by clause; each may be the one on the screen. */
export function sentences(m, items) {
  const above = `Above ${plain(m.approvalAbove)} USDC the `, lasts = `The mandate lasts ${m.horizonDays} days, `;
  return {
    1: [`At most ${plain(m.budgetUsdc)} USDC of yours is ever in the vault.`],
    2: [`No single action takes more than ${plain(m.perTxCap)} USDC out of the vault.`],
    3: [`All actions of a UTC day together take at most ${plain(m.dailyCap)} USDC out; it resets at 00:00 UTC, so that two days' amounts can meet at midnight.`],
    4: [`The agent's calls may not bring the vault below ${plain(m.stopFloor)} USDC, a loss of ${percent(m.stopFloorBps)} of the budget.`],
    5: [`The agent may only deal with: ${places(m, items).join(", ") || "nothing at all"}.`],
    6: BigInt(m.approvalAbove) ? [above + "vault takes an action only with your signature over that very action, once.", above + "service prepares no action before you approve it; an action sent past the service is flagged."] : ["The agent acts on its own inside these limits."],
    7: ["At the stop line the mandate stops and " + (Number(m.onFloor) ? "the keeper closes open positions." : "open positions are kept for you to decide.")],
    8: Number(m.issuedAt) + m.horizonDays * 86400 === Number(m.endsAt) ? [lasts + "from your signature.", lasts + "until " + minute(m.endsAt) + "."] : [],
    9: [Number(m.agentFeeBps) ? `The agent earns ${percent(m.agentFeeBps)} of the gain that the vault measured, once, at settlement, rounded down.` : "The agent earns no fee."],
    10: ["You can pause, stop and withdraw at any time; open positions can hold a withdrawal back for at most 3 days after the mandate is closed. Only the agent of these terms acts."],
  };
}

/** The clauses whose sentence on the screen does not follow from the values. */
export function wrongWords(m, items, sentence) {
  return Object.entries(sentences(m, items)).filter(([n, allowed]) => !allowed.includes(sentence(n))).map(([n]) => n);
}

// Who holds an entry of clause 5 (domain/mandates/clauses.py).
const holds = (i) => (i.kind === "contract" || i.kind === "vault" || i.purse ? "Contract" : i.kind === "venue" && i.venue !== "hyperliquid" && i.label ? "Venue" : "Service guard");

// What its writer chose in an entry: the only text of it that is no name of the service's.
const theirs = (i) => [...(i.kind === "venue" && !i.label && i.venue !== "hyperliquid" ? [i.venue] : []), ...(i.hosts ?? i.symbols ?? []), ...(i.purse?.payees ?? [])].join(", ");

/** Who holds the agent to a clause, by what its sentence says; undefined where it holds the agent to nothing. */
function holder(n, m, items, sentence) {
  const at = items.filter((i) => i.kind === "venue").map(holds);
  if (n === "6") return BigInt(m.approvalAbove) ? (/ the vault takes /.test(sentence) ? "Contract" : "Service guard") : undefined;
  return n === "7" ? "Service guard" : n === "5" ? at.find((who) => who === "Venue") ?? at[0] ?? "Contract" : "Contract";
}

/** Everything besides the clauses that the page shows of these values, by its name; `says`: the page's own words by their code. */
function shown({ domain, message: m }, digest, says) {
  const [budget, floor, day, above] = [m.budgetUsdc, m.stopFloor, m.dailyCap, m.approvalAbove].map(BigInt), usdc = (v) => plain(v) + " USDC", cents = (v) => usdc((v + 9999n) / 10000n * 10000n);
  const ever = budget - floor + (floor + 49n) / 50n, today = cents(day < ever ? day : ever);
  return [{ budget: usdc(budget), agent: m.agent, before_pause: today, today, ever: cents(ever), digest, here: m.publicId, name: domain.name, version: domain.version, chain: String(domain.chainId), factory: domain.verifyingContract },
    { budgetUsdc: usdc(budget), perTxCap: usdc(m.perTxCap), dailyCap: usdc(day), stopFloor: usdc(floor), stopFloorBps: percent(m.stopFloorBps), horizonDays: says("days", m.horizonDays), endsAt: minute(m.endsAt), issuedAt: minute(m.issuedAt),
      agentFeeBps: percent(m.agentFeeBps), approvalAbove: above ? usdc(above) : says("never"), onFloor: Number(m.onFloor) ? says("closed") : says("kept") }];
}

/** The names of what the page shows that does not follow from the values. */
export function unlike({ typed, digest, items, shows, means, by, texts, rows, written }, words) {
  const [values, meanings] = shown(typed, digest, words), differ = (a, b) => Object.keys({ ...a, ...b }).filter((name) => a[name] !== b[name]);
  const own = items.map(theirs).filter(Boolean), entry = (i, n) => rows[n]?.by === holds(i) && rows[n].text.includes(i.kind === "contract" ? `${i.address} ${i.selector}` : theirs(i));
  return [...differ(values, shows), ...differ(meanings, means),
    ...Object.keys(texts).filter((n) => by[n] !== holder(n, typed.message, items, texts[n])),
    ...(rows.length === items.length && items.every(entry) && same(written, [...own, ...own]) ? [] : ["5"])];
}

/** The same with its keys in order, all the way down. */
const sorted = (v) => (v === null || typeof v !== "object" || Array.isArray(v) ? v : Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])));

/** True where both lists of clause 5 hash to what is signed (docs/canonical-encodings.md). */
export function targetsMatch(m, items) {
  const contract = items.filter((i) => i.kind === "contract"), probes = new Map();
  const calls = contract.map((i) => ({ target: i.address, selector: i.selector, selfArgs: i.self_args.reduce((bits, n) => bits | (1 << n), 0) >>> 0 }));
  for (const i of contract) if (i.probe && !probes.has(i.address)) probes.set(i.address, { target: i.address, selector: i.probe });
  const guard = items.filter((i) => i.kind === "x402" || i.kind === "venue").map(({ enforced_by, ...rest }) => sorted(rest));
  return listHash(calls, [...probes.values()]) === m.allowedTargetsHash && keccak256(new TextEncoder().encode(JSON.stringify(guard))) === m.guardTargetsHash;
}

/** The hashes that a device may show besides the digest. */
export function hashes({ domain, types, message, primaryType }) {
  return { domain: hashStruct({ data: domain, primaryType: "EIP712Domain", types }), message: hashStruct({ data: message, primaryType, types }) };
}

/** True where the data are terms of the known shape, every value as its line shows it, and hash to the digest. */
export function fits({ types, primaryType, domain, message }, digest, line) {
  return primaryType === "MandateTerms" && same(types, { EIP712Domain: DOMAIN, MandateTerms: TERMS }) && domain.name === "MandateVault" && domain.version === "2"
    && Object.keys(message).length === TERMS.length && TERMS.every(({ name }) => line(name) === String(message[name]))
    && hashTypedData({ types, primaryType, domain, message }) === digest;
}
