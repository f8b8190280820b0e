// Signing an order or a cancellation: only after the bytes were read here and are what the page shows.
import { sign } from "../vendor/order.js";
import { $, data } from "./dom.js";
import { held, open, shows } from "./key.js";
import { assetAt, faults, post } from "./order.js";
import { Problem, mark, remembered, tell } from "./wallet.js";

const told = data("to-sign"), state = $("state"), words = state.dataset, form = $("signed").elements;
const buttons = [...document.querySelectorAll("[data-go]")], says = Object.fromEntries([...document.querySelectorAll("[data-says]")].map((e) => [e.dataset.says, e.textContent.trim()]));
const off = (text) => { for (const b of buttons) b.disabled = true; tell(state, text, "bad"); };
let digest = null;

async function look() {
  let found;
  try { ({ found, digest } = faults(told, says, Date.now(), data("order-says"))); } catch { found = { bytes: [words.unread] }; }
  for (const [name, whys] of Object.entries(found)) mark(name, !whys.length);
  const whys = Object.values(found).flat();
  // Times apart: an old page lies about nothing.
  if (whys.length) return off((whys.length > (found.time?.length ?? 0) ? words.tampered + " " : "") + whys.join(" "));
  if (!globalThis.crypto?.subtle) return off(words.insecure);
  if (!(await held(says.key))) return off(words.nokey);
  try { if (!mark("venue", String(await assetAt(says.venue, says.product)) === says.asset)) return off(words.number); }
  catch { document.querySelector("[data-check=venue]").append(" – " + words.unasked); }
  for (const b of buttons) b.disabled = false;
  setTimeout(() => { mark("time", false); off(words.late); }, told.expires_after - Date.now());
}

async function signed() {
  const wallet = await remembered();
  await shows(wallet, says.wallet);
  tell(state, words.opening);
  return sign(digest, await open(wallet, says.wallet, says.network, says.key));
}

for (const button of buttons) button.addEventListener("click", async () => {
  for (const b of buttons) b.disabled = true;
  try {
    const signature = await signed(), sending = $("signed");
    form.signature.value = JSON.stringify(signature);
    tell(state, words.signed);
    // Straight to the venue, where this service cannot reach it; the service is told after.
    if (button.dataset.go === "straight") {
      form.venue_response.value = JSON.stringify(await post(says.venue + "/exchange", { action: JSON.parse(told.action), nonce: told.nonce, signature, expiresAfter: told.expires_after })).slice(0, 8000);
      sending.action = sending.dataset.record;
    }
    sending.requestSubmit();
  } catch (e) {
    tell(state, e instanceof Problem ? e.message : words.unknown, "warn");
    if (!(e instanceof Problem)) return;
    for (const b of buttons) b.disabled = false;
    button.focus();
  }
});
look();
