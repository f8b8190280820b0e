// Web Push: this browser's subscription is made here and sent by a form of the page; the worker shows what comes.
import { $ } from "./dom.js";

const button = $("push"), form = $("push-form"), WORKER = "/app/notices-worker.js";
const isApple = /iPhone|iPad/.test(navigator.userAgent) || (/Mac/.test(navigator.userAgent) && navigator.maxTouchPoints > 1);
// The one script address that a page may hand to the browser, and never a text.
const policy = globalThis.trustedTypes?.createPolicy("notices", { createScriptURL: () => WORKER });

async function subscription() {
  const { pushManager } = await navigator.serviceWorker.register(policy ? policy.createScriptURL("") : WORKER), { key } = button.dataset;
  await navigator.serviceWorker.ready;
  const ask = () => pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  // One that was made for another key is none any more.
  return ask().catch(async () => { await (await pushManager.getSubscription())?.unsubscribe(); return ask(); });
}

async function pressed() {
  if (await Notification.requestPermission() !== "granted") throw 0;
  const { endpoint, keys } = (await subscription()).toJSON();
  Object.entries({ endpoint, ...keys }).forEach(([name, value]) => { if (form.elements[name]) form.elements[name].value = value; });
  form.submit();
}

const none = () => { $("push-state").textContent = button.dataset.none; };
if (button) {
  if (isApple) $("push-apple").hidden = false;
  if (!globalThis.PushManager) none();
  else { button.hidden = false; button.onclick = () => pressed().catch(none); }
}
const zone = $("zone");
if (zone && !zone.value) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
