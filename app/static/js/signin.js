// Signing in: choose a wallet, sign the service's text, hand the signature over in a form.
import { Problem, ask, hex, last, says, tell, wallets } from "./wallet.js";
import { $ } from "./dom.js";

const list = $("wallets"), state = $("state"), form = $("open");
$("origin").textContent = location.origin;

function button(wallet) {
  const b = document.createElement("button");
  b.type = "button";
  b.className = "btn";
  if (wallet.icon) { const img = new Image(); img.src = wallet.icon; img.alt = ""; b.append(img); }
  b.append(`Continue with ${wallet.name}`);
  b.addEventListener("click", () => enter(wallet, b));
  return b;
}

function show(all) {
  list.replaceChildren(...all.sort((a, b) => (b.rdns === last()) - (a.rdns === last())).map(button));
  if (all.length) return;
  const none = document.createElement("div");
  none.className = "note warn";
  none.textContent = new Problem("no_wallet").message;
  list.append(none);
}

/** True where the text names this site and no other. */
function names(text) {
  return [location.host, location.origin].some((site) => text.startsWith(site + " wants you to sign in")) && text.includes("\nURI: " + location.origin + "\n");
}

async function challenge(address) {
  const answer = await fetch("/wallet/auth/challenge", { method: "POST", credentials: "omit", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ address }) });
  const told = await answer.json();
  if (!answer.ok) throw new Problem("other", told.reason);
  if (!names(told.message)) throw new Problem("other_site", location.host);
  return told.message;
}

async function enter(wallet, pressed) {
  pressed.disabled = true;
  tell(state, says("look"));
  try {
    const [address] = (await ask(wallet, "eth_requestAccounts")) ?? [];
    if (!address) throw new Problem("locked");
    const text = await challenge(address), preview = $("preview");
    preview.textContent = text;
    preview.hidden = false;
    form.elements.signature.value = await ask(wallet, "personal_sign", [hex(text), address]);
    form.elements.message.value = text;
    localStorage.setItem("wallet", wallet.rdns);
    form.requestSubmit();
  } catch (e) {
    tell(state, e instanceof Problem ? e.message : says("no_answer"), "warn");
    pressed.disabled = false;
  }
}

wallets(show);
