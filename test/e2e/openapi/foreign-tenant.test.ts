import { randomUUID } from 'node:crypto';
import test from 'ava';
import { send, startAll } from './all-plugins.ts';
import { operationsOf } from './contract.ts';
import { type Input, isSigned } from './inputs.ts';
import { storyPlugin, successes } from './successes.ts';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const ANY = '00000000-aaaa-4aaa-8aaa-000000000000';

/** An error without what differs from one request to the next. */
const bare = (text: string, own: readonly string[]) =>
  own.reduce((rest, id) => rest.replaceAll(id, ANY), text).replaceAll(/"(instance|logid)":"[^"]*"/g, '');

/*
 * Before a tenant calls an operation, administrators of two other tenants do. Where the call names nothing of the
 * tenant, one makes the very same call: the answer must not hold any of the tenant's ids, which this one has never
 * used. Where it does, the other calls with the tenant's ids and with ids of nothing: both must be answered alike. What
 * they did must not keep the tenant from succeeding.
 */
test('no operation shows another tenant that something exists, or lets it change it', async (t) => {
  const story = storyPlugin();
  const gateway = await startAll(story.plugin);
  t.teardown(gateway.stop);
  const operations = operationsOf((await gateway.request('/v1/openapi')).body);
  const administrator = async (tenant: string) => {
    const { id: tenantId } = await gateway.makeTenant(tenant);
    const grant = { name: 'all', roles: ['admin'], scopes: ['admin'], expiresAt: null, createdBy: null };
    return (await gateway.gateway.services.apiKeys.create({ ...grant, tenantId })).key;
  };
  const [reader, guesser] = [await administrator('Readers'), await administrator('Guessers')];

  const known: Record<string, string> = {};
  /** Names of sessions are a tenant's own: the one who guesses gets one of the same name. */
  const taken = new Set<string>();
  const count = { read: 0, guessed: 0 };
  for (const [key, input, learn] of successes(gateway, story.turns)) {
    const operation = operations.find((one) => one.key === key)!;
    const mine = await input(known);
    const asText = JSON.stringify(mine);
    const ids = Object.values(known).filter((value) => value.match(UUID)?.[0] === value);
    const named = ids.filter((id) => asText.includes(id));
    const others: Input = JSON.parse(named.reduce((text, id) => text.replaceAll(id, randomUUID()), asText));

    if (operation['x-access'].kind === 'public' || isSigned(operation)) {
      // No tenant's credential counts there; links of logins and signatures work once.
    } else if (named.length === 0) {
      const { text } = await send(gateway, operation, { ...mine, token: reader });
      const shown = ids.filter((id) => text.includes(id));
      t.deepEqual(shown, [], `${key} shows ids of another tenant: ${text.slice(0, 500)}`);
      count.read += 1;
    } else if (!named.some((id) => taken.has(id))) {
      const foreign = await send(gateway, operation, { ...mine, token: guesser });
      const nothing = await send(gateway, operation, { ...others, token: guesser });
      t.is(foreign.status, nothing.status, `${key}: ${foreign.text.slice(0, 500)}`);
      const used = [...named, ...(JSON.stringify(others).match(UUID) ?? [])];
      if (foreign.status >= 400) t.is(bare(foreign.text, used), bare(nothing.text, used), key);
      if (foreign.status < 300 && operation.method !== 'GET') for (const id of named) taken.add(id);
      count.guessed += 1;
    }

    const received = await send(gateway, operation, mine);
    t.true(received.status < 400, `${key} afterwards: ${received.status} ${received.text}`);
    const isJson = /json/.test(received.headers.get('content-type') ?? '');
    await learn?.(known, isJson ? JSON.parse(received.text) : undefined);
  }
  t.log(`${count.read} calls without ids of another tenant, ${count.guessed} with them`);
  t.true(count.read > 60 && count.guessed > 40);
});
