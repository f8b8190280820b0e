// Signing in: choose a wallet, sign the service's text, hand the signature over in a form.
import { Problem, account, ask, hex, last, pressed, says, wallets } from "./wallet.js";
import { $ } from "./dom.js";

const { host, origin } = location, list = $("wallets"), state = $("state"), form = $("open");
$("origin").textContent = origin;

function button(wallet) {
  const b = Object.assign(document.createElement("button"), { type: "button", className: "btn" });
  if (wallet.icon) b.append(Object.assign(new Image(), { src: wallet.icon, alt: "" }));
  b.append(says("with", wallet.name));
  pressed(b, state, says("look"), () => enter(wallet));
  return b;
}

function show(all) {
  list.replaceChildren(...all.sort((a, b) => (b.rdns === last()) - (a.rdns === last())).map(button));
  $("none").hidden = all.length > 0;
}

/** True where the text names this site and no other. */
function names(text) {
  return [host, origin].some((site) => text.startsWith(site + " wants you to sign in")) && text.includes("\nURI: " + origin + "\n");
}

const unanswered = () => { throw new Problem("no_answer"); };

async function challenge(address) {
  const answer = await fetch("/wallet/auth/challenge", { method: "POST", credentials: "omit", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ address }) }).catch(unanswered);
  const told = await answer.json().catch(unanswered);
  if (!answer.ok) throw new Problem("other", told.reason);
  if (!names(told.message)) throw new Problem("other_site", host);
  return told.message;
}

async function enter(wallet) {
  const address = await account(wallet), text = await challenge(address), preview = $("preview");
  preview.textContent = text;
  preview.hidden = false;
  form.elements.signature.value = await ask(wallet, "personal_sign", [hex(text), address]);
  form.elements.message.value = text;
  localStorage.setItem("wallet", wallet.rdns);
  form.requestSubmit();
}

wallets(show);
