// Reviewing and signing: the browser finds out for itself whether the words are what is signed, and only then asks the wallet.
import { fits, hashes, targetsMatch, wrongWords } from "./terms.js";
import { mark, same, says, signs } from "./wallet.js";
import { $, all, data, said } from "./dom.js";

const { typed_data: typed, digest, items, public_id } = data("terms");
const { owner, chain } = document.body.dataset;
const text = (query) => document.querySelector(query)?.textContent.trim();

/** Why a check fails, "" where it holds; what cannot be worked out fails. */
const tried = (why, holds) => { try { return holds() ? "" : why; } catch { return why; } };

let wrong = ["1"];
try { wrong = wrongWords(typed.message, items, (n) => text(`[data-clause="${n}"] > p`)); } catch { /* then the first is as good as any */ }
const rows = all("[data-clause='5'] tbody tr").map((r) => r.textContent);
const listed = (i, n) => rows[n].includes(i.kind === "contract" ? `${i.address} ${i.selector}` : (i.hosts ?? i.symbols ?? []).join(", "));
const found = {
  digest: tried(says("table"), () => fits(typed, digest, (name) => text(`[data-field=${name}]`))),
  words: wrong.length ? says("clause", wrong.join(", ")) : "",
  targets: tried(says("list"), () => rows.length === items.length && items.every(listed) && targetsMatch(typed.message, items)),
  owner: tried(says("whose"), () => same(typed.message.owner, owner) && String(typed.domain.chainId) === chain
    && typed.message.publicId === public_id && location.pathname.includes(`/${public_id}/`) && said("factory") === typed.domain.verifyingContract),
};
for (const [name, why] of Object.entries(found)) mark(name, !why);
const faults = Object.values(found).filter(Boolean);
if (!faults.length) for (const [name, hash] of Object.entries(hashes(typed))) $("h-" + name).textContent = hash;
signs($("signed"), typed, faults);
