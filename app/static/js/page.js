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
/** What stands under the finger is something else now: so was a press in the next moment. */
export function moved() { faced = performance.now(); }
// A pressed button is off until the answer is there or is given up; on a page that comes back by "back" it is on again.
onsubmit = (event) => {
  const { submitter: b, target: form } = event, on = () => { b.disabled = false; };
  if (!b) return;
  if (event.timeStamp - faced < 500) return event.preventDefault();
  kept[owner] = form.getAttribute("action") + " " + new URLSearchParams(new FormData(form));
  if (!navigator.onLine) kept.lost = 1;
  setTimeout(() => { b.disabled = true; });
  setTimeout(on, 2e4);
  onpagehide = on;
};
// What was not taken, or was sent without a network, stands in its form again for the same owner on the page that is opened next.
const { owner } = document.body.dataset, kept = sessionStorage;
if ($("lost")) kept.lost = 1;
else if (owner) {
  const [action, typed] = (kept[owner] ?? "").split(" ");
  for (const e of kept.lost && document.querySelector(`form[action="${action}"]`)?.elements || []) {
    const had = new URLSearchParams(typed).getAll(e.name);
    if (!/box|radio|hidden/.test(e.type)) e.value = had[0] ?? e.value;
    e.checked = had.includes(e.value);
  }
  delete kept.lost;
}

$("theme").hidden = false;
$("theme").onclick = theme;
localTimes();
online();
