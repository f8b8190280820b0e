// EIP-712 digests, and the signer behind signatures, as a browser's library computes them.
// Reads [{types, primaryType, domain, message, signature?}…] from stdin; prints [{digest, signer}…].
import { readFileSync } from "node:fs";
import { TypedDataEncoder, verifyTypedData } from "ethers";

const told = JSON.parse(readFileSync(0, "utf8")).map(({ types, domain, message, signature }) => {
  const { EIP712Domain: _, ...own } = types;
  const signer = signature ? verifyTypedData(domain, own, message, signature) : null;
  return { digest: TypedDataEncoder.hash(domain, own, message), signer };
});
console.log(JSON.stringify(told));
