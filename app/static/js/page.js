// What every page does: times in the reader's zone, copying, light or dark, being offline, one press a button.
import { $, all } from "./dom.js";
/** What the scripts of every page say. */
export const words = $("net").dataset;
const format = (parts) => new Intl.DateTimeFormat(undefined, parts);
const DAY = { day: "numeric", month: "short" }, CLOCK = { hour: "2-digit", minute: "2-digit" };
export const FORMATS = { date: format({ ...DAY, year: "numeric" }), moment: format({ ...DAY, ...CLOCK }), clock: format(CLOCK) };

export function localTimes(root = document) {
  for (const t of all("time[data-local]", root)) {
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

function online() { bar(navigator.onLine ? "" : words.offline); }

function theme() {
  const root = document.documentElement, next = getComputedStyle(root).colorScheme === "dark" ? "light" : "dark";
  root.dataset.theme = next;
  document.cookie = `theme=${next}; Path=/app; Max-Age=31536000; SameSite=Lax`;
  say(words[next]);
}

addEventListener("online", online);
addEventListener("offline", online);
document.addEventListener("click", (event) => {
  const copied = event.target.closest("[data-copy]");
  if (copied && !String(getSelection())) navigator.clipboard?.writeText(copied.dataset.copy).then(() => say(words.copied));
  if (event.target.closest("[data-print]")) print();
});
// A pressed button is off until the answer is there; a page that comes back by "back" has it on again.
document.addEventListener("submit", ({ submitter }) => {
  if (submitter) setTimeout(() => { submitter.disabled = true; });
});
addEventListener("pageshow", (event) => {
  if (event.persisted) for (const b of all("form button[disabled]")) b.disabled = false;
});
$("theme").hidden = false;
$("theme").addEventListener("click", theme);
localTimes();
online();
