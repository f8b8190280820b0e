// Approving where the vault itself asks for it: what is signed is the action on the page.
import { encodeAbiParameters, hashTypedData, keccak256 } from "../vendor/eth.js";
import { mark, signs } from "./wallet.js";
import { $, all, data, micros, said } from "./dom.js";
import { DOMAIN, fields } from "./types.js";

const { typed_data, digest } = data("approval");
const ACTION = fields("vault address,target address,data bytes32,amount");
/** The service’s values in an approval’s one shape. */
const typed = { ...typed_data, primaryType: "ApproveAction", types: { EIP712Domain: DOMAIN, ApproveAction: fields("mandate bytes32,actionHash bytes32,until uint64") } };

/** What is done: a call’s data; of a payment the transfer of its five words (EIP-3009) out of the purse, which takes no other payee or amount under their hash. */
const done = all("[data-bill]")[0] ? "0x7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267" + said("vault").slice(2).padStart(64, "0") + said("data").slice(2) : said("data");

/** True where the action on the page is signed (vault, target, calldata, each amount), for no longer than it says. */
function fine() {
  try {
    const { actionHash, until } = typed.message, [amount, other] = new Set(all("#sign data, [data-says=amount] data").map((d) => d.textContent));
    return typed.domain.chainId === Number(document.body.dataset.chain)
      && !other && actionHash === keccak256(encodeAbiParameters(ACTION, [said("vault"), said("target"), keccak256(done), micros(amount)]))
      && until * 1000 < Date.parse(all("[data-says=until] time")[0].dateTime) && hashTypedData(typed) === digest;
  } catch { return false; }
}

signs($("decision"), typed, mark("digest", fine()) ? [] : [""]);
