// Plays a trader's day at a venue with @nktkas/hyperliquid. Reads {url, mainnet, owner, agent, builder} from stdin, where
// owner and agent are keys, and prints what it saw.
import { readFileSync } from "node:fs";
import { ExchangeClient, HttpTransport, InfoClient } from "@nktkas/hyperliquid";
import { Wallet } from "ethers";

const story = JSON.parse(readFileSync(0, "utf8"));
const transport = new HttpTransport({ isTestnet: !story.mainnet, apiUrl: story.url });
const info = new InfoClient({ transport });
const owner = new ExchangeClient({ transport, wallet: new Wallet(story.owner) });
const trader = new ExchangeClient({ transport, wallet: new Wallet(story.agent) });
const user = new Wallet(story.owner).address;

const plain = (text) => String(Number(text));
const refusal = async (promise) => promise.then(() => "ok", (error) => error.message.replace(/^order 0: /, ""));

const { universe } = await info.meta();
const a = universe.findIndex(({ name }) => name === "BTC");
const { levels } = await info.l2Book({ coin: "BTC" });
await owner.approveAgent({ agentAddress: new Wallet(story.agent).address, agentName: "story" });
const [agent] = await info.extraAgents({ user });
await owner.approveBuilderFee({ builder: story.builder, maxFeeRate: "0.1%" });
const builderFee = await info.maxBuilderFee({ user, builder: story.builder });

const order = (b, p, s, tif, more = {}) => ({ a, b, p, s, r: false, t: { limit: { tif } }, ...more });
const place = (wire, more = {}) => trader.order({ orders: [wire], grouping: "na", ...more });
const builder = { b: story.builder, f: 100 };
const bought = (await place(order(true, "64500", "0.001", "Ioc"), { builder })).response.data.statuses[0].filled;
const long = (await info.clearinghouseState({ user })).assetPositions[0].position;
const rested = (await place(order(true, "60000", "0.001", "Gtc"))).response.data.statuses[0].resting.oid;
const open = await info.openOrders({ user });
await trader.cancel({ cancels: [{ a, o: rested }] });
const cancelled = (await info.orderStatus({ user, oid: rested })).order.status;
const closed = (await place(order(false, "61000", "0.001", "Ioc", { r: true }))).response.data.statuses[0].filled;
const refused = [
  await refusal(place(order(true, "64000.5", "0.001", "Gtc"))),
  await refusal(place(order(true, "64000", "0.0001", "Gtc"))),
  await refusal(place(order(false, "61000", "0.001", "Ioc", { r: true }))),
  await refusal(trader.cancel({ cancels: [{ a, o: rested }] })).then((said) => said.replace(/^cancel 0: /, "")),
];
const fills = (await info.userFills({ user })).map((f) => [f.side, plain(f.px), plain(f.sz), plain(f.fee)]);
const history = (await info.historicalOrders({ user })).map((row) => row.status);
const positions = (await info.clearinghouseState({ user })).assetPositions.length;
console.log(
  JSON.stringify({
    coins: universe.map(({ name }) => name).sort(),
    touch: [levels[0][0].px, levels[1][0].px].map(plain),
    depth: [levels[0].length, levels[1].length],
    agent: agent.name,
    builderFee,
    bought: [bought.totalSz, bought.avgPx].map(plain),
    long: [plain(long.szi), plain(long.entryPx)],
    open: open.map(({ oid, limitPx }) => [oid === rested, plain(limitPx)]),
    cancelled,
    closed: [closed.totalSz, closed.avgPx].map(plain),
    refused,
    fills,
    history,
    positions,
  }),
);
