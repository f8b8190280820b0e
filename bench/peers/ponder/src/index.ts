import { ponder } from "ponder:registry";
import { deposit } from "ponder:schema";

ponder.on("Vault:Deposited", async ({ event, context }) => {
  await context.db.insert(deposit).values({
    id: event.id,
    vault: event.log.address,
    mandate: event.args.mandate,
    from: event.args.from,
    amount: event.args.amount,
    total: event.args.totalDeposited,
    block: event.block.number,
    at: event.block.timestamp,
  });
});
