// Reads addresses (path and query) on stdin; at the first of them something is handed to the wallet. Writes whether the page at each knows of it.
import { readFileSync } from "node:fs";
const kept = new Map();
globalThis.addEventListener = () => {};
globalThis.localStorage = { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v), removeItem: (k) => kept.delete(k) };
const pages = [];
for (const [n, at] of JSON.parse(readFileSync(0, "utf8")).entries()) {
  globalThis.location = new URL(at, "http://wallet.example");
  pages.push(await import(`${process.argv[2]}?${n}`)); // each page has the module anew
}
pages[0].note({ asked: 1 });
process.stdout.write(JSON.stringify(pages.map((page) => page.before() !== null)));
