import { type Clock, isJsonObject, type Logger, throttledLogs } from 'agent-gateway';
import { HUB_EVENTS } from '../contract.ts';
import { HEARTBEAT_S } from '../rules/registration.ts';
import type { HubAnswer, HubCalls, JoinedHub } from './hub-calls.ts';
import type { SigningKey } from './keys.ts';

/** Milliseconds between two attempts to join a hub that is unreachable, or refuses. */
export const LOOK_EVERY_MS = 5_000;
/** The path to which hubs deliver the events of other nodes. */
export const INBOX = '/api/v1/deliveries';
/**
 * Subscriptions of one answer, and those that are searched for the one of this gateway at least: a hub has 10,000 at
 * most.
 */
const PAGE = 500;
const MOST_LISTED = 10_000;

/** The membership of this gateway in one hub. */
interface Standing {
  readonly isMember: boolean;
  /** Of the monotonic clock, in milliseconds: when to call again. */
  readonly next: number;
}

export type Membership = ReturnType<typeof createMembership>;

/** This gateway as a node of other hubs: registration, subscription, and heartbeats. */
export function createMembership(parts: {
  readonly hubs: readonly JoinedHub[];
  readonly calls: HubCalls;
  readonly node: () => Promise<{ readonly id: string; readonly key: SigningKey }>;
  /** `SAAS_PUBLIC_URL`, without a slash at the end. */
  readonly endpoint: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
}) {
  const { hubs, calls, node, endpoint, clock, log } = parts;
  const standings = new Map<string, Standing>();
  const underWay = new Map<string, Promise<void>>();
  const warn = throttledLogs<unknown>(clock, (url, err, count) =>
    log.warn({ err, hub: url, count }, 'the experience hub does not have this gateway as a node'),
  );
  // In the form in which hubs list it, or it would be subscribed again whenever this gateway joins.
  const callbackUrl = new URL(`${endpoint}${INBOX}`).href;

  /** Registers; returns the milliseconds until the first heartbeat. */
  async function register(hub: JoinedHub, signal: AbortSignal): Promise<number> {
    const { id, key } = await node();
    const claim = { node_id: id, endpoint, public_key: key.publicKey, capabilities: ['genes'] };
    const answer = await calls.signed(hub, 'POST', '/api/v1/nodes', claim, signal);
    const { status, body } = require2xx(answer, 'the registration');
    // What answers every path with a page, at a wrong address or before the hub, would be taken for one.
    if (!isJsonObject(body))
      throw new Error(`the registration was answered with ${status}, but not with a JSON object`);
    return intervalIn(answer);
  }

  /** Whether the hub has the subscription already; several gateways may share a key, and so a list. */
  async function isSubscribed(hub: JoinedHub, signal: AbortSignal): Promise<boolean> {
    for (let offset = 0; ; offset += PAGE) {
      const path = `/api/v1/subscriptions?limit=${PAGE}&offset=${offset}`;
      const { body } = require2xx(
        await calls.plain(hub, 'GET', path, undefined, signal),
        'the list of subscriptions',
      );
      const { subscriptions = [] } = (body ?? {}) as {
        subscriptions?: readonly { callback_url?: unknown }[];
      };
      if (subscriptions.some(({ callback_url }) => callback_url === callbackUrl)) return true;
      if (subscriptions.length < PAGE || offset >= MOST_LISTED) return false;
    }
  }

  /** Subscribes, unless the hub has the subscription already. */
  async function subscribe(hub: JoinedHub, signal: AbortSignal): Promise<void> {
    if (await isSubscribed(hub, signal)) return;
    const wanted = { callback_url: callbackUrl, events: HUB_EVENTS };
    require2xx(await calls.plain(hub, 'POST', '/api/v1/subscriptions', wanted, signal), 'the subscription');
  }

  async function keepIn(hub: JoinedHub, signal: AbortSignal): Promise<void> {
    const now = clock.monotonic();
    const { isMember, next } = standings.get(hub.url) ?? { isMember: false, next: 0 };
    if (now < next) return;
    try {
      if (isMember) {
        const { id } = await node();
        const path = `/api/v1/nodes/${encodeURIComponent(id)}/heartbeat`;
        const answer = require2xx(await calls.signed(hub, 'PUT', path, {}, signal), 'the heartbeat');
        standings.set(hub.url, { isMember: true, next: now + intervalIn(answer) });
        return;
      }
      const interval = await register(hub, signal);
      await subscribe(hub, signal);
      standings.set(hub.url, { isMember: true, next: now + interval });
      log.info({ hub: hub.url }, 'joined an experience hub');
    } catch (err) {
      // A member registers again as well: the hub may have lost its data.
      standings.set(hub.url, { isMember: false, next: now + LOOK_EVERY_MS });
      if (!signal.aborted) warn(hub.url, err);
    }
  }

  /** The same, once at a time: of two that join at once, each would find no subscription and make one. */
  function kept(hub: JoinedHub, signal: AbortSignal): Promise<void> {
    const known = underWay.get(hub.url);
    if (known !== undefined) return known;
    const keeping = keepIn(hub, signal).finally(() => underWay.delete(hub.url));
    underWay.set(hub.url, keeping);
    return keeping;
  }

  return {
    /**
     * Joins the hubs in which it is no member yet, and sends due heartbeats to the others. Concurrent calls share the
     * work. Never throws.
     */
    async keep(signal: AbortSignal): Promise<void> {
      await Promise.all(hubs.map((hub) => kept(hub, signal)));
    },
    /** Notes that the hub does not know this node (any more). */
    forget: (hubUrl: string) => void standings.delete(hubUrl),
  };
}

/** The milliseconds until the next heartbeat that a hub asks for. */
function intervalIn({ body }: HubAnswer): number {
  const { heartbeat_interval_seconds: seconds } = (body ?? {}) as { heartbeat_interval_seconds?: unknown };
  return (typeof seconds === 'number' && seconds >= 1 && seconds <= 3_600 ? seconds : HEARTBEAT_S) * 1_000;
}

function require2xx(answer: HubAnswer, what: string): HubAnswer {
  const { status, body } = answer;
  if (status >= 200 && status < 300) return answer;
  const { code } = (body ?? {}) as { code?: unknown };
  const why = typeof code === 'string' && /^[a-z.-]{1,64}$/.test(code) ? ` (${code})` : '';
  throw new Error(`${what} was answered with ${status}${why}`);
}
