import { type Clock, type Ids, isJsonObject, parsedJson, readAnswer } from 'agent-gateway';
import { signRequest } from '../rules/envelope.ts';
import { publicKeyProblem } from '../rules/public-key.ts';
import type { SigningKey } from './keys.ts';

/** Milliseconds for a call, and bytes of its answer. */
const TIMEOUT_MS = 5_000;
const MAX_ANSWER = 1024 * 1024;
/**
 * Milliseconds for which the keys of a hub are cached, and after which they are fetched again for an id that is not
 * among them.
 */
const KEYS_MS = 300_000;
const KEYS_AGAIN_MS = 2_000;

/** A hub in which this gateway is a node. Its address is the operator's: rules of egress do not filter it. */
export interface JoinedHub {
  readonly url: string;
  readonly apiKey: string | undefined;
}

/** The answer of a hub. */
export interface HubAnswer {
  readonly status: number;
  /** Parsed; undefined where it is no JSON. */
  readonly body: unknown;
}

export type HubCalls = ReturnType<typeof createHubCalls>;

/** Calls hubs in the name of this node. */
export function createHubCalls(parts: {
  readonly hubs: readonly JoinedHub[];
  readonly node: () => Promise<{ readonly id: string; readonly key: SigningKey }>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'bytes'>;
}) {
  const { hubs, node, clock, ids } = parts;
  const known = new Map<string, { readonly keys: ReadonlyMap<string, string>; readonly at: number }>();
  const asking = new Map<string, Promise<void>>();

  async function call(
    hub: JoinedHub,
    method: string,
    path: string,
    text: string | undefined,
    envelope: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<HubAnswer> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(urlOf(hub, path), {
      method,
      headers: {
        accept: 'application/json',
        ...(hub.apiKey === undefined ? {} : { authorization: `Bearer ${hub.apiKey}` }),
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...envelope,
      },
      ...(text === undefined ? {} : { body: text }),
      redirect: 'error',
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    return {
      status: response.status,
      body: parsedJson((await readAnswer(response.body, MAX_ANSWER, 'the answer of the hub')).toString()),
    };
  }

  async function askKeys(hub: JoinedHub): Promise<void> {
    const { status, body } = await call(hub, 'GET', '/api/v1/keys', undefined, {});
    const { keys } = (body ?? {}) as { keys?: unknown };
    // What stands before a hub that restarts answers in its place: that is no list without keys.
    if (status !== 200 || !Array.isArray(keys)) throw new Error('the hub did not answer with its keys');
    const found = keys
      .slice(0, 100)
      .filter(isJsonObject)
      .flatMap(({ key_id: id, public_key: key }) =>
        typeof id === 'string' && typeof key === 'string' && publicKeyProblem(key) === undefined
          ? [[id, key] as const]
          : [],
      );
    known.set(hub.url, { keys: new Map(found), at: clock.monotonic() });
  }

  /**
   * Fetches the keys of a hub where they are not cached, or too old for this id. Concurrent calls share one request.
   */
  async function refresh(hub: JoinedHub, id: string): Promise<void> {
    const last = known.get(hub.url);
    const age = last === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - last.at;
    if (age < (last?.keys.has(id) ? KEYS_MS : KEYS_AGAIN_MS)) return;
    const pending =
      asking.get(hub.url) ??
      askKeys(hub)
        // Where a hub is unreachable, its cached keys stay valid for what it has signed.
        .catch(() => {
          known.set(hub.url, { keys: last?.keys ?? new Map(), at: clock.monotonic() });
        })
        .finally(() => asking.delete(hub.url));
    asking.set(hub.url, pending);
    await pending;
  }

  return {
    /** Sends a request signed with the node's key. Throws where there is no answer in time. */
    async signed(hub: JoinedHub, method: string, path: string, body: unknown, signal?: AbortSignal) {
      const text = JSON.stringify(body);
      const { id, key } = await node();
      const nonce = ids.bytes(16).toString('hex');
      const { pathname, search } = urlOf(hub, path);
      const envelope = signRequest(
        { method, target: `${pathname}${search}`, body: Buffer.from(text) },
        { signer: id, key: key.key, nonce, now: clock.now() },
      );
      return call(hub, method, path, text, envelope, signal);
    },
    /** Sends a request with the hub's bearer key alone. */
    plain: (hub: JoinedHub, method: string, path: string, body?: unknown, signal?: AbortSignal) =>
      call(hub, method, path, body === undefined ? undefined : JSON.stringify(body), {}, signal),
    /** The key (base64) with this id of one of the hubs; undefined where no hub that can be reached has it. */
    async hubKey(id: string): Promise<string | undefined> {
      // The first that has it counts: what one hub delivers must not wait for another one that hangs.
      const found = hubs.map(async (hub) => {
        await refresh(hub, id);
        return known.get(hub.url)?.keys.get(id) ?? Promise.reject(new Error('the hub does not have the key'));
      });
      return Promise.any(found).catch(() => undefined);
    },
  };
}

function urlOf({ url }: JoinedHub, path: string): URL {
  return new URL(`${url.replace(/\/+$/, '')}${path}`);
}
