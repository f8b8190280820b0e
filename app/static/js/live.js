// Keeping a page fresh: the page itself is asked for again, and the parts marked data-live are put in place of the old ones.
import { bar, localTimes, moved, say, words, written } from "./page.js";
import { $, all } from "./dom.js";
import { notify, wanted } from "./notify.js";

const parts = () => all("[data-live][id]");
/** What a page tells of, by the id of its part. */
const tells = (page) => new Map(all("[data-tell]", page).map((e) => [e.id, e.dataset.tell]));
let etag = null, misses = 0, timer = 0, seen = new Date(), told = tells();

function get() {
  return new Promise((done, failed) => {
    const x = new XMLHttpRequest();
    x.open("GET", location.href);
    x.responseType = "document"; // parsed without running anything; no string becomes markup here
    x.timeout = 10000;
    if (etag) x.setRequestHeader("If-None-Match", etag);
    x.onload = () => (x.status < 400 ? done(x) : failed());
    x.onerror = x.ontimeout = failed;
    x.send();
  });
}

async function refresh() {
  if (document.hidden && !wanted()) return plan();
  try {
    const x = await get(), at = new URL(x.responseURL);
    if (at.pathname !== location.pathname) return location.replace(at); // moved on, or the session is over
    if (x.status === 200 && x.response) { etag = x.getResponseHeader("ETag"); swap(x.response); }
    if (misses > 1) bar("");
    misses = 0;
    seen = new Date();
  } catch { missed(); }
  $("main").toggleAttribute("data-stale", misses > 1);
  plan();
}

function missed() {
  misses++;
  if (misses < 2 || !navigator.onLine) return;
  bar(words.silent.replace("{at}", written("clock", seen)));
}

function swap(fresh) {
  const before = told;
  told = tells(fresh);
  for (const old of parts()) {
    const next = fresh.getElementById(old.id);
    if (!next || old.contains(document.activeElement)) continue;
    const node = document.importNode(next, true);
    localTimes(node);
    for (const d of all("details[id]", node)) d.open = $(d.id)?.open ?? d.open;
    if (!node.isEqualNode(old)) old.replaceWith(node);
  }
  if (String([...told]) !== String([...before])) moved();
  for (const [id, text] of told) if (before.get(id) !== text) { say(text); notify(id, text); }
  document.title = fresh.title;
}

/** After the shortest pause that a part asks for (in ms); errors double it. */
function plan() { clearTimeout(timer); timer = setTimeout(refresh, Math.min(60000, Math.min(...parts().map((p) => p.dataset.live)) * 2 ** misses)); }

document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
addEventListener("online", refresh);
plan();
