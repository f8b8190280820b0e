// The shapes that a signature and a transaction may have; a test holds them against the terms and chain/abi.
import { DOMAIN, fields } from "./types.js";
import { encodeAbiParameters, keccak256 } from "../vendor/eth.js";

const list = (name, text) => ({ name, type: "tuple[]", components: fields(text) });
const fn = (name, ...inputs) => ({ type: "function", name, inputs });

export { DOMAIN };
export const TERMS = fields("publicId string,owner address,agent address,budgetUsdc,perTxCap,dailyCap,stopFloor,stopFloorBps uint16,horizonDays uint32,endsAt uint64,agentFeeBps uint16,approvalAbove,onFloor uint8,allowedTargetsHash bytes32,guardTargetsHash bytes32,issuedAt uint64,nonce");
export const LISTS = [list("calls", "target address,selector bytes4,selfArgs uint32"), list("probes", "target address,selector bytes4")];
export const ABI = [
  fn("create", { name: "t", type: "tuple", components: TERMS }, ...LISTS, ...fields("signature bytes")),
  ...["revokeAgent", "stop", "record", "withdrawAll", "void"].map((name) => fn(name)), fn("setAgent", ...fields("agent address")), fn("sweep", ...fields("vault address")),
  fn("deposit", ...fields("amount")), fn("approve", ...fields("spender address,amount")), fn("unwind", ...fields("target address,data bytes")),
  fn("deploy", { name: "policy", type: "tuple", components: fields("perPayment uint128,perDay uint128,float uint128,payees bytes32") }),
];
/** The exits of markets; the last argument of each is who gets what comes out, and the owner of the shares is an account too. */
export const EXITS = [...["withdraw", "redeem"].map((name) => fn(name, ...fields("amount,receiver address,owner address"))), fn("withdraw", ...fields("asset address,amount,to address"))];

/** The hash of clause 5's list of calls, as the terms hold it (docs/canonical-encodings.md). */
export const listHash = (calls, probes) => keccak256(encodeAbiParameters(LISTS, [calls, probes]));
