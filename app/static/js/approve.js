// Approving where the vault itself asks for it: the browser sees that what is signed is the action on the page.
import { encodeAbiParameters, hashTypedData, keccak256 } from "../vendor/eth.js";
import { mark, signs, tell } from "./wallet.js";
import { $, data } from "./dom.js";

const { typed_data, digest, vault, target, data, amount } = data("approval");
const typed = JSON.parse(typed_data), button = $("sign"), state = $("state");

/** The action's hash as the vault makes it: vault, target, hash of the calldata, amount. */
function action() {
  const types = ["address", "address", "bytes32", "uint256"].map((type) => ({ type }));
  return keccak256(encodeAbiParameters(types, [vault, target, keccak256(data), BigInt(amount.replace(".", ""))]));
}

const fine = typed.message.actionHash === action() && hashTypedData(typed) === digest && Number(typed.domain.chainId) === Number(document.body.dataset.chain);
button.disabled = !mark("digest", fine);
if (!fine) tell(state, "What is written here and what you would sign are not the same. Do not sign. Tell the operator.", "bad");
signs(button, state, $("decision"), typed_data);
