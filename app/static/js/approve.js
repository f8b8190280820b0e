// Approving where the vault itself asks for it: the browser sees that what is signed is the action on the page.
import { encodeAbiParameters, hashTypedData, keccak256 } from "../vendor/eth.js";
import { mark, says, signs, tell } from "./wallet.js";
import { $, data } from "./dom.js";

const held = data("approval"), typed = JSON.parse(held.typed_data), button = $("sign"), state = $("state");

/** The action's hash as the vault makes it: vault, target, hash of the calldata, amount. */
function action() {
  const types = ["address", "address", "bytes32", "uint256"].map((type) => ({ type }));
  return keccak256(encodeAbiParameters(types, [held.vault, held.target, keccak256(held.data), BigInt(held.amount.replace(".", ""))]));
}

const fine = typed.message.actionHash === action() && hashTypedData(typed) === held.digest && Number(typed.domain.chainId) === Number(document.body.dataset.chain);
button.disabled = !mark("digest", fine);
if (!fine) tell(state, says("tampered"), "bad");
signs(button, state, $("decision"), held.typed_data);
