// Reads pages on stdin, [{typed_data, digest, items, texts, lines, …}], and writes what the browser's own checks find in each.
import { readFileSync } from "node:fs";
const { fits, targetsMatch, unlike, wrongWords } = await import(process.argv[2]);

const tried = (holds) => { try { return holds(); } catch { return false; } };
const looked = ({ typed_data, digest, items, texts, lines, words, ...page }) => ({
  digest: tried(() => fits(typed_data, digest, (name) => lines[name])),
  targets: tried(() => targetsMatch(typed_data.message, items)),
  words: tried(() => wrongWords(typed_data.message, items, (n) => texts[n])),
  shown: tried(() => unlike({ typed: typed_data, digest, items, texts, ...page }, (code, more) => words[code].replace("{more}", more))),
});
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(looked)));
