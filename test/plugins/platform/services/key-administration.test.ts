import test from 'ava';
import { GatewayError } from '../../../../foundation/base/gateway-error.ts';
import { DEFAULT_TENANT_ID, type Identity } from '../../../../kernel/access/identity.ts';
import { access } from '../../../../kernel/api/access.ts';
import {
  requireNewKey,
  routeScopes,
  tenantOfNewKey,
} from '../../../../plugins/platform/services/key-administration.ts';
import { CALLERS, type CallerName, caller, OTHER_TENANT, THIRD_TENANT } from './identities.ts';

const NOW = Date.UTC(2030, 0, 1);
const NO_SCOPES: ReadonlySet<string> = new Set();

for (const [name, identity] of Object.entries(CALLERS)) {
  test(`${name}: a key without tenant_id, or with his own, belongs to his tenant`, (t) => {
    t.is(tenantOfNewKey(identity, undefined), identity.tenantId);
    t.is(tenantOfNewKey(identity, identity.tenantId), identity.tenantId);
  });

  const mayName = (name as CallerName) === 'operator admin';
  test(`${name}: ${mayName ? 'may' : 'may not'} name a foreign tenant_id`, (t) => {
    if (mayName) {
      t.is(tenantOfNewKey(identity, THIRD_TENANT), THIRD_TENANT);
      return;
    }
    const error = t.throws(() => tenantOfNewKey(identity, THIRD_TENANT), { instanceOf: GatewayError });
    t.is(error.code, 'api-key.foreign-tenant');
    t.is(error.kind, 'forbidden');
  });
}

interface GrantCase {
  readonly who: string;
  readonly granter: Identity;
  readonly roles?: readonly string[];
  readonly scopes?: readonly string[];
  readonly expiresAt?: number;
  /** Absent: allowed. */
  readonly kind?: 'invalid' | 'forbidden';
  readonly pointers?: readonly string[];
}

const admin = caller(OTHER_TENANT, ['admin']);
const breakGlass = caller(DEFAULT_TENANT_ID, ['admin'], ['read', 'write', 'execute', 'admin']);
const owner = caller(OTHER_TENANT, ['owner']);
const tenantRole = caller(OTHER_TENANT, ['tenant']);

const GRANTS: readonly GrantCase[] = [
  { who: 'admin', granter: admin, roles: ['user'] },
  { who: 'admin', granter: admin, roles: ['admin', 'auditor', 'owner'] },
  { who: 'admin', granter: admin, roles: ['user'], scopes: ['read'] },
  {
    who: 'admin',
    granter: admin,
    roles: ['user'],
    scopes: ['admin'],
    kind: 'forbidden',
    pointers: ['/body/scopes/0'],
  },
  { who: 'break-glass admin', granter: breakGlass, roles: ['admin'], scopes: ['admin'] },
  { who: 'owner', granter: owner, roles: ['owner', 'user'] },
  { who: 'owner', granter: owner, roles: ['admin'], kind: 'forbidden', pointers: ['/body/roles/0'] },
  { who: 'tenant', granter: tenantRole, roles: ['tenant'] },
  {
    who: 'tenant',
    granter: tenantRole,
    roles: ['tenant', 'admin', 'billing'],
    scopes: ['key:read', 'billing:read', 'read'],
    kind: 'forbidden',
    pointers: ['/body/roles/1', '/body/roles/2', '/body/scopes/1'],
  },
  { who: 'admin', granter: admin, roles: ['king'], kind: 'invalid', pointers: ['/body/roles/0'] },
  { who: 'admin', granter: admin, scopes: ['fly'], kind: 'invalid', pointers: ['/body/scopes/0'] },
  { who: 'admin', granter: admin, expiresAt: NOW + 1 },
  { who: 'admin', granter: admin, expiresAt: NOW, kind: 'invalid', pointers: ['/body/expires_at'] },
  {
    who: 'owner',
    granter: owner,
    roles: ['king', 'admin'],
    expiresAt: NOW - 1,
    kind: 'invalid',
    pointers: ['/body/roles/0', '/body/expires_at', '/body/roles/1'],
  },
];

for (const { who, granter, roles = ['user'], scopes = [], expiresAt, kind, pointers } of GRANTS) {
  const key = JSON.stringify({ roles, scopes, ...(expiresAt !== undefined && { expires: expiresAt - NOW }) });

  test(`${who} makes a key ${key}: ${kind ?? 'allowed'}`, (t) => {
    const wanted = {
      grant: { roles, scopes },
      expiresAt: expiresAt === undefined ? null : new Date(expiresAt),
    };
    const act = () => requireNewKey(granter, wanted, NOW, NO_SCOPES);
    if (kind === undefined) {
      t.notThrows(act);
      return;
    }
    const error = t.throws(act, { instanceOf: GatewayError });
    t.is(error.kind, kind);
    t.deepEqual(
      error.extras.errors?.map(({ pointer }) => pointer),
      pointers,
    );
  });
}

test("a scope of a plugin's route can be granted by who has it, and by nobody else", (t) => {
  const key = { grant: { roles: ['user'], scopes: ['weather:read'] }, expiresAt: null };
  const scopes = new Set(['weather:read']);
  t.notThrows(() => requireNewKey(breakGlass, key, NOW, scopes));
  const error = t.throws(
    () => requireNewKey(admin, { ...key, grant: { ...key.grant, roles: ['user'] } }, NOW, NO_SCOPES),
    {
      instanceOf: GatewayError,
    },
  );
  t.is(error.kind, 'invalid');
  t.is(
    t.throws(
      () => requireNewKey(tenantRole, { ...key, grant: { ...key.grant, roles: ['tenant'] } }, NOW, scopes),
      { instanceOf: GatewayError },
    ).kind,
    'forbidden',
  );
});

test('the scopes of all described routes are known, each once', (t) => {
  const document = {
    openapi: '3.0.3' as const,
    info: { title: 'test', version: '1' },
    paths: {
      '/a': {
        get: { 'x-access': access.governance(['weather:read', 'ops:read']) },
        post: { 'x-access': access.role('user', { scopes: ['weather:write'] }) },
      },
      '/b': { get: { 'x-access': access.public() }, post: { 'x-access': access.governance(['ops:read']) } },
    },
  };
  t.deepEqual([...routeScopes(document)], ['weather:read', 'ops:read', 'weather:write']);
});
