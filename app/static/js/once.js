// One sending a page: what was handed to the wallet outlives a reload, the back button and a second tab.
import { Problem } from "./wallet.js";

const market = new URLSearchParams(location.search).get("market") ?? "";
/** Of a page and, where it closes a position, of that one alone; another amount is no other page. */
const key = "sent " + location.pathname + market;

/** What this page last handed to the wallet: null, {asked} (no answer known), {part} (hash of the first of two), {calls} (id of a batch) or {hash}. */
export function before() { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } }

/** Remember it; null where nothing was sent, or what was sent has ended. */
export function note(what) { if (what) localStorage.setItem(key, JSON.stringify(what)); else localStorage.removeItem(key); }

/** Do it in this tab alone. Throws a Problem where another is at it; browsers keep the lock only where the way to the site is safe. */
export function alone(act) {
  return navigator.locks ? navigator.locks.request(key, { ifAvailable: true }, (lock) => { if (!lock) throw new Problem("elsewhere"); return act(); }) : act();
}

/** Take "start over" out of the address, so that a reload does not start over once more; true where it was in it. */
export function startsOver() {
  const at = new URL(location.href), asked = at.searchParams.has("again");
  at.searchParams.delete("again");
  if (asked) { note(null); history.replaceState(null, "", at); }
  return asked;
}

/** Show the way to start over. */
export function offerAgain(box) {
  const way = box.querySelector("[data-again]");
  way.hidden = false;
  way.querySelector("a").search = location.search + "&again=1";
}

// A page that comes back by "back" shows how things were: it is asked for anew.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
