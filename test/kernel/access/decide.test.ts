import test from 'ava';
import fc from 'fast-check';
import { decide } from '../../../kernel/access/decide.ts';
import {
  ANONYMOUS,
  type Caller,
  DEFAULT_TENANT_ID,
  type Identity,
  LOCAL_ANONYMOUS,
  REJECTED,
} from '../../../kernel/access/identity.ts';
import { effectiveScopes, ROLES, type Role, TENANT_ADMINISTRATION } from '../../../kernel/access/roles.ts';
import { KNOWN_SCOPES } from '../../../kernel/access/scopes.ts';
import { type Access, access } from '../../../kernel/api/access.ts';

const TENANT = '0198c0de-0000-7000-8000-000000000001';
const REMOTE: Caller = { loopback: false, anonymousAllowed: undefined };
const LOOPBACK: Caller = { loopback: true, anonymousAllowed: undefined };

function caller(roles: readonly string[], scopes: readonly string[] = [], tenantId = TENANT): Identity {
  return { id: 'k', tenantId, roles, scopes: effectiveScopes(scopes, roles), method: 'api_key' };
}

function verdict(rule: Access, identity: Identity, method = 'GET', from = REMOTE): string {
  const decision = decide(rule, identity, method, from);
  return decision.allow ? 'allow' : decision.reason;
}

/** Who passes which rule, with the legacy scopes and those of the role alone. Every other role is forbidden. */
const MATRIX: readonly { rule: string; access: Access; method: string; pass: readonly Role[] }[] = [
  { rule: 'public', access: access.public(), method: 'POST', pass: ROLES },
  { rule: 'open', access: access.open(), method: 'GET', pass: ROLES },
  { rule: 'authenticated', access: access.authenticated(), method: 'GET', pass: ROLES },
  { rule: "a key's own", access: access.credential('api_key'), method: 'POST', pass: ROLES },
  { rule: 'a key or a hook', access: access.credential('acme_hook', 'api_key'), method: 'GET', pass: ROLES },
  { rule: 'a hook', access: access.credential('acme_hook'), method: 'POST', pass: [] },
  { rule: 'a credential of no kind', access: access.credential(), method: 'GET', pass: [] },
  {
    rule: '/v1/chat',
    access: access.role('user', { scopes: ['execute'] }),
    method: 'POST',
    pass: ['user', 'admin', 'owner'],
  },
  { rule: '/v1/usage', access: access.role('user'), method: 'GET', pass: ['user', 'admin', 'owner'] },
  { rule: '/v1/gdpr', access: access.role('admin'), method: 'DELETE', pass: ['admin', 'owner'] },
  {
    rule: '/v1/tenants',
    access: access.role(TENANT_ADMINISTRATION),
    method: 'GET',
    pass: ['admin', 'owner', 'tenant'],
  },
  {
    rule: '/v1/audit-logs',
    access: access.role('auditor'),
    method: 'GET',
    pass: ['admin', 'auditor', 'owner'],
  },
  {
    rule: 'skills',
    access: access.role('user', { scopes: ['skills:write'] }),
    method: 'PUT',
    pass: ['admin', 'owner'],
  },
  {
    rule: 'sandbox policy',
    access: access.governance(['ops:*', 'tenant:*']),
    method: 'POST',
    pass: ['tenant', 'platform', 'ops', 'owner'],
  },
  {
    rule: 'tenant keys',
    access: access.governance(['key:*', 'tenant:*']),
    method: 'GET',
    pass: ['tenant', 'platform', 'owner'],
  },
  {
    rule: 'key writes',
    access: access.governance(['key:write']),
    method: 'POST',
    pass: ['tenant', 'platform', 'owner'],
  },
  { rule: 'pricing', access: access.governance(['billing:*']), method: 'PUT', pass: ['billing', 'owner'] },
  {
    rule: 'audit',
    access: access.governance(['audit:read', 'security:read']),
    method: 'GET',
    pass: ['auditor', 'security', 'owner'],
  },
  {
    rule: 'usage',
    access: access.governance(['billing:read', 'usage:read']),
    method: 'GET',
    pass: ['billing', 'owner'],
  },
  {
    rule: 'channels',
    access: access.governance(['channel:*']),
    method: 'PATCH',
    pass: ['platform', 'owner'],
  },
  {
    rule: 'sharing',
    access: access.governance(['sharing:write', 'security:write']),
    method: 'PUT',
    pass: ['security', 'owner'],
  },
  { rule: 'plugins', access: access.governance(['ops:*'], { operator: true }), method: 'POST', pass: [] },
  { rule: 'governance without scopes', access: access.governance([]), method: 'GET', pass: [] },
];

for (const { rule, access: stated, method, pass } of MATRIX) {
  test(`${rule}: ${pass.length === 0 ? 'no role of a tenant passes' : `${pass.join(', ')} pass, no other role does`}`, (t) => {
    for (const role of ROLES) {
      t.is(verdict(stated, caller([role]), method), pass.includes(role) ? 'allow' : 'forbidden', role);
    }
    t.is(verdict(stated, REJECTED, method), rule === 'public' ? 'allow' : 'unauthenticated');
    t.is(verdict(stated, ANONYMOUS, method), rule === 'public' ? 'allow' : 'unauthenticated');
  });
}

test('routes of operators take governance roles of the default tenant and its break-glass, not its owner', (t) => {
  const plugins = access.governance(['ops:*'], { operator: true });
  const of = (roles: readonly string[], scopes?: readonly string[]) =>
    verdict(plugins, caller(roles, scopes, DEFAULT_TENANT_ID), 'POST');
  t.is(of(['ops']), 'allow');
  t.is(of(['platform']), 'allow');
  t.is(of(['admin'], ['admin']), 'allow');
  t.is(of(['admin']), 'forbidden');
  t.is(of(['owner']), 'forbidden');
  t.is(of(['user'], ['ops:write']), 'forbidden');
  t.is(of(['billing']), 'forbidden');
  t.is(verdict(plugins, caller(['admin'], ['admin']), 'POST'), 'forbidden');
});

test('role admin passes governance routes only with the admin scope', (t) => {
  const pricing = access.governance(['billing:*']);
  t.is(verdict(pricing, caller(['admin'])), 'forbidden');
  t.is(verdict(pricing, caller(['admin'], ['read', 'admin'])), 'allow');
});

test('the admin scope passes the general scope checks and no role check', (t) => {
  t.is(verdict(access.role('user'), caller(['user'], ['admin']), 'POST'), 'allow');
  t.is(verdict(access.role('user'), caller(['auditor'], ['admin']), 'POST'), 'forbidden');
});

test('without listed scopes GET and HEAD need read, every other method needs write', (t) => {
  for (const rule of [access.open(), access.role('user')]) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'BREW']) {
      const needed = method === 'GET' || method === 'HEAD' ? 'read' : 'write';
      for (const scope of ['read', 'write', 'execute']) {
        const expected = scope === needed ? 'allow' : 'forbidden';
        t.is(verdict(rule, caller(['user'], [scope]), method), expected, `${rule.kind} ${method} ${scope}`);
      }
    }
  }
});

test('a rule of x:* asks for x:read on safe methods and x:write on others', (t) => {
  const channels = access.governance(['channel:*']);
  t.is(verdict(channels, caller(['user'], ['channel:read']), 'GET'), 'allow');
  t.is(verdict(channels, caller(['user'], ['channel:read']), 'POST'), 'forbidden');
  t.is(verdict(channels, caller(['user'], ['channel:write']), 'GET'), 'forbidden');
});

test('authenticated needs neither role nor scope', (t) => {
  t.is(verdict(access.authenticated(), caller([], ['gdpr'])), 'allow');
});

test('a rule of credentials looks at the kind of the credential alone: neither role, scope, tenant nor loopback matters', (t) => {
  const hook = access.credential('acme_hook');
  const signed = (identity: Identity): Identity => ({ ...identity, method: 'acme_hook' });
  for (const tenantId of [TENANT, DEFAULT_TENANT_ID])
    for (const method of ['GET', 'POST']) {
      t.is(verdict(hook, signed(caller([], [], tenantId)), method), 'allow');
      t.is(verdict(hook, caller(['admin', 'owner'], ['admin', 'write'], tenantId), method), 'forbidden');
    }
  for (const from of [REMOTE, LOOPBACK, { loopback: true, anonymousAllowed: true }])
    for (const nobody of [ANONYMOUS, LOCAL_ANONYMOUS, REJECTED])
      t.is(verdict(hook, nobody, 'POST', from), 'unauthenticated');
  t.is(verdict(access.credential('anonymous'), LOCAL_ANONYMOUS, 'GET', LOOPBACK), 'unauthenticated');
});

test('anonymous callers pass open routes from loopback, or as the operator says', (t) => {
  const cases: readonly [Caller, string][] = [
    [{ loopback: true, anonymousAllowed: undefined }, 'allow'],
    [{ loopback: false, anonymousAllowed: undefined }, 'unauthenticated'],
    [{ loopback: false, anonymousAllowed: true }, 'allow'],
    [{ loopback: true, anonymousAllowed: false }, 'unauthenticated'],
  ];
  for (const [from, expected] of cases) {
    for (const identity of [ANONYMOUS, LOCAL_ANONYMOUS]) {
      t.is(verdict(access.open(), identity, 'POST', from), expected);
      t.is(verdict(access.authenticated(), identity, 'GET', from), 'unauthenticated');
      t.is(verdict(access.role('user'), identity, 'GET', from), 'unauthenticated');
      t.is(verdict(access.governance(['ops:*']), identity, 'GET', from), 'unauthenticated');
      t.is(verdict(access.open(['skills:write']), identity, 'PUT', from), 'unauthenticated');
    }
  }
});

test('a wrong credential gets less than none: open routes refuse it on loopback too', (t) => {
  t.is(verdict(access.open(), REJECTED, 'GET', LOOPBACK), 'unauthenticated');
  t.is(
    verdict(access.open(), REJECTED, 'GET', { loopback: true, anonymousAllowed: true }),
    'unauthenticated',
  );
});

test('the detail says which role or scope is missing', (t) => {
  const detail = (rule: Access, identity: Identity, method = 'GET') => {
    const decision = decide(rule, identity, method, REMOTE);
    return !decision.allow && decision.reason === 'forbidden' ? decision.detail : undefined;
  };
  t.is(detail(access.role('user'), caller(['auditor'])), 'This needs the role user.');
  t.is(
    detail(access.role(TENANT_ADMINISTRATION), caller(['user'])),
    'This needs one of the roles admin, owner, tenant.',
  );
  t.is(detail(access.role('user'), caller(['user'], ['read']), 'POST'), 'This needs the scope write.');
  t.is(detail(access.credential('acme_hook'), caller(['user'])), 'This needs the credential acme_hook.');
  t.is(
    detail(access.credential('acme_hook', 'shop_hook'), caller(['user'])),
    'This needs one of the credentials acme_hook, shop_hook.',
  );
  t.is(
    detail(access.governance(['key:*', 'tenant:*']), caller(['admin']), 'POST'),
    'This needs one of the scopes key:write, tenant:write, admin.',
  );
  t.is(
    detail(access.governance(['ops:*'], { operator: true }), caller(['ops'])),
    'Only administrators of the default tenant may do this.',
  );
});

const anyScopes = fc.array(fc.constantFrom(...KNOWN_SCOPES), { maxLength: 4 });
const anyRoles = fc.array(fc.constantFrom<string>(...ROLES), { maxLength: 3 });
const anyIdentity = fc
  .tuple(anyRoles, anyScopes, fc.constantFrom(TENANT, DEFAULT_TENANT_ID))
  .map(([roles, scopes, tenant]) => caller(roles, scopes, tenant));
const anyRule = fc.oneof(
  anyScopes.map((scopes) => access.open(scopes)),
  fc.subarray(['api_key', 'acme_hook']).map((methods) => access.credential(...methods)),
  fc.tuple(anyRoles, anyScopes).map(([roles, scopes]) => access.role(roles, { scopes })),
  fc.tuple(anyScopes, fc.boolean()).map(([scopes, operator]) => access.governance(scopes, { operator })),
);
const anyMethod = fc.constantFrom('GET', 'POST');

test('one more role never takes a permission away, but owner the reach across tenants', (t) => {
  fc.assert(
    fc.property(
      anyRule,
      anyIdentity,
      anyMethod,
      fc.constantFrom<string>(...ROLES),
      (rule, identity, method, role) => {
        const more = {
          ...identity,
          roles: [...identity.roles, role],
          scopes: new Set([...identity.scopes, ...effectiveScopes(['gdpr'], [role])]),
        };
        const confined = role === 'owner' && rule.kind === 'governance' && rule.operator;
        if (!confined && verdict(rule, identity, method) === 'allow')
          t.is(verdict(rule, more, method), 'allow');
      },
    ),
  );
  t.pass();
});

test('no caller of another tenant passes an operator rule', (t) => {
  fc.assert(
    fc.property(anyScopes, anyRoles, anyScopes, anyMethod, (ruled, roles, scopes, method) => {
      t.is(verdict(access.governance(ruled, { operator: true }), caller(roles, scopes), method), 'forbidden');
    }),
  );
});
