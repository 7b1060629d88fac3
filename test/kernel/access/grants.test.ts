import test from 'ava';
import fc from 'fast-check';
import { GatewayError } from '../../../foundation/base/gateway-error.ts';
import { GrantErrors, grantProblems, requireGrant } from '../../../kernel/access/grants.ts';
import { DEFAULT_TENANT_ID, type Identity, isOperator } from '../../../kernel/access/identity.ts';
import { effectiveScopes, ROLES } from '../../../kernel/access/roles.ts';
import { hasScope, KNOWN_SCOPES } from '../../../kernel/access/scopes.ts';

function granter(roles: readonly string[], scopes: readonly string[] = [], tenantId = 't'): Identity {
  return { id: 'k', tenantId, roles, scopes: effectiveScopes(scopes, roles), method: 'api_key' };
}

const isGranted = (by: Identity, roles: readonly string[], scopes: readonly string[] = []) => {
  const { unknown, refused } = grantProblems(by, { roles, scopes });
  return unknown.length === 0 && refused.length === 0;
};

test('role admin grants every role, an owner also user, everybody else the roles he has', (t) => {
  for (const own of ROLES) {
    for (const role of ROLES) {
      const expected = own === 'admin' || own === role || (own === 'owner' && role === 'user');
      t.is(isGranted(granter([own]), [role]), expected, `${own} grants ${role}`);
    }
  }
});

test('a governance role beside owner in the default tenant is not granted on: it would reach all tenants', (t) => {
  t.true(isGranted(granter(['owner', 'billing']), ['billing'], ['security:*']));
  t.false(isGranted(granter(['owner', 'billing'], [], DEFAULT_TENANT_ID), ['billing'], ['security:*']));
  t.true(isGranted(granter(['billing'], [], DEFAULT_TENANT_ID), ['billing'], ['billing:*']));
});

test('the admin scope is granted only by who has it', (t) => {
  t.true(isGranted(granter(['admin'], ['admin']), ['user'], ['admin']));
  t.false(isGranted(granter(['admin']), ['user'], ['admin']));
  t.false(isGranted(granter(['owner']), ['user'], ['admin']));
});

test('a scope is granted by who has it, by its family too', (t) => {
  t.true(isGranted(granter(['billing']), [], ['billing:read']));
  t.true(isGranted(granter(['billing']), [], ['billing:*']));
  t.false(isGranted(granter(['user'], ['billing:read']), [], ['billing:*']));
  t.false(isGranted(granter(['user'], ['billing:read']), [], ['billing:write']));
  t.false(isGranted(granter(['tenant']), [], ['ops:read']));
});

test('role admin grants the scopes of every role that it may grant', (t) => {
  for (const scope of KNOWN_SCOPES)
    t.is(isGranted(granter(['admin']), [], [scope]), scope !== 'admin', scope);
});

test('an empty list of scopes is the three general ones, so only who has them may leave it empty', (t) => {
  t.true(isGranted(granter(['tenant']), ['tenant'], []));
  const { refused } = grantProblems(granter(['tenant'], ['write']), { roles: [], scopes: [] });
  t.deepEqual(refused, [
    {
      pointer: '/body/scopes',
      message: 'an empty list grants read, write and execute; you do not have read, execute',
    },
  ]);
});

test('unknown roles and scopes are invalid, and all problems are told together', (t) => {
  const error = t.throws(
    () =>
      requireGrant(granter(['user']), {
        roles: ['user', 'root', 'admin'],
        scopes: ['read', '*', 'ops:read', 'crm:read'],
      }),
    { instanceOf: GatewayError, code: GrantErrors.unknown.definition.code },
  );
  t.is(error.kind, 'invalid');
  t.deepEqual(
    error.extras.errors?.map(({ pointer }) => pointer),
    ['/body/roles/1', '/body/scopes/1', '/body/scopes/3', '/body/roles/2', '/body/scopes/2'],
  );
});

test('known roles and scopes that the granter lacks are forbidden, with pointers', (t) => {
  const error = t.throws(
    () => requireGrant(granter(['tenant']), { roles: ['tenant', 'user'], scopes: ['audit:read'] }),
    {
      instanceOf: GatewayError,
      code: GrantErrors.refused.definition.code,
    },
  );
  t.is(error.kind, 'forbidden');
  t.deepEqual(error.extras.errors, [
    { pointer: '/body/roles/1', message: 'you do not have the role user' },
    { pointer: '/body/scopes/0', message: 'you do not have the scope audit:read' },
  ]);
  const one = { roles: ['tenant', 'user'], scopes: ['read'] };
  t.throws(() => requireGrant(granter(['tenant']), one), { code: GrantErrors.refused.definition.code });
  t.notThrows(() => requireGrant(granter(['tenant', 'user']), one));
});

test('names of object members are not roles', (t) => {
  for (const role of ['constructor', '__proto__', 'toString', '']) {
    t.is(grantProblems(granter(['admin']), { roles: [role], scopes: [] }).unknown.length, 1, role);
  }
});

test('scopes of plugins are known when they are named, and granted like others', (t) => {
  const also = new Set(['crm:read']);
  const grant = { roles: [], scopes: ['crm:read'] };
  t.is(grantProblems(granter(['admin']), grant, also).refused.length, 0);
  t.is(grantProblems(granter(['user']), grant, also).refused.length, 1);
  t.is(grantProblems(granter(['user'], ['crm:*']), grant, also).refused.length, 0);
});

test('no grant gives more than its granter has or may grant, and none makes an operator of a non-operator', (t) => {
  const roles = fc.uniqueArray(fc.constantFrom<string>(...ROLES), { maxLength: 3 });
  const scopes = fc.uniqueArray(fc.constantFrom(...KNOWN_SCOPES), { maxLength: 4 });
  fc.assert(
    fc.property(roles, scopes, roles, scopes, (ownRoles, ownScopes, newRoles, newScopes) => {
      const by = granter(ownRoles, ownScopes, DEFAULT_TENANT_ID);
      if (!isGranted(by, newRoles, newScopes)) return;
      const made = granter(newRoles, newScopes, DEFAULT_TENANT_ID);
      if (made.scopes.has('admin')) t.true(by.scopes.has('admin'));
      if (isOperator(made)) t.true(isOperator(by), `${ownRoles} made ${newRoles}`);
      if (by.roles.includes('admin')) return;
      for (const scope of made.scopes) t.true(hasScope(by.scopes, scope), scope);
    }),
    { numRuns: 2000 },
  );
  t.pass();
});
