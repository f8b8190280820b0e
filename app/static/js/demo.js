// The demo's wallet: a provider whose keys are in the demo's own process, on its own chains alone.
const at = "demo-chain";

async function request({ method, params = [] }) {
  const chain = Number(sessionStorage.getItem(at) ?? document.body.dataset.chain);
  const answer = await fetch("/app/demo-wallet", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ chain, method, params }) });
  const told = await answer.json();
  if (told.code) throw Object.assign(new Error(told.message), { code: told.code });
  if (method === "wallet_switchEthereumChain") sessionStorage.setItem(at, told.result);
  return told.result;
}

const info = Object.freeze({ uuid: "demo", name: "the demo wallet", rdns: "demo.invalid", icon: "" });
const announce = () => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider: { request } }) }));
addEventListener("eip6963:requestProvider", announce);
announce();
