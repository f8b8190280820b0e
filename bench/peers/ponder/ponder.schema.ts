import { onchainTable } from "ponder";

export const deposit = onchainTable("deposit", (t) => ({
  id: t.text().primaryKey(),
  vault: t.hex().notNull(),
  mandate: t.hex().notNull(),
  from: t.hex().notNull(),
  amount: t.bigint().notNull(),
  total: t.bigint().notNull(),
  block: t.bigint().notNull(),
  at: t.bigint().notNull(),
}));
