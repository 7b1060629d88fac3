import { generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import pino from 'pino';
import type { HubCalls } from '../../../plugins/hub/services/hub-calls.ts';
import { createMembership } from '../../../plugins/hub/services/membership.ts';

const { privateKey: key } = generateKeyPairSync('ed25519');
const hub = { url: 'http://127.0.0.1:9', apiKey: 'shared' };

/** A gateway that joins a hub which has these subscriptions; `asked`: what it calls, `logged`: what it logs. */
function memberOf(
  callbacks: readonly string[],
  clock = { monotonic: () => 0 },
  interval?: number,
  endpoint = 'https://me.example.com',
  { status = 200, body = { heartbeat_interval_seconds: interval } as unknown } = {},
) {
  const asked: string[] = [];
  const logged: string[] = [];
  const calls: HubCalls = {
    async signed(_, method, path) {
      asked.push(`${method} ${path}`);
      return { status, body };
    },
    async plain(_, method, path) {
      asked.push(`${method} ${path}`);
      const { searchParams } = new URL(path, hub.url);
      const [limit, offset] = [Number(searchParams.get('limit')), Number(searchParams.get('offset'))];
      const page = callbacks.slice(offset, offset + limit);
      return { status: 200, body: { subscriptions: page.map((callback_url) => ({ callback_url })) } };
    },
    hubKey: async () => undefined,
  };
  const membership = createMembership({
    hubs: [hub],
    calls,
    endpoint,
    clock,
    node: async () => ({ id: 'me', key: { id: 'me', publicKey: 'x', key } }),
    log: pino({}, { write: (line) => void logged.push(line) }),
  });
  return { asked, logged, membership, keep: () => membership.keep(AbortSignal.timeout(5_000)) };
}

/** The calls for the subscription of a gateway that joins. */
async function join(callbacks: readonly string[]) {
  const { asked, keep } = memberOf(callbacks);
  await keep();
  return asked.filter((call) => call.includes('subscriptions'));
}

test('a gateway that shares its key with many others finds its own subscription among theirs', async (t) => {
  const others = Array.from({ length: 1_000 }, (_, at) => `https://other-${at}.example.com/x`);
  const list = 'GET /api/v1/subscriptions?limit=500&offset=';
  const own = 'https://me.example.com/api/v1/deliveries';
  t.deepEqual(await join([...others.slice(0, 700), own]), [`${list}0`, `${list}500`]);
  t.deepEqual(await join([own, ...others]), [`${list}0`]);
  t.deepEqual(await join([]), [`${list}0`, 'POST /api/v1/subscriptions']);
});

test('a gateway whose address is not spelled as a hub lists it finds its subscription', async (t) => {
  const own = ['https://me.example.com/api/v1/deliveries'];
  for (const endpoint of ['https://Me.Example.com', 'https://me.example.com:443', 'HTTPS://me.example.com']) {
    const { asked, keep } = memberOf(own, undefined, undefined, endpoint);
    await keep();
    t.false(asked.includes('POST /api/v1/subscriptions'), endpoint);
  }
});

test('a gateway that joins on two occasions at once subscribes once', async (t) => {
  const { asked, membership, keep } = memberOf([]);
  membership.forget(hub.url);
  await Promise.all([keep(), keep()]);
  t.deepEqual(asked, [
    'POST /api/v1/nodes',
    'GET /api/v1/subscriptions?limit=500&offset=0',
    'POST /api/v1/subscriptions',
  ]);
});

test('heartbeats come as often as the hub asks for, the second one and later too', async (t) => {
  let now = 0;
  const { asked, keep } = memberOf([], { monotonic: () => now }, 10);
  for (; now <= 30_000; now += 5_000) await keep();
  t.is(asked.filter((call) => call === 'PUT /api/v1/nodes/me/heartbeat').length, 3);
});

test('a hub that does not take this gateway for long is one line of the log a minute', async (t) => {
  let now = 0;
  const { asked, logged, keep } = memberOf([], { monotonic: () => now }, 10, undefined, { status: 503 });
  for (; now <= 120_000; now += 5_000) await keep();
  t.is(asked.length, 25);
  t.deepEqual(
    logged.map((line) => JSON.parse(line).count),
    [1, 12, 12],
  );
});

test('what is no answer of a hub is no membership', async (t) => {
  const { asked, logged, keep } = memberOf([], undefined, undefined, undefined, { body: null });
  await keep();
  t.deepEqual(asked, ['POST /api/v1/nodes']);
  const { msg, err } = JSON.parse(logged.join());
  t.is(msg, 'the experience hub does not have this gateway as a node');
  t.is(err.message, 'the registration was answered with 200, but not with a JSON object');
});
