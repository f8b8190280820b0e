// Reviewing and signing: the browser finds out for itself whether the words are what is signed, and only then asks the wallet.
import { fits, hashes, targetsMatch, unlike, wrongWords } from "./terms.js";
import { mark, same, says, signs } from "./wallet.js";
import { $, all, data } from "./dom.js";

const { typed_data: typed, digest, items, public_id } = data("terms");
const { owner, chain } = document.body.dataset;
const text = (query, root = document) => root.querySelector(query)?.textContent.trim();
/** What stands in the elements that have an attribute, by its value. */
const named = (name) => Object.fromEntries(all(`[data-${name}]`).map((e) => [e.dataset[name], e.textContent.trim()]));
const clauses = all("[data-clause]"), of = (read) => Object.fromEntries(clauses.map((e) => [e.dataset.clause, read(e)]));
const who = (e) => e.querySelector("[data-by]")?.dataset.by;

/** Why a check fails, "" where it holds; what cannot be worked out fails. */
const tried = (why, holds) => { try { return holds() ? "" : why; } catch { return why; } };

const page = {
  typed, digest, items, shows: named("shows"), means: named("means"), texts: of((e) => text(":scope > p", e)), by: of((e) => e.querySelector(":scope > .by")?.dataset.by),
  rows: all("[data-clause='5'] tbody tr").map((r) => ({ text: r.textContent, by: who(r) })), written: all("[data-theirs]").map((e) => e.textContent),
};
let wrong = ["1"], other = ["1"];
try { wrong = wrongWords(typed.message, items, (n) => page.texts[n]); } catch { /* then the first is as good as any */ }
try { other = unlike(page, says); } catch { /* likewise */ }
const found = {
  digest: tried(says("table"), () => fits(typed, digest, (name) => text(`[data-field=${name}]`))),
  words: wrong.length ? says("clause", wrong.join(", ")) : "",
  targets: tried(says("list"), () => targetsMatch(typed.message, items)),
  shown: other.length ? says("shown", other.join(", ")) : "",
  owner: tried(says("whose"), () => same(typed.message.owner, owner) && String(typed.domain.chainId) === chain
    && typed.message.publicId === public_id && location.pathname.includes(`/${public_id}/`)),
};
for (const [name, why] of Object.entries(found)) mark(name, !why);
const faults = Object.values(found).filter(Boolean);
if (!faults.length) for (const [name, hash] of Object.entries(hashes(typed))) $("h-" + name).textContent = hash;
signs($("signed"), typed, faults);
