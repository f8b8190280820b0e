// Reads prepared sendings on stdin, [{kind, calls, says, owner, chain, signed}], and writes whether the browser would send each.
import { readFileSync } from "node:fs";
globalThis.addEventListener = () => {}; // a wallet would announce itself; here is none
globalThis.location = { pathname: "" };
const { saysSo } = await import(process.argv[2]);
const asked = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(asked.map((a) => saysSo(a.kind, a.calls, (name) => a.says[name], a.owner, a.chain, a.signed))));
