// The parts of a page that its scripts read.
export const $ = (id) => document.getElementById(id);
/** A data block of the page. */
export const data = (id) => JSON.parse($(id)?.textContent ?? "null");
