// Compiles changed sources for the mutation run: a line of JSON {file, content, fast} in, without a file for the sources as
// they are; a line {contracts: {name: hex}} out, empty where they do not compile: of a changed source those that it is part of.
// `fast` leaves the optimizer out.
import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { settings } from "./settings.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const solc = createRequire(import.meta.url)("solc");
const asked = ["MandateVault", "MandateVaultFactory", "VaultLens", "SigCheck", "Purse", "PurseHub", "PurseHubDeployer"];
const find = (path) => {
  const file = [here, join(here, "node_modules")].map((root) => join(root, path)).find(existsSync);
  return file ? { contents: readFileSync(file, "utf8") } : { error: `not found: ${path}` };
};

const src = (name) => readFileSync(join(here, "src", `${name}.sol`), "utf8");
const imported = (name) => [...src(name).matchAll(/from "\.\/(\w+)\.sol"/g)].map((m) => m[1]);
const parts = (name) => [name, ...imported(name).flatMap(parts)];

for await (const line of createInterface({ input: process.stdin })) {
  const changed = JSON.parse(line);
  const names = asked.filter((name) => !changed.file || parts(name).includes(changed.file.replace(".sol", "")));
  const sources = {};
  for (const part of new Set(names.flatMap(parts)))
    sources[`src/${part}.sol`] = { content: `${part}.sol` === changed.file ? changed.content : src(part) };
  const wanted = { "*": Object.fromEntries(names.map((name) => [name, ["evm.bytecode.object"]])) };
  const told = changed.fast ? { ...settings, optimizer: { enabled: false } } : settings;
  const input = { language: "Solidity", sources, settings: { ...told, outputSelection: wanted } };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: find }));
  const contracts = {};
  for (const [file, found] of Object.entries(output.contracts ?? {}))
    for (const [name, c] of Object.entries(found)) if (file.startsWith("src/") && c.evm?.bytecode?.object) contracts[name] = c.evm.bytecode.object;
  const failed = (output.errors ?? []).some((e) => e.severity === "error");
  process.stdout.write(JSON.stringify({ contracts: failed ? {} : contracts }) + "\n");
}
