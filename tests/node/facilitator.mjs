// The official x402 facilitator verifies and settles payments of a purse on Anvil: facilitator.mjs ANVIL PORT ABI prints what came of each
// as {name: outcome}. ABI is the folder of the committed artifacts.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createPublicClient, createWalletClient, encodeAbiParameters, encodeFunctionData, hashStruct, http, keccak256, parseAbiParameters, publicActions, toFunctionSelector } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { ExactEvmScheme } from "@x402/evm/exact/facilitator";
import { toFacilitatorEvmSigner } from "@x402/evm";

const [anvilPath, port, abi] = process.argv.slice(2);
const anvil = spawn(anvilPath, ["--port", port, "--silent"]);
const transport = http(`http://127.0.0.1:${port}`, { retryCount: 0 });
const chain = createPublicClient({ chain: foundry, transport, pollingInterval: 50 });
for (let tries = 0; ; tries += 1) {
  try {
    await chain.getBlockNumber();
    break;
  } catch (error) {
    if (tries === 300) throw error;
    await new Promise((done) => setTimeout(done, 100));
  }
}

// Anvil's own accounts.
const keys = [
  "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
  "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
  "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
];
const [owner, agent, settler, seller] = keys.map((key) => privateKeyToAccount(key));
const wallet = (account) => createWalletClient({ account, chain: foundry, transport, pollingInterval: 50 }).extend(publicActions);
const artifact = (name) => JSON.parse(readFileSync(join(abi, `${name}.json`)));
const mined = async (hash) => {
  const receipt = await chain.waitForTransactionReceipt({ hash });
  if (receipt.status !== "success") throw new Error(`${hash} reverted`);
  return receipt;
};
const deployed = async (name, args = []) => {
  const { abi, bytecode } = artifact(name);
  const { contractAddress } = await mined(await wallet(owner).deployContract({ abi, bytecode, args }));
  return { address: contractAddress, abi };
};
const send = async (by, contract, functionName, args = []) => mined(await wallet(by).writeContract({ ...contract, functionName, args }));
const read = (contract, functionName, args = []) => chain.readContract({ ...contract, functionName, args });
const now = async () => Number((await chain.getBlock()).timestamp);

// ---------------------------------------------------------------- a vault with a purse: 50 an action, 100 a day, an approval above 10
const USD = 1_000_000n;
const zero = `0x${"00".repeat(32)}`;
const usdc = await deployed("TestUSDC");
const factory = await deployed("MandateVaultFactory", [usdc.address, seller.address, true]);
const deployer = await deployed("PurseHubDeployer", [factory.address]);
const policy = { perPayment: 0n, perDay: 0n, float: 0n, payees: zero };
const hub = { address: await read(deployer, "hubOf", [policy]), abi: artifact("PurseHub").abi };
await send(owner, deployer, "deploy", [policy]);
const calls = ["fund(uint256)", "drain()"].map((f) => ({ target: hub.address, selector: toFunctionSelector(f), selfArgs: 0 }));
const issuedAt = BigInt(await now());
const terms = {
  publicId: "m_0000000402", owner: owner.address, agent: agent.address, budgetUsdc: 1000n * USD, perTxCap: 50n * USD, dailyCap: 100n * USD,
  stopFloor: 800n * USD, stopFloorBps: 2000, horizonDays: 30, endsAt: issuedAt + 30n * 86400n, agentFeeBps: 1000, approvalAbove: 10n * USD, onFloor: 0,
  allowedTargetsHash: await read(factory, "targetsHashOf", [calls, []]), guardTargetsHash: keccak256("0x5b5d"), issuedAt, nonce: 1n,
};
await send(owner, factory, "create", [terms, calls, [], "0x"]);
const vault = { address: await read(factory, "predict", [terms, calls, []]), abi: artifact("MandateVault").abi };
await send(owner, usdc, "mint", [owner.address, 1000n * USD]);
await send(owner, usdc, "approve", [vault.address, 1000n * USD]);
await send(owner, vault, "deposit", [1000n * USD]);
const executed = (functionName, args, amount) => send(agent, vault, "execute", [hub.address, encodeFunctionData({ abi: hub.abi, functionName, args }), amount]);
for (let n = 0; n < 4; n += 1) await executed("fund", [10n * USD], 10n * USD);
const purse = { address: (await read(hub, "purseOf", [vault.address]))[1], abi: artifact("Purse").abi };
const balance = (account) => read(usdc, "balanceOf", [account]);

// ---------------------------------------------------------------- payments
const types = {
  TransferWithAuthorization: [["from", "address"], ["to", "address"], ["value", "uint256"], ["validAfter", "uint256"], ["validBefore", "uint256"], ["nonce", "bytes32"]].map(
    ([name, type]) => ({ name, type }),
  ),
};
const primaryType = "TransferWithAuthorization";
const domain = { name: "USDC", version: "2", chainId: 31337, verifyingContract: usdc.address };
const wanted = (amount, payTo = seller.address) => ({
  scheme: "exact", network: "eip155:31337", amount: String(amount), asset: usdc.address, payTo, maxTimeoutSeconds: 60, extra: { name: "USDC", version: "2" },
});

async function grant(message, by) {
  const mandate = await read(factory, "digestOf", [terms]);
  const struct = hashStruct({ data: message, primaryType, types });
  const actionHash = keccak256(encodeAbiParameters(parseAbiParameters("address,address,bytes32,uint256"), [purse.address, message.to, struct, message.value]));
  const until = BigInt((await now()) + 600);
  const members = [["mandate", "bytes32"], ["actionHash", "bytes32"], ["until", "uint64"]].map(([name, type]) => ({ name, type }));
  const signed = await by.signTypedData({
    domain: { name: "MandateVault", version: "2", chainId: 31337, verifyingContract: factory.address },
    types: { ApproveAction: members }, primaryType: "ApproveAction", message: { mandate, actionHash, until },
  });
  return encodeAbiParameters(parseAbiParameters("bytes32[],uint64,bytes"), [[], until, signed]).slice(2);
}

async function payment(accepted, { by = agent, from = 60, until = 60, epoch = 0, approvedBy } = {}) {
  const at = await now();
  const random = keccak256(crypto.getRandomValues(new Uint8Array(32)));
  const message = {
    from: purse.address, to: accepted.payTo, value: BigInt(accepted.amount), validAfter: BigInt(at - from), validBefore: BigInt(at + until),
    nonce: `0x${epoch.toString(16).padStart(8, "0")}${random.slice(10)}`,
  };
  const words = [message.to, message.value, message.validAfter, message.validBefore, message.nonce];
  const agents = (await by.signTypedData({ domain, types, primaryType, message })).slice(2);
  const rest = approvedBy ? await grant(message, approvedBy) : "";
  const signature = encodeAbiParameters(parseAbiParameters("address,uint256,uint256,uint256,bytes32"), words) + agents + rest;
  const authorization = Object.fromEntries(Object.entries(message).map(([name, value]) => [name, String(value)]));
  return { x402Version: 2, resource: { url: "https://data.example/report" }, accepted, payload: { signature, authorization } };
}

const facilitator = new ExactEvmScheme(toFacilitatorEvmSigner(Object.assign(wallet(settler), { address: settler.address })));
const verified = async (paid) => {
  const answer = await facilitator.verify(paid, paid.accepted);
  return answer.isValid ? "valid" : "refused";
};
const settled = async (paid) => {
  const answer = await facilitator.settle(paid, paid.accepted);
  return answer.success ? "settled" : "refused";
};

const cents = wanted(USD / 4n);
const fifteen = wanted(15n * USD);
const outcome = {};
const first = await payment(cents);
outcome["a payment, verified"] = await verified(first);
outcome["a payment, settled"] = await settled(first);
outcome["the same again"] = await verified(first);
outcome["a foreign key"] = await verified(await payment(cents, { by: seller }));
outcome["the owner's key"] = await verified(await payment(cents, { by: owner }));
outcome["above the approval amount, bare"] = await verified(await payment(fifteen));
outcome["above the approval amount, approved by the agent"] = await verified(await payment(fifteen, { approvedBy: agent }));
const approved = await payment(fifteen, { approvedBy: owner });
outcome["above the approval amount, approved by the owner"] = await verified(approved);
outcome["the approved one, settled"] = await settled(approved);
outcome["the approved one again"] = await verified(approved);
outcome["over the cap"] = await verified(await payment(wanted(51n * USD), { approvedBy: owner }));
outcome["more than is inside"] = await verified(await payment(wanted(40n * USD), { approvedBy: owner }));
outcome["two hours"] = await verified(await payment(cents, { until: 7200 }));
outcome["an hour in all"] = await verified(await payment(cents, { from: 600, until: 2999 }));
outcome["to the vault"] = await verified(await payment(wanted(USD / 4n, vault.address)));
const old = await payment(cents);
await send(owner, purse, "void");
outcome["signed before void()"] = await verified(old);
const waiting = await payment(cents, { epoch: 1, until: 600 });
outcome["of the new epoch"] = await verified(waiting);
await send(owner, vault, "revokeAgent");
outcome["while paused"] = await verified(waiting);
await send(owner, vault, "setAgent", [agent.address]);
outcome["resumed"] = await verified(waiting);
await executed("drain", [], 0n);
outcome["drained"] = await verified(waiting);
outcome["returned"] = String(await read(vault, "totalReturned"));
await executed("fund", [USD], USD);
outcome["funded again"] = await verified(waiting);
await send(owner, vault, "stop");
outcome["stopped"] = await verified(waiting);
await send(owner, vault, "withdrawAll");
await send(seller, hub, "sweep", [vault.address]);
outcome["the seller has"] = String(await balance(seller.address));
outcome["the owner has"] = String(await balance(owner.address));
outcome["the purse has"] = String(await balance(purse.address));
console.log(JSON.stringify(outcome));
anvil.kill();
process.exit(0);
