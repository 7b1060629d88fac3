import { field } from './field.ts';

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
    unset: 'files below the data folder',
    description: 'Where objects are kept: `file:<path>`, `s3://<bucket>?endpoint=…&region=…`, or `none`',
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
      'Secrets that every tenant may refer to through the API, and send wherever egress lets it: variables (`ACME_KEY`, `ACME_*`) and files of the folder (`file:acme/*`)',
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
