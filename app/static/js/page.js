// What every page does: times in the reader's zone, copying, light or dark, being offline, one press a button.
import { $, all } from "./dom.js";
/** What the scripts of every page say. */
export const words = $("net").dataset;
const format = (parts) => new Intl.DateTimeFormat("en-GB", parts);
const DAY = { day: "numeric", month: "short", year: "numeric" }, CLOCK = { hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
const FORMATS = { date: format(DAY), moment: format({ ...DAY, ...CLOCK }), clock: format(CLOCK) };
/** A time in the reader's zone: 19 Nov 2026, 15:03 CET. */
export const written = (kind, at) => FORMATS[kind].format(at).replace("Sept", "Sep");

export function localTimes(root = document) {
  for (const t of all("time[data-local]", root)) {
    const at = new Date(t.dateTime);
    if (!isNaN(at)) t.textContent = written(t.dataset.local, at);
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

ononline = onoffline = online;
onclick = (event) => {
  const copied = event.target.closest("[data-copy]");
  if (copied && !String(getSelection())) navigator.clipboard?.writeText(copied.dataset.copy).then(() => say(words.copied));
  if (event.target.closest("[data-print]")) print();
};
// A press in the moment in which the page comes to the front was meant for what had been before it: another site can have put the page there.
let faced = -1e3;
onfocus = ({ timeStamp }) => { faced = timeStamp; };
// A pressed button is off until the answer is there; a page that comes back by "back" has it on again.
onsubmit = (event) => {
  const b = event.submitter;
  if (b && event.timeStamp - faced < 500) event.preventDefault();
  else if (b) setTimeout(() => { b.disabled = true; });
};
onpageshow = (event) => {
  if (event.persisted) for (const b of all("form button[disabled]")) b.disabled = false;
};
$("theme").hidden = false;
$("theme").onclick = theme;
localTimes();
online();
