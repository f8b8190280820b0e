// What the compiler is told, in every place that calls it; foundry.toml says the same.
export const settings = {
  evmVersion: "cancun",
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: "none", appendCBOR: false },
};
