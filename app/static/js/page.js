// What every page does: times in the reader's zone, copying, light or dark, being offline, one press a button.
import { $ } from "./dom.js";
const FORMATS = {
  date: new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" }),
  moment: new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }),
  clock: new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" }),
};

export function localTimes(root = document) {
  for (const t of root.querySelectorAll("time[data-local]")) {
    const at = new Date(t.dateTime);
    if (!isNaN(at)) t.textContent = FORMATS[t.dataset.local].format(at);
  }
}

/** Say something to who hears the page. */
export function say(text) { $("said").textContent = text; }

/** Put a line over the bottom of the page, or take it away. */
export function bar(text) {
  const net = $("net");
  net.hidden = !text;
  net.textContent = text;
}

function online() { bar(navigator.onLine ? "" : "You are offline. What you see may be old; nothing can be sent."); }

function theme() {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const next = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  root.dataset.theme = next;
  document.cookie = `theme=${next}; Path=/app; Max-Age=31536000; SameSite=Lax`;
  say(next === "dark" ? "Dark now" : "Light now");
}

addEventListener("online", online);
addEventListener("offline", online);
document.addEventListener("click", (event) => {
  const copied = event.target.closest("[data-copy]");
  if (copied && !String(getSelection())) navigator.clipboard?.writeText(copied.dataset.copy).then(() => say("Copied"));
  if (event.target.closest("[data-print]")) print();
});
// A pressed button is off until the answer is there; a page that comes back by "back" has it on again.
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (button) setTimeout(() => { button.disabled = true; });
});
addEventListener("pageshow", (event) => {
  if (event.persisted) for (const b of document.querySelectorAll("form button[disabled]")) b.disabled = false;
});
const chooser = $("theme");
if (chooser) { chooser.hidden = false; chooser.addEventListener("click", theme); }
localTimes();
online();
