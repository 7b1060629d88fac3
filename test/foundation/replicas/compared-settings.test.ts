import test from 'ava';
import { readKernelSettings } from '../../../foundation/config/kernel-settings.ts';
import { COMPARED, differing, marksOf } from '../../../foundation/replicas/compared-settings.ts';

const marks = (env: Readonly<Record<string, string>>, redis: string | null | undefined = null) =>
  marksOf(readKernelSettings(env), redis);

const DIFFERENT: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['SVC_DEPLOYMENT', { SVC_DEPLOYMENT: 'other' }],
  ['SVC_DATABASE_ROLE', { SVC_DATABASE_ROLE: 'other_app' }],
  ['OBJECT_STORE_URL', { OBJECT_STORE_URL: 's3://bucket?endpoint=http://minio:9000' }],
  ['SVC_EGRESS_DEFAULT', { SVC_EGRESS_DEFAULT: 'deny' }],
  ['SVC_EGRESS_ALLOW_PRIVATE', { SVC_EGRESS_ALLOW_PRIVATE: '10.0.0.0/8' }],
  ['SVC_TENANT_SECRETS', { SVC_TENANT_SECRETS: 'ACME_KEY' }],
  ['SVC_JWT_JWKS_URL', { SVC_JWT_JWKS_URL: 'https://issuer.example/keys' }],
  ['SVC_JWT_AUDIENCE', { SVC_JWT_AUDIENCE: 'gateway' }],
  ['SVC_JWT_ISSUER', { SVC_JWT_ISSUER: 'https://issuer.example' }],
];

for (const [setting, env] of DIFFERENT) {
  test(`${setting} is found, and nothing else`, (t) => {
    t.deepEqual(differing(marks({}), marks(env)), [setting]);
    t.deepEqual(differing(marks(env), marks(env)), []);
  });
}

test('one Redis, another, none, and one that is not known', (t) => {
  t.deepEqual(differing(marks({}, 'a'), marks({}, 'a')), []);
  t.deepEqual(differing(marks({}, 'a'), marks({}, 'b')), ['REDIS_URL']);
  t.deepEqual(differing(marks({}, 'a'), marks({}, null)), ['REDIS_URL']);
  t.deepEqual(differing(marksOf(readKernelSettings({}), undefined), marks({}, 'a')), []);
});

test('under another name of the deployment nothing is said of the Redis', (t) => {
  t.deepEqual(differing(marks({}, 'a'), marks({ SVC_DEPLOYMENT: 'other' }, 'b')), ['SVC_DEPLOYMENT']);
});

test('what says the same in other words does not differ, nor what another version does not compare', (t) => {
  const hosts = 'SVC_EGRESS_ALLOW_PRIVATE';
  t.deepEqual(
    differing(marks({ [hosts]: '10.0.0.1,10.0.0.2' }), marks({ [hosts]: '10.0.0.2,10.0.0.1' })),
    [],
  );
  const store = 'OBJECT_STORE_URL';
  t.deepEqual(differing(marks({ [store]: 'file:/srv/a' }), marks({ [store]: 'file:/mnt/b' })), []);
  t.deepEqual(differing(marks({}), {}), []);
  t.is(Object.keys(marks({})).length, COMPARED.length);
});
