import test from 'ava';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { ACCESS_MATRIX } from './access-matrix.ts';
import { send, startAll } from './all-plugins.ts';
import { operationsOf } from './contract.ts';
import { harmless } from './inputs.ts';
import { storyPlugin } from './successes.ts';

/** API keys of the default tenant, by what the matrix calls them: their roles, and their scopes. */
const CALLERS: Readonly<Record<string, readonly [roles: readonly string[], scopes: readonly string[]]>> = {
  user: [['user'], []],
  read: [['user'], ['read']],
  write: [['user'], ['write']],
  execute: [['user'], ['execute']],
  admin: [['admin'], []],
  'break-glass': [['admin'], ['admin']],
  auditor: [['auditor'], []],
  tenant: [['tenant'], []],
  platform: [['platform'], []],
  security: [['security'], []],
  billing: [['billing'], []],
  ops: [['ops'], []],
  owner: [['owner'], []],
};

test('each role may call what the specification gives it, and is refused everywhere else', async (t) => {
  const gateway = await startAll(storyPlugin().plugin);
  t.teardown(gateway.stop);
  const operations = operationsOf((await gateway.request('/v1/openapi')).body);
  const { apiKeys } = gateway.gateway.services;
  const tokens: [caller: string, token: string][] = [['nobody', 'no-such-credential']];
  for (const [name, [roles, scopes]] of Object.entries(CALLERS)) {
    const grant = { name, roles: [...roles], scopes: [...scopes], expiresAt: null, createdBy: null };
    tokens.push([name, (await apiKeys.create({ ...grant, tenantId: DEFAULT_TENANT_ID })).key]);
  }
  const found = new Map<string, string>();
  for (const operation of operations) {
    const input = harmless(operation);
    const served: string[] = [];
    for (const [caller, token] of tokens) {
      const { status } = await send(gateway, operation, { ...input, token });
      if (status !== 401 && status !== 403) served.push(caller);
    }
    found.set(operation.key, served.join(' '));
  }
  const expected = new Map(
    Object.entries(ACCESS_MATRIX).flatMap(([callers, keys]) => keys.map((key) => [key, callers] as const)),
  );
  t.deepEqual([...expected.keys()].sort(), operations.map(({ key }) => key).sort());
  for (const [key, callers] of found) t.is(callers, expected.get(key)!, key);
});
