import type { Static, TObject } from 'typebox';
import { allowPrivateProblem } from '../egress/allow-private.ts';
import { type ObjectStoreUrl, parseObjectStoreUrl } from '../objects/object-store-url.ts';
import { isTenantSecretsEntry } from '../secrets/tenant-secrets.ts';
import type { ConfigurationProblem } from './configuration-error.ts';
import { field } from './field.ts';
import { quoteValue } from './field-codec.ts';
import type { Address } from './units.ts';

type Variables = Static<TObject<typeof SERVICE_VARIABLES>>;

/** Settings of the services from the environment, checked. */
export interface ServiceSettings {
  /** Distinguishes deployments that share a Redis or a database. */
  readonly deployment: string;
  readonly objectStore: ObjectStoreUrl;
  readonly secretsDir: string;
  readonly tenantSecrets: readonly string[];
  /** Milliseconds. */
  readonly secretMaxAge: number;
  readonly egress: {
    /** What holds where no rule of the tenant speaks of a request. */
    readonly default: 'allow' | 'deny';
    /** Hosts, addresses and networks that may be called although they are not public. */
    readonly allowPrivate: readonly string[];
  };
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
    secretMaxAge: variables.secretMaxAge,
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
        `${quoteValue(entry)} is not a variable, a file or a secret of a plugin's store, write ACME_*, file:acme/* or plugin/acme/vault:tenants/*, bound as <tenant id>@<host>=ACME_*`,
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

/** The variables of the kernel's services, of gRPC and of agents.d. */
export const SERVICE_VARIABLES = {
  deployment: field.string({
    env: 'SVC_DEPLOYMENT',
    default: 'agent-gateway',
    description:
      'Name of the deployment: its replicas share it, and other deployments on the same Redis or PostgreSQL database have another one',
  }),
  objectStoreUrl: field.string({
    env: 'OBJECT_STORE_URL',
    unset: 'files below the data folder, which replicas have to share then',
    description:
      'Where objects are kept: `file:<path>`, `s3://<bucket>?endpoint=…&region=…`, `plugin://<plugin>/<name>` for a store that a plugin brings, or `none`',
  }),
  secretsDir: field.string({
    env: 'SVC_SECRETS_DIR',
    default: '/run/secrets',
    description: 'Folder of the secrets that `file:<path>` refers to',
  }),
  tenantSecrets: field.list({
    env: 'SVC_TENANT_SECRETS',
    default: [],
    description:
      'Secrets that tenants may refer to through the API: variables (`ACME_KEY`, `ACME_*`), files of the folder (`file:acme/*`) and secrets of stores that plugins bring (`plugin/acme/vault:tenants/*`), for every tenant and host, or bound to one tenant and host (`<tenant id>@api.acme.com=ACME_*`; `*` is any)',
  }),
  secretMaxAge: field.duration({
    env: 'SVC_SECRET_MAX_AGE',
    default: '1m',
    min: '1s',
    max: '1h',
    description:
      'Time for which a secret of a store that a plugin brings is used before it is read again; it is read anew in the background from half of it on',
  }),
  egressDefault: field.choice(['allow', 'deny'], {
    env: 'SVC_EGRESS_DEFAULT',
    default: 'allow',
    description: 'What holds for outbound requests of tenants that no rule speaks of: allow or deny',
  }),
  egressAllowPrivate: field.list({
    env: 'SVC_EGRESS_ALLOW_PRIVATE',
    default: [],
    description:
      'Hosts, addresses and networks (CIDR) that tenants may reach although they are private, also with `:port`',
  }),
  agentsDir: field.string({
    env: 'SVC_AGENTS_DIR',
    default: 'agents.d',
    description: 'Folder of the YAML resources (agents, models, workflows); followed while the gateway runs',
  }),
  grpcAddress: field.address({
    env: 'SVC_GRPC_ADDR',
    default: '0.0.0.0:50051',
    description: 'Address of the gRPC server; it opens with the first plugin that has a service',
  }),
  grpcCertificate: field.string({
    env: 'SVC_GRPC_TLS_CERT',
    unset: 'gRPC is not encrypted',
    description:
      'File of the certificate (PEM) with which gRPC is served over TLS; read again when it changes',
  }),
  grpcKey: field.string({
    env: 'SVC_GRPC_TLS_KEY',
    description: "File of the certificate's private key (PEM)",
  }),
  grpcClientCa: field.string({
    env: 'SVC_GRPC_TLS_CLIENT_CA',
    unset: 'clients need no certificate',
    description: 'File of the authorities (PEM) whose client certificates gRPC asks for',
  }),
  grpcMaxMessage: field.size({
    env: 'SVC_GRPC_MAX_MESSAGE',
    default: '4MiB',
    min: '1KiB',
    max: '1024MiB',
    description: 'Largest gRPC message, in both directions',
  }),
} as const;
