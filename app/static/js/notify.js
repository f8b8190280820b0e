// Browser notifications: only where the owner asked for them, in this browser, while a page of ours is open.
import { $ } from "./dom.js";

const KEY = "notices", { owner } = document.body.dataset, button = $("notify"), words = button?.dataset;

/** True where this owner asked for them here, and the browser lets us. */
export const wanted = () => globalThis.Notification?.permission === "granted" && localStorage.getItem(KEY) === owner;

/** Show one; pages that tell of the same thing (by `tag`) show it once. */
export function notify(tag, body) { if (wanted()) show(tag, body); }

function show(tag, body) { new Notification(document.title, { tag, body }).onclick = () => focus(); }

/** Turn them on or off; how it stands then. */
async function pressed() {
  if (wanted()) { localStorage.removeItem(KEY); return "off"; }
  if (await Notification.requestPermission() !== "granted") return "none";
  show(KEY, words.on); // a browser that shows none from a page throws here
  localStorage.setItem(KEY, owner);
  return "on";
}

function stands(how) {
  button.textContent = words[how === "on" ? "stop" : "start"];
  $("notify-state").textContent = words[how];
}

if (button) {
  button.addEventListener("click", () => pressed().catch(() => "none").then(stands));
  stands(wanted() ? "on" : "off");
}
