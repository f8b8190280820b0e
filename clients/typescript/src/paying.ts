/** Paid requests: a 402 of x402 is paid out of a mandate, and asked again. */
import type { Schemas, WalletClient } from "./index.js";

type PayOut = Schemas["PayOut"];
type TypedData = NonNullable<PayOut["typed_data"]>;

/** Signs EIP-712 typed data with the agent's key: 65 bytes, 0x hex. */
export type Sign = (typedData: TypedData) => Promise<string>;

export interface PayOptions {
  publicId: string;
  /** The most USDC that is paid, decimal text. */
  maxAmount: string;
  /** What it is for, for the owner. */
  why: string;
  /** Left out where the wallet's service holds the agent's key. */
  sign?: Sign;
  init?: RequestInit;
  /** The same key is the same bill: give it to go on after a break of this program. */
  idempotencyKey?: string;
  /** How often the paid request is sent where no answer comes; always with the same payment. */
  tries?: number;
  /** How long one answer may take, its body included; 60,000 where it is left out. */
  timeoutMs?: number;
}

/** Bytes of a 402; the wallet takes 16 KiB of it. */
const MOST_OF_402 = 65_536;

/** The 402 is not paid; `approvalUrl` where the owner has to decide, `refusal` where the wallet refused. */
export class NotPaid extends Error {
  constructor(
    why: string,
    readonly approvalUrl?: string,
    readonly refusal?: Schemas["Refusal"],
  ) {
    super(why);
  }
}

interface Required {
  resource: { url: string };
  accepts: { payTo?: string }[];
}

/** Send a request, and pay for it once where it is answered with 402. No redirect is followed: it is the answer. */
export async function fetchWithMandate(
  wallet: WalletClient,
  url: string,
  options: PayOptions,
): Promise<{ response: Response; payment?: PayOut }> {
  const key = options.idempotencyKey ?? `fetch-${crypto.randomUUID()}`;
  const own = options.init?.signal ?? undefined;
  const send = (more: RequestInit): Promise<Response> => {
    const limit = AbortSignal.timeout(options.timeoutMs ?? 60_000);
    const signal = own === undefined ? limit : AbortSignal.any([own, limit]);
    return fetch(url, { ...options.init, ...more, redirect: "manual", signal });
  };
  const first = await send({});
  if (first.status !== 402) return { response: first };
  const payment = await paid(wallet, await requiredOf(first, url), options, key);
  const headers = new Headers(options.init?.headers);
  headers.set("PAYMENT-SIGNATURE", payment.header ?? "");
  for (let left = (options.tries ?? 3) - 1; ; left--) {
    try {
      return { response: await send({ headers }), payment };
    } catch (error) {
      if (left <= 0 || own?.aborted) throw error;
    }
  }
}

/** The text of a 402, of which no more is read than is taken. */
async function textOf(answer: Response): Promise<string> {
  const reader = answer.body?.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    length += part.value.length;
    if (length > MOST_OF_402) {
      await reader?.cancel();
      throw new NotPaid("the 402 is too long");
    }
    parts.push(part.value);
  }
  return new TextDecoder().decode(await new Blob(parts as BlobPart[]).arrayBuffer());
}

/** The seller's request, which has to be of the host that was asked. */
async function requiredOf(answer: Response, url: string): Promise<Required> {
  const named = answer.headers.get("PAYMENT-REQUIRED");
  if ((named?.length ?? 0) > MOST_OF_402) throw new NotPaid("the 402 is too long");
  const body = named === null ? await textOf(answer) : "";
  let required: Required;
  try {
    const bytes = named === null ? null : Uint8Array.from(atob(named), (c) => c.charCodeAt(0));
    required = JSON.parse(bytes === null ? body : new TextDecoder().decode(bytes));
    if (new URL(required.resource.url).host === new URL(url).host) return required;
  } catch {
    throw new NotPaid("the 402 is none of x402 version 2");
  }
  throw new NotPaid("the 402 asks to pay for another host");
}

/** USDC in base units. */
function micros(amount: string): bigint {
  const [whole = "0", part = ""] = amount.split(".");
  return BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, "0"));
}

/** The payment: signed where the wallet asks for it, after the bill was looked at. */
async function paid(wallet: WalletClient, required: Required, options: PayOptions, key: string): Promise<PayOut> {
  const ask = async (signature?: string): Promise<PayOut> => {
    const answer = await wallet.POST("/wallet/mandates/{public_id}/pay", {
      params: { path: { public_id: options.publicId } },
      body: {
        payment_required: { ...required },
        max_amount: options.maxAmount,
        why: options.why,
        idempotency_key: key,
        ...(signature === undefined ? {} : { signature }),
      },
    });
    if (answer.error) throw new NotPaid(answer.error.reason, undefined, answer.error);
    return answer.data;
  };
  const made = await ask();
  if (made.status === "pending_approval")
    throw new NotPaid("the owner has to approve the payment", made.approval_url ?? undefined);
  if (made.header) return made;
  if (!options.sign || !made.typed_data) throw new NotPaid("the bill has to be signed, and no `sign` was given");
  const { to, value } = made.typed_data.message;
  if (!required.accepts.some((offer) => offer.payTo?.toLowerCase() === to.toLowerCase()))
    throw new NotPaid("the bill pays somebody else");
  if (BigInt(value) > micros(options.maxAmount)) throw new NotPaid("the bill is above maxAmount");
  return ask(await options.sign(made.typed_data));
}
