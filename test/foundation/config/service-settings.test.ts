import test from 'ava';
import { ConfigurationError } from '../../../foundation/config/configuration-error.ts';
import { readKernelSettings } from '../../../foundation/config/kernel-settings.ts';

const REFUSED: readonly { env: Record<string, string>; says: RegExp }[] = [
  { env: { SVC_DEPLOYMENT: 'Blue Green' }, says: /SVC_DEPLOYMENT.*lower-case letters/ },
  { env: { OBJECT_STORE_URL: 'ftp://x' }, says: /OBJECT_STORE_URL.*is not the URL of an object store/ },
  { env: { OBJECT_STORE_URL: 's3://bucket?endpont=x' }, says: /OBJECT_STORE_URL.*endpont/ },
  { env: { SVC_TENANT_SECRETS: '*' }, says: /SVC_TENANT_SECRETS.*write ACME_\* or file:acme/ },
  { env: { SVC_EGRESS_DEFAULT: 'maybe' }, says: /SVC_EGRESS_DEFAULT/ },
  { env: { SVC_EGRESS_ALLOW_PRIVATE: '10.0.0.0/99' }, says: /SVC_EGRESS_ALLOW_PRIVATE.*10\.0\.0\.0\/99/ },
  { env: { SVC_GRPC_ADDR: 'nowhere' }, says: /SVC_GRPC_ADDR/ },
  { env: { SVC_GRPC_TLS_CERT: 'a.pem' }, says: /SVC_GRPC_TLS_KEY: is missing/ },
  { env: { SVC_GRPC_TLS_CLIENT_CA: 'a.pem' }, says: /SVC_GRPC_TLS_CERT: is missing/ },
  { env: { SVC_GRPC_MAX_MESSAGE: '10' }, says: /SVC_GRPC_MAX_MESSAGE/ },
];

for (const { env, says } of REFUSED) {
  test(`${Object.entries(env)[0]!.join('=')} stops the start and names the variable`, (t) => {
    t.throws(() => readKernelSettings(env), { instanceOf: ConfigurationError, message: says });
  });
}
