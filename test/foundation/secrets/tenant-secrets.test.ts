import test from 'ava';
import {
  isTenantSecretsEntry,
  parseSecretReference,
  tenantSecrets,
} from '../../../foundation/secrets/secrets.ts';

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

test('tenants may name what is listed and nothing else', (t) => {
  const allows = tenantSecrets(LISTED);
  for (const text of ALLOWED) t.true(allows(parseSecretReference(text)), text);
  for (const text of REFUSED) t.false(allows(parseSecretReference(text)), text);
});

test('without a list tenants may name nothing', (t) => {
  const allows = tenantSecrets([]);
  for (const text of [...ALLOWED, ...REFUSED]) t.false(allows(parseSecretReference(text)), text);
});

test('the whole folder may be listed, which is no way out of it', (t) => {
  const allows = tenantSecrets(['file:*']);
  t.true(allows(parseSecretReference('file:anything/at/all')));
  for (const text of ['file:../x', 'file:a/../../x', 'file:/x', 'env:X']) {
    t.false(allows(parseSecretReference(text)), text);
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
      message: `"${entry}" names no variable and no file for tenants`,
    });
  }
});
