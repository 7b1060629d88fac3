import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { access, reply, route } from '../../kernel/index.ts';
import { startTestGateway, type TestGateway } from '../../testing/index.ts';
import { eachGatewayDatabase } from '../support/databases.ts';
import { testPlugin } from '../support/plugins.ts';
import { until } from '../support/until.ts';

/** Streams that last until they are ended. */
const streams = testPlugin('streams', {
  setup(scope) {
    scope.route(
      route({
        method: 'GET',
        path: '/v1/open',
        access: access.open(['read']),
        summary: 'An event, and then nothing',
        handle: async () =>
          reply.sse(async (stream) => {
            await stream.send({ event: 'open', data: 'yes' });
            await new Promise((_, reject) =>
              stream.signal.addEventListener('abort', () => reject(stream.signal.reason)),
            );
          }),
      }),
    );
  },
});

/** Ends in order when its signal aborts, as what follows something until the signal says that nobody reads any more. */
const followers = testPlugin('followers', {
  setup(scope) {
    scope.route(
      route({
        method: 'GET',
        path: '/v1/followed',
        access: access.open(['read']),
        summary: 'An event, and then nothing',
        handle: async () =>
          reply.sse(async (stream) => {
            await stream.send({ event: 'open', data: 'yes' });
            await new Promise((resolve) => stream.signal.addEventListener('abort', resolve));
          }),
      }),
    );
  },
});

/** An open stream: what has come of it, and whether it has ended. */
async function open(
  { url }: TestGateway,
  token: string | undefined,
  leave: AbortSignal,
  path = '/v1/open',
  signature: Readonly<Record<string, string>> = {},
) {
  const headers = token === undefined ? signature : { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}${path}`, { headers, signal: leave });
  const seen = { text: '', isOver: false };
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body!)
      seen.text += decoder.decode(chunk as Uint8Array, { stream: true });
    seen.isOver = true;
  };
  read().catch(() => undefined);
  await until(() => seen.text.includes('event: open'));
  return seen;
}

eachGatewayDatabase(
  test,
  'an open stream ends when its credential is revoked, rotated, or its tenant deleted, on whichever replica; others go on',
  async (t, { family, environment }) => {
    const start = async () => {
      const gateway = await startTestGateway({ plugins: [streams], env: environment });
      t.teardown(gateway.stop);
      return gateway;
    };
    const here = await start();
    const elsewhere = family === 'sqlite' ? here : await start();
    const { apiKeys, tenants } = here.gateway.services;
    const { id: tenantId } = await here.makeTenant();
    const make = async (tenant = tenantId) => {
      const grant = { tenantId: tenant, name: 'k', roles: ['user'], scopes: [] };
      return apiKeys.create({ ...grant, expiresAt: null, createdBy: null });
    };
    const leave = new AbortController();
    t.teardown(() => leave.abort());
    const orphan = await here.makeTenant();
    const [revoked, kept, orphaned] = [await make(), await make(), await make(orphan.id)];
    const onBoth = (token: string | undefined) =>
      Promise.all([here, elsewhere].map((gateway) => open(gateway, token, leave.signal)));
    const [ofRevoked, ofKept, ofOrphan, ofNobody] = [
      await onBoth(revoked.key),
      await onBoth(kept.key),
      await onBoth(orphaned.key),
      await onBoth(undefined),
    ];

    t.true(await apiKeys.revoke(revoked.record.id, tenantId));
    await until(() => ofRevoked.every(({ isOver }) => isOver));
    for (const { text } of ofRevoked) {
      t.regex(text, /event: error\ndata: \{.*"status":401.*"code":"auth.invalid".*\}\n\ndata: \[DONE\]\n\n$/);
    }
    await tenants.scheduleDelete(orphan.id, new Date(Date.now() + 3_600_000));
    await until(() => ofOrphan.every(({ isOver }) => isOver));
    for (const { isOver, text } of [...ofKept, ...ofNobody]) {
      t.false(isOver);
      t.false(text.includes('error'));
    }
  },
);

test('a stream whose handler ends in order when its signal aborts says why it ended', async (t) => {
  const gateway = await startTestGateway({ plugins: [followers] });
  t.teardown(gateway.stop);
  const { apiKeys } = gateway.gateway.services;
  const { id: tenantId } = await gateway.makeTenant();
  const grant = { tenantId, name: 'k', roles: ['user'], scopes: [], expiresAt: null, createdBy: null };
  const { key, record } = await apiKeys.create(grant);
  const leave = new AbortController();
  t.teardown(() => leave.abort());
  const seen = await open(gateway, key, leave.signal, '/v1/followed');
  await apiKeys.revoke(record.id, tenantId);
  await until(() => seen.isOver);
  t.regex(seen.text, /event: error\ndata: \{.*"code":"auth.invalid".*\}\n\ndata: \[DONE\]\n\n$/);
});

test('a stream that a signature has opened, which counts once, goes on until its tenant is deleted', async (t) => {
  const seen = new Set<string>();
  let tenantId = '';
  const hooks = testPlugin('hooks', {
    setup(scope) {
      scope.authenticate({
        name: 'acme-hook',
        needsBody: true,
        places: [{ in: 'header', name: 'x-acme-signature' }],
        authenticate({ header }) {
          const signature = header('x-acme-signature')!;
          if (seen.has(signature)) return { failure: 'invalid' };
          seen.add(signature);
          const identity = {
            id: 'acme',
            tenantId,
            roles: [],
            scopes: new Set(['read']),
            method: 'acme_hook',
          };
          return { identity };
        },
      });
    },
  });
  const gateway = await startTestGateway({ plugins: [hooks, streams] });
  t.teardown(gateway.stop);
  tenantId = (await gateway.makeTenant()).id;
  const leave = new AbortController();
  t.teardown(() => leave.abort());
  const stream = await open(gateway, undefined, leave.signal, '/v1/open', { 'x-acme-signature': 'one' });
  t.deepEqual([...seen], ['one']);
  await pause(1_200);
  t.false(stream.isOver);
  await gateway.gateway.services.tenants.scheduleDelete(tenantId, new Date(Date.now() + 3_600_000));
  await until(() => stream.isOver);
  t.regex(stream.text, /"code":"auth.invalid"/);
});

test('of two credentials of one caller, in a header of a plugin, the one that is revoked ends its stream alone', async (t) => {
  const keys = new Set(['first', 'second']);
  const vault = testPlugin('vault', {
    setup(scope) {
      scope.authenticate({
        name: 'acme-key',
        places: [{ in: 'header', name: 'x-acme-key' }],
        authenticate({ header }) {
          const key = header('x-acme-key');
          if (key === undefined) return undefined;
          if (!keys.has(key)) return { failure: 'revoked' };
          const scopes = new Set(['read']);
          const tenantId = '00000000-0000-0000-0000-000000000001';
          return { identity: { id: 'acme', tenantId, roles: [], scopes, method: 'acme_key' } };
        },
      });
    },
  });
  const gateway = await startTestGateway({ plugins: [vault, streams] });
  t.teardown(gateway.stop);
  const leave = new AbortController();
  t.teardown(() => leave.abort());
  const opened = (key: string) => open(gateway, undefined, leave.signal, '/v1/open', { 'x-acme-key': key });
  const [first, second] = [await opened('first'), await opened('second')];
  keys.delete('second');
  await until(() => second.isOver);
  t.false(first.isOver);
});
