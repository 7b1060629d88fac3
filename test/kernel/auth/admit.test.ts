import test from 'ava';
import { ANONYMOUS, REJECTED } from '../../../kernel/access/identity.ts';
import { admit } from '../../../kernel/auth/admit.ts';
import type { TenantRecord } from '../../../kernel/tenancy/tenants.ts';

const live: TenantRecord = {
  id: 'acme',
  name: 'Acme',
  plan: 'free',
  rateLimitRpm: 60,
  chatContext: 'full',
  maxSessions: 100,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  deletedAt: null,
  purgeAfter: null,
  purgeStartedAt: null,
  purgedAt: null,
};
const identity = { id: 'k', tenantId: 'acme', roles: [], scopes: new Set<string>(), method: 'api_key' };

test('a caller of a live tenant is admitted with it, without a promise when the tenant is at hand', async (t) => {
  t.deepEqual(admit({ identity }, { get: () => live }), { identity, tenant: live });
  t.deepEqual(await admit({ identity }, { get: async () => live }), { identity, tenant: live });
});

test('a credential of a missing or deleted tenant has failed, and the failure keeps whose it was', async (t) => {
  const failed = {
    identity: REJECTED,
    failure: { failure: 'tenant', tenantId: 'acme', identityId: 'k', authenticator: 'api_key' },
    tenant: undefined,
  };
  const deleted = { ...live, deletedAt: new Date(1) };
  t.deepEqual(admit({ identity }, { get: () => undefined }), failed as never);
  t.deepEqual(admit({ identity }, { get: () => deleted }), failed as never);
  t.deepEqual(await admit({ identity }, { get: async () => deleted }), failed as never);
});

test('callers without a tenant cause no lookup and keep their failure', (t) => {
  const get = () => t.fail('nobody is looked up') as never;
  const failure = { failure: 'revoked', tenantId: 'acme' } as const;
  t.deepEqual(admit({ identity: ANONYMOUS }, { get }), {
    identity: ANONYMOUS,
    failure: undefined,
    tenant: undefined,
  });
  t.deepEqual(admit({ identity: REJECTED, failure }, { get }), {
    identity: REJECTED,
    failure,
    tenant: undefined,
  });
});
