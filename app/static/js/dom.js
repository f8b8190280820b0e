// The parts of a page that its scripts read.
export const $ = (id) => document.getElementById(id);
export const all = (query, root = document) => [...root.querySelectorAll(query)];
/** A data block of the page. */
export const data = (id) => JSON.parse($(id)?.textContent ?? "null");
/** What the page says, by the name of the words. */
export const said = (name) => document.querySelector(`[data-says=${name}]`).textContent.trim();
/** An amount on the page in millionths. */
export const micros = (text) => { const [whole, frac = ""] = text.replaceAll(",", "").split("."); return BigInt(whole + frac.padEnd(6, "0")); };
