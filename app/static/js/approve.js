// Approving where the vault itself asks for it: the browser sees that what is signed is the action on the page.
import { encodeAbiParameters, hashTypedData, keccak256 } from "../vendor/eth.js";
import { Problem, ask, ready, remembered, tell } from "./wallet.js";

const { typed_data, digest, vault, target, data, amount } = JSON.parse(document.getElementById("approval").textContent);
const { owner, chain, chainName } = document.body.dataset;
const typed = JSON.parse(typed_data), button = document.getElementById("sign"), state = document.getElementById("state");
const mark = (name, ok) => { document.querySelector(`[data-check=${name}]`).className = ok ? "ok" : "no"; };

/** The action's hash as the vault makes it: vault, target, hash of the calldata, amount. */
function action() {
  const micros = BigInt(amount.replace(".", "")), types = ["address", "address", "bytes32", "uint256"].map((type) => ({ type }));
  return keccak256(encodeAbiParameters(types, [vault, target, keccak256(data), micros]));
}

const fine = typed.message.actionHash === action() && hashTypedData(typed) === digest && Number(typed.domain.chainId) === Number(chain);
mark("digest", fine);
button.disabled = !fine;
if (!fine) tell(state, "What is written here and what you would sign are not the same. Do not sign. Tell the operator.", "bad");
button.addEventListener("click", async () => {
  button.disabled = true;
  tell(state, "Compare in your wallet, then confirm there.");
  try {
    const wallet = await remembered();
    await ready(wallet, owner, Number(chain), chainName);
    mark("wallet", true);
    const form = document.getElementById("decision");
    form.elements.signature.value = await ask(wallet, "eth_signTypedData_v4", [owner, typed_data]);
    tell(state, "Signed. Handing it in.");
    form.requestSubmit();
  } catch (e) {
    tell(state, e instanceof Problem ? e.message : String(e), "warn");
    button.disabled = false;
  }
});
