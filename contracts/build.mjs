// Compiles the contracts with the pinned wasm solc and writes the committed artifacts; `--check` only compares.
import { createRequire } from "node:module";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { settings } from "./settings.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const solc = createRequire(import.meta.url)("solc");
const shipped = ["MandateVault", "MandateVaultFactory", "VaultLens", "ShareValue", "SigCheck", "Purse", "PurseHub", "PurseHubDeployer", "TestUSDC", "TestMarket"];
const shippedTo = join(here, "..", "chain", "abi");
const testsTo = join(here, "..", "tests", "contracts", "artifacts");

const sources = {};
for (const folder of ["src", "mocks"])
  for (const name of readdirSync(join(here, folder)).filter((n) => n.endsWith(".sol")).sort())
    sources[`${folder}/${name}`] = { content: readFileSync(join(here, folder, name), "utf8") };

const find = (path) => {
  for (const root of [here, join(here, "node_modules")]) {
    const file = join(root, path);
    if (existsSync(file)) return { contents: readFileSync(file, "utf8") };
  }
  return { error: `not found: ${path}` };
};

const output = JSON.parse(
  solc.compile(
    JSON.stringify({
      language: "Solidity",
      sources,
      settings: {
        ...settings,
        outputSelection: { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] } },
      },
    }),
    { import: find },
  ),
);
const faults = (output.errors ?? []).filter((e) => e.severity === "error" || !/^(mocks|@openzeppelin)/.test(e.sourceLocation?.file ?? ""));
for (const e of faults) console.error(e.formattedMessage);
if (faults.some((e) => e.severity === "error")) process.exit(1);

const sorted = (v) =>
  Array.isArray(v) ? v.map(sorted) : v && typeof v === "object" ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])) : v;

let different = 0;
for (const [file, contracts] of Object.entries(output.contracts))
  for (const [name, c] of Object.entries(contracts)) {
    if (file.startsWith("@") || !c.evm.bytecode.object) continue;
    const test = file.startsWith("mocks/Hostile");
    if (!test && !shipped.includes(name)) continue;
    const folder = test ? testsTo : shippedTo;
    const text =
      JSON.stringify(
        sorted({ contract: name, source: file, abi: c.abi, bytecode: `0x${c.evm.bytecode.object}`, deployedBytecode: `0x${c.evm.deployedBytecode.object}` }),
        null,
        1,
      ) + "\n";
    const path = join(folder, `${name}.json`);
    if (process.argv.includes("--check")) {
      if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
        console.error(`differs from its source: ${name}.json`);
        different = 1;
      }
    } else {
      mkdirSync(folder, { recursive: true });
      writeFileSync(path, text);
      console.log(`${name}: ${c.evm.deployedBytecode.object.length / 2} bytes`);
    }
  }
process.exit(different);
