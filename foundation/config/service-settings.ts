import type { Static, TObject } from 'typebox';
import { allowPrivateProblem } from '../egress/allow-private.ts';
import { type ObjectStoreUrl, parseObjectStoreUrl } from '../objects/object-store-url.ts';
import { isTenantSecretsEntry } from '../secrets/secrets.ts';
import type { Address } from './address.ts';
import type { ConfigurationProblem } from './configuration-error.ts';
import { quoteValue } from './decode-field.ts';
import type { SERVICE_VARIABLES } from './service-variables.ts';

type Variables = Static<TObject<typeof SERVICE_VARIABLES>>;

/** What the services are told by the environment: checked. */
export interface ServiceSettings {
  /** Tells deployments apart that share a Redis or a database. */
  readonly deployment: string;
  readonly objectStore: ObjectStoreUrl;
  readonly secretsDir: string;
  readonly tenantSecrets: readonly string[];
  readonly egress: { readonly default: 'allow' | 'deny'; readonly allowPrivate: readonly string[] };
  /** Path of agents.d. */
  readonly agentsDir: string;
  readonly grpc: {
    readonly address: Address;
    readonly tls:
      | { readonly cert: string; readonly key: string; readonly clientCa: string | undefined }
      | undefined;
    /** Bytes. */
    readonly maxMessage: number;
  };
}

/** Makes the settings of variables that `serviceProblems` finds nothing wrong with. */
export function serviceSettings(variables: Variables, dataDir: string): ServiceSettings {
  const { grpcCertificate: cert, grpcKey: key, grpcClientCa: clientCa } = variables;
  const store = parseObjectStoreUrl(variables.objectStoreUrl, dataDir);
  return {
    deployment: variables.deployment,
    objectStore: 'url' in store ? store.url : { form: 'none' },
    secretsDir: variables.secretsDir,
    tenantSecrets: variables.tenantSecrets,
    egress: { default: variables.egressDefault, allowPrivate: variables.egressAllowPrivate },
    agentsDir: variables.agentsDir,
    grpc: {
      address: variables.grpcAddress,
      tls: cert === undefined || key === undefined ? undefined : { cert, key, clientCa },
      maxMessage: variables.grpcMaxMessage,
    },
  };
}

const DEPLOYMENT = /^[a-z][a-z0-9-]{0,39}$/;

/** What is wrong beyond the kind of each variable. One that could not be read at all is missing here, and passes. */
export function serviceProblems(variables: Partial<Variables>): readonly ConfigurationProblem[] {
  const problems: ConfigurationProblem[] = [];
  const refuse = (name: string, message: string) => problems.push({ name, message });
  const { deployment, tenantSecrets = [], egressAllowPrivate = [] } = variables;
  if (deployment !== undefined && !DEPLOYMENT.test(deployment))
    refuse('SVC_DEPLOYMENT', 'is lower-case letters, digits and "-", 40 characters at most');
  const store = parseObjectStoreUrl(variables.objectStoreUrl, '.');
  if ('problem' in store) refuse('OBJECT_STORE_URL', store.problem);
  for (const entry of tenantSecrets) {
    if (!isTenantSecretsEntry(entry))
      refuse(
        'SVC_TENANT_SECRETS',
        `${quoteValue(entry)} is not a variable or a file, write ACME_* or file:acme/*`,
      );
  }
  for (const entry of egressAllowPrivate) {
    const problem = allowPrivateProblem(entry);
    if (problem !== undefined) refuse('SVC_EGRESS_ALLOW_PRIVATE', `${quoteValue(entry)} ${problem}`);
  }
  const { grpcCertificate, grpcKey, grpcClientCa } = variables;
  if (grpcCertificate !== undefined && grpcKey === undefined)
    refuse('SVC_GRPC_TLS_KEY', 'is missing beside SVC_GRPC_TLS_CERT');
  if (grpcCertificate === undefined && (grpcKey ?? grpcClientCa) !== undefined)
    refuse('SVC_GRPC_TLS_CERT', 'is missing beside the other files of TLS');
  return problems;
}
