import test from 'ava';
import { parseSecretReference } from '../../../foundation/secrets/secret-reference.ts';
import { isTenantSecretsEntry, tenantSecrets } from '../../../foundation/secrets/tenant-secrets.ts';

const LISTED = ['ACME_KEY', 'env:SHARED_KEY', 'TENANT_*', 'file:acme/slack', 'file:tenants/*'];

const ALLOWED = [
  'env:ACME_KEY',
  'env:SHARED_KEY',
  'env:TENANT_',
  'env:TENANT_A',
  'file:acme/slack',
  'file:./acme//slack',
  'file:acme/../acme/slack',
  'file:tenants/a',
  'file:tenants/a/b',
  'file:tenants/..data/b',
];

const REFUSED = [
  'env:ACME_KEYS',
  'env:ACME',
  'env:acme_key',
  'env:XTENANT_A',
  'env:DATABASE_URL',
  'file:ACME_KEY',
  'file:TENANT_A',
  'file:acme/slack2',
  'file:acme',
  'file:tenants',
  'file:tenants/../acme/other',
  'file:tenants/../../etc/passwd',
  'file:../tenants/a',
  'file:/tenants/a',
  'file:///tenants/a',
  'file:/run/secrets/tenants/a',
  'file:..',
  'file:kubernetes.io/serviceaccount/token',
];

/** True where nothing speaks against a reference. */
const isAllowed = (refusalOf: ReturnType<typeof tenantSecrets>) => (reference: Reference) =>
  refusalOf(reference) === undefined;

type Reference = ReturnType<typeof parseSecretReference>;

test('tenants may name what is listed and nothing else', (t) => {
  const allows = tenantSecrets(LISTED);
  for (const text of ALLOWED) t.true(isAllowed(allows)(parseSecretReference(text)), text);
  for (const text of REFUSED) t.false(isAllowed(allows)(parseSecretReference(text)), text);
});

test('without a list tenants may name nothing', (t) => {
  const allows = tenantSecrets([]);
  for (const text of [...ALLOWED, ...REFUSED]) t.false(isAllowed(allows)(parseSecretReference(text)), text);
});

test('the whole folder may be listed, which is no way out of it', (t) => {
  const allows = tenantSecrets(['file:*']);
  t.true(isAllowed(allows)(parseSecretReference('file:anything/at/all')));
  for (const text of ['file:../x', 'file:a/../../x', 'file:/x', 'env:X']) {
    t.false(isAllowed(allows)(parseSecretReference(text)), text);
  }
});

test('an entry that cannot mean anything, or would mean every variable, is refused by name', (t) => {
  for (const entry of [...LISTED, 'file:*', 'file:..data/*']) t.true(isTenantSecretsEntry(entry), entry);
  const bad = [
    '',
    '*',
    'env:*',
    'A-B',
    'A*B',
    'file:',
    'file:/etc/*',
    'file:../x',
    'file:a/../b',
    'file:./a',
    'vault:a',
  ];
  for (const entry of bad) {
    t.false(isTenantSecretsEntry(entry), entry);
    t.throws(() => tenantSecrets(['ACME_KEY', entry]), {
      instanceOf: TypeError,
      message: `"${entry}" names no variable, no file and no secret of a store for tenants`,
    });
  }
});

const A = '0190f000-0000-7000-8000-00000000000a';
const B = '0190f000-0000-7000-8000-00000000000b';
const BOUND = [
  `${A}@api.acme.com=ACME_*`,
  `${A}@*=OWN_KEY`,
  '*@api.shared.com:8443=SHARED',
  `${B}@b.com=file:b/*`,
];

for (const [reference, tenantId, url, refusal] of [
  ['env:ACME_KEY', A, 'https://api.acme.com/x', undefined],
  ['env:ACME_KEY', A, 'https://API.acme.com:443/x', undefined],
  ['env:ACME_KEY', A, 'https://api.acme.com:8443/x', /to api\.acme\.com alone, not to api\.acme\.com:8443/],
  ['env:ACME_KEY', A, 'https://api.acme.com.evil.com/x', /alone, not to api\.acme\.com\.evil\.com/],
  ['env:ACME_KEY', A, 'https://api.acme.com@evil.com/x', /alone, not to evil\.com/],
  ['env:ACME_KEY', B, 'https://api.acme.com/x', /^is not among what this tenant may name$/],
  ['env:OWN_KEY', A, 'https://anywhere.com/', undefined],
  ['env:OWN_KEY', B, 'https://anywhere.com/', /not among/],
  ['env:SHARED', B, 'https://api.shared.com:8443/', undefined],
  ['env:SHARED', A, 'https://api.shared.com/', /alone/],
  ['file:b/key', B, 'http://b.com/', undefined],
  ['file:b/key', A, 'http://b.com/', /not among/],
] as const) {
  const verdict = refusal === undefined ? 'is' : 'is not';
  test(`${reference} ${verdict} for ${tenantId === A ? 'A' : 'B'} at ${url}`, (t) => {
    const said = tenantSecrets(BOUND)(parseSecretReference(reference), { tenantId, url: new URL(url) });
    if (refusal === undefined) t.is(said, undefined);
    else t.regex(said ?? '', refusal);
  });
}

test('what is bound is refused where nobody says for whom and where to', (t) => {
  for (const text of ['env:ACME_KEY', 'env:OWN_KEY', 'env:SHARED'])
    t.truthy(tenantSecrets(BOUND)(parseSecretReference(text)), text);
});

test('an entry binds to a tenant id and a host, or is none', (t) => {
  for (const entry of [...BOUND, '*@*=X', `${A}@[::1]:80=X`, `${A}@a.com:443=X`, 'file:a@b=c'])
    t.true(isTenantSecretsEntry(entry), entry);
  for (const entry of [
    'acme@a.com=X',
    `${A}@=X`,
    `${A}@a.com=`,
    `${A}=X`,
    `${A}@a.com/x=X`,
    `${A}@a b=X`,
    `${A}@a.com=*`,
    '@a.com=X',
  ])
    t.false(isTenantSecretsEntry(entry), entry);
});
