// Signing an order or a cancellation: only after the bytes were read here and are what the page shows.
import { sign } from "../vendor/order.js";
import { held, open, shows } from "./key.js";
import { assetAt, faults } from "./order.js";
import { Problem, mark, remembered, tell } from "./wallet.js";

const told = JSON.parse(document.getElementById("to-sign").textContent), state = document.getElementById("state"), form = document.getElementById("signed");
const buttons = [...document.querySelectorAll("[data-go]")], says = Object.fromEntries([...document.querySelectorAll("[data-says]")].map((e) => [e.dataset.says, e.textContent.trim()]));
const off = (text) => { for (const b of buttons) b.disabled = true; tell(state, text, "bad"); };
const url = says.venue;
let digest = null;

async function look() {
  let found;
  try { ({ found, digest } = faults(told, says, Date.now())); } catch { found = { bytes: ["It cannot be read."], hash: [], signer: [], time: [] }; }
  for (const [name, whys] of Object.entries(found)) mark(name, !whys.length);
  const whys = Object.values(found).flat();
  // Times apart: an old page lies about nothing.
  if (whys.length) return off((whys.length > found.time.length ? "What is written here and what would be signed are not the same. Do not sign. Tell the operator. " : "") + whys.join(" "));
  if (!globalThis.crypto?.subtle) return off("Without a secure connection (https) no key can be opened here.");
  if (!(await held(says.key))) return off("This browser does not hold the order key of this page. Use the browser in which it was made, or approve a new one.");
  try { if (!mark("venue", String(await assetAt(url, says.product)) === says.asset)) return off("The venue itself gives this product another number than this page. Do not sign. Tell the operator."); }
  catch { document.querySelector("[data-check=venue]").append(" – the venue does not answer this browser, so this was not looked at"); }
  for (const b of buttons) b.disabled = false;
  setTimeout(() => { mark("time", false); off("Its time is up. Prepare it again for today’s price."); }, told.expires_after - Date.now());
}

async function signed() {
  const wallet = await remembered();
  await shows(wallet, says.wallet);
  tell(state, "Your wallet asks you to open the order key. That signature is sent to nobody.");
  return sign(digest, await open(wallet, says.wallet, says.network, says.key));
}

/** Straight to the venue, where this service cannot reach it; the service is told after. */
async function straight(signature) {
  const body = { action: JSON.parse(told.action), nonce: told.nonce, signature, expiresAfter: told.expires_after };
  const answer = await fetch(url + "/exchange", { method: "POST", credentials: "omit", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  form.elements.venue_response.value = JSON.stringify(await answer.json()).slice(0, 8000);
  form.action = form.dataset.record;
}

for (const button of buttons) button.addEventListener("click", async () => {
  for (const b of buttons) b.disabled = true;
  try {
    const signature = await signed();
    form.elements.signature.value = JSON.stringify(signature);
    tell(state, "Signed. Sending it, once.");
    if (button.dataset.go === "straight") await straight(signature);
    form.requestSubmit();
  } catch (e) {
    tell(state, e instanceof Problem ? e.message : "The venue does not answer this browser. It is not known whether it has the order: do not sign another; open this order again to see.", "warn");
    if (e instanceof Problem) for (const b of buttons) b.disabled = false;
  }
});
look();
