// Signatures of venue actions as another client of the venue makes them.
// Reads [{action, testnet, nonce, vault, expiresAfter, key, userSigned}…] from stdin; prints [{r, s, v}…].
import { readFileSync } from "node:fs";
import { ApproveAgentTypes, ApproveBuilderFeeTypes } from "@nktkas/hyperliquid/api/exchange";
import { signL1Action, signUserSignedAction } from "@nktkas/hyperliquid/signing";
import { Wallet } from "ethers";

const types = { approveAgent: ApproveAgentTypes, approveBuilderFee: ApproveBuilderFeeTypes };
const told = [];
for (const { action, testnet, nonce, vault, expiresAfter, key, userSigned } of JSON.parse(readFileSync(0, "utf8"))) {
  const wallet = new Wallet(key);
  told.push(
    userSigned
      ? await signUserSignedAction({ wallet, action, types: types[action.type] })
      : await signL1Action({
          wallet,
          action,
          nonce,
          isTestnet: testnet,
          vaultAddress: vault ?? undefined,
          expiresAfter: expiresAfter ?? undefined,
        }),
  );
}
console.log(JSON.stringify(told));
