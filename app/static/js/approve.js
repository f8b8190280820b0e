// Approving where the vault itself asks for it: the browser sees that what is signed is the action on the page.
import { encodeAbiParameters, hashTypedData, keccak256 } from "../vendor/eth.js";
import { mark, says, signs, tell } from "./wallet.js";
import { $, data } from "./dom.js";

const held = data("approval"), button = $("sign"), state = $("state");

/** True where it is this action’s hash (vault, target, hash of the calldata, amount) that is signed, and the button names its amount. */
function fine() {
  try {
    const typed = JSON.parse(held.typed_data), types = ["address", "address", "bytes32", "uint256"].map((type) => ({ type }));
    return Number(button.querySelector("data").textContent.replaceAll(",", "")) === Number(held.amount) && String(typed.domain.chainId) === document.body.dataset.chain
      && typed.message.actionHash === keccak256(encodeAbiParameters(types, [held.vault, held.target, keccak256(held.data), BigInt(held.amount.replace(".", ""))])) && hashTypedData(typed) === held.digest;
  } catch { return false; }
}

button.disabled = !mark("digest", fine());
if (button.disabled) tell(state, says("tampered"), "bad");
else signs(button, state, $("decision"), held.typed_data);
