import { generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import pino from 'pino';
import type { HubCalls } from '../../../plugins/hub/services/hub-calls.ts';
import { createMembership } from '../../../plugins/hub/services/membership.ts';

const { privateKey: key } = generateKeyPairSync('ed25519');
const hub = { url: 'http://127.0.0.1:9', apiKey: 'shared' };

/** The paths of the calls of a gateway that joins a hub which has these subscriptions. */
async function join(callbacks: readonly string[]) {
  const asked: string[] = [];
  const calls: HubCalls = {
    signed: async () => ({ status: 201, body: {} }),
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
    ...{ hubs: [hub], calls, endpoint: 'https://me.example.com', clock: { monotonic: () => 0 } },
    node: async () => ({ id: 'me', key: { id: 'me', publicKey: 'x', key } }),
    log: pino({ level: 'silent' }),
  });
  await membership.keep(AbortSignal.timeout(5_000));
  return asked;
}

test('a gateway that shares its key with many others finds its own subscription among theirs', async (t) => {
  const others = Array.from({ length: 1_000 }, (_, at) => `https://other-${at}.example.com/x`);
  const list = 'GET /api/v1/subscriptions?limit=500&offset=';
  const own = 'https://me.example.com/api/v1/deliveries';
  t.deepEqual(await join([...others.slice(0, 700), own]), [`${list}0`, `${list}500`]);
  t.deepEqual(await join([own, ...others]), [`${list}0`]);
  t.deepEqual(await join([]), [`${list}0`, 'POST /api/v1/subscriptions']);
});
