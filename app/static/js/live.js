// Keeping a page fresh: the page itself is asked for again, and the parts marked data-live are put in place of the old ones.
import { FORMATS, bar, localTimes, say, words } from "./page.js";
import { $ } from "./dom.js";

const parts = () => document.querySelectorAll("[data-live][id]");
const waiting = () => document.querySelectorAll("#waiting > .ask").length;
const title = document.title;
let etag = null, misses = 0, timer = 0, seen = new Date();

function every() { return Math.min(...[...parts()].map((p) => Number(p.dataset.live) || 5000)); }

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
  if (document.hidden) return plan();
  try {
    const x = await get(), at = new URL(x.responseURL);
    if (at.pathname === "/app/sign-in") { location.assign(at.href); return; }
    if (at.pathname !== location.pathname) { location.replace(at.href); return; }
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
  bar(words.silent.replace("{at}", FORMATS.clock.format(seen)));
}

function swap(fresh) {
  const before = waiting();
  for (const old of parts()) {
    const next = fresh.getElementById(old.id);
    if (!next || old.contains(document.activeElement)) continue;
    const node = document.importNode(next, true);
    localTimes(node);
    for (const d of node.querySelectorAll("details[id]")) d.open = $(d.id)?.open ?? d.open;
    if (!node.isEqualNode(old)) old.replaceWith(node);
  }
  if (waiting() > before) say(words.waits);
  count();
}

function count() { document.title = waiting() ? `(${waiting()}) ${title}` : title; }

function plan() { clearTimeout(timer); timer = setTimeout(refresh, Math.min(every() * 2 ** misses, 60000)); }

document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
addEventListener("online", refresh);
count();
plan();
