// The worker of notices: it shows what is pushed and opens the page that it names. It keeps nothing and answers no request.
const WORDS = {}, HERE = "/app/notices"; // the words of each kind are put in where it is served

/** A page of this service; the list of notices in place of anything else. */
const page = (url) => (/^\/app\/[\w/#-]*$/.test(url) ? url : HERE);

function told(data) {
  try { return data.json(); } catch { return {}; }
}

async function show(url) {
  for (const tab of await clients.matchAll({ type: "window" })) if (tab.url === new URL(url, location.href).href) return tab.focus();
  return clients.openWindow(url);
}

oninstall = () => skipWaiting();
onpush = (event) => {
  const { kind, url } = told(event.data), data = page(url);
  event.waitUntil(registration.showNotification(WORDS.title, { body: WORDS[kind] ?? WORDS.other, tag: kind + data, data }));
};
onnotificationclick = (event) => {
  event.notification.close();
  event.waitUntil(show(event.notification.data));
};
