import { Type } from '../base/type.ts';
import { field } from './field.ts';
import { SERVICE_VARIABLES } from './service-settings.ts';

/** The variables that the kernel itself reads; the README's table is made from it. */
export const KernelVariables = Type.Object({
  // A choice, so that "prod" does not pass for development.
  nodeEnv: field.choice(['production', 'development', 'test'], {
    env: 'NODE_ENV',
    description:
      '`production` makes no static token and refuses what is for development only; `development` and `test` are the same',
    unset: 'development',
  }),
  host: field.string({ env: 'SVC_HOST', default: '0.0.0.0', description: 'Address that the gateway binds' }),
  port: field.integer({
    env: 'SAAS_API_PORT',
    default: 8080,
    min: 0,
    max: 65_535,
    description: 'Port of the HTTP API; 0 takes a free one',
  }),
  dataDir: field.string({
    env: 'SVC_DATA_DIR',
    default: './data',
    description: 'Folder for the SQLite file, the token of development, and what waits for the database',
  }),
  logLevel: field.choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    env: 'LOG_LEVEL',
    default: 'info',
    description: 'Least severity that is logged: trace, debug, info, warn, error, fatal or silent',
  }),
  configFile: field.string({
    env: 'SVC_CONFIG',
    default: 'gateway.yaml',
    description: 'File that configures the plugins; a missing one means all defaults',
  }),
  pluginDirs: field.folders({
    env: 'SVC_PLUGIN_DIRS',
    default: [],
    description: 'More folders of plugins, separated by `:`',
  }),
  plugins: field.list({
    env: 'SVC_PLUGINS',
    unset: 'all',
    description:
      'Limits this process to the named plugins, separated by commas, and those that they need; all of them have to be there at the start',
  }),
  pluginPackages: field.list({
    env: 'SVC_PLUGIN_PACKAGES',
    unset: 'any package outside production, none in it',
    description:
      'Packages that `plugins.<name>.package` of gateway.yaml may name, by name or scope (`@acme/*`), separated by commas',
  }),
  watchPlugins: field.boolean({
    env: 'SVC_WATCH_PLUGINS',
    default: false,
    description: 'Reloads a plugin when a file of its code is saved; for development',
  }),
  drainTimeout: field.duration({
    env: 'SVC_DRAIN_TIMEOUT',
    default: '25s',
    max: '24h',
    description: 'Time that requests in flight get to finish when the gateway stops',
  }),
  stopDelay: field.duration({
    env: 'SVC_STOP_DELAY',
    default: '0s',
    max: '10m',
    description:
      'Time that load balancers get to notice a stop: not ready, still taking requests, and asking clients to reconnect elsewhere',
  }),
  acpToken: field.string({
    env: 'SVC_ACP_TOKEN',
    secret: true,
    unset: 'made and kept in the data folder; in production none',
    description: 'Static bearer token of the operator, also for the bootstrap route',
  }),
  allowAnonymous: field.boolean({
    env: 'SVC_ALLOW_ANONYMOUS',
    unset: 'callers on the loopback interface only',
    description: 'Opens (`true`) or closes (`false`) the routes that need no credential',
  }),
  onePort: field.boolean({
    env: 'SVC_ONE_PORT',
    default: true,
    description:
      'Serves what listens on an address of its own (`SVC_RUNTIME_ADDR`, `SVC_SERVER_ADDR`, `HUB_ADDR`) on the gateway’s own address as well',
  }),
  trustedProxies: field.list({
    env: 'SVC_TRUSTED_PROXIES',
    default: [],
    description:
      'Addresses and networks (CIDR) of proxies whose `X-Forwarded-For` counts, also `loopback`, `linklocal`, `uniquelocal`',
  }),
  anonymousRateLimit: field.integer({
    env: 'SVC_ANON_RATE_LIMIT_RPM',
    default: 60,
    min: 1,
    description: 'Requests a minute without a credential, for each source address',
  }),
  userRateLimit: field.integer({
    env: 'SVC_USER_RATE_LIMIT_RPM',
    min: 1,
    unset: "the tenant's own limit",
    description: 'Requests a minute for each user of a tenant',
  }),
  bootstrapRateLimit: field.integer({
    env: 'SVC_BOOTSTRAP_RATE_LIMIT_RPM',
    default: 5,
    min: 1,
    description: 'Requests a minute on the bootstrap route, for each source address',
  }),
  maxStreamsPerUser: field.integer({
    env: 'SVC_MAX_STREAMS_PER_USER',
    default: 0,
    min: 0,
    description: 'Event streams that one user may have open in one process; 0 sets no limit',
  }),
  maxBodyBytes: field.size({
    env: 'SVC_MAX_BODY_BYTES_IN_FLIGHT',
    default: '96MiB',
    min: '1MiB',
    description:
      'Bytes of request bodies above 64 KiB that the process holds at one time, each until its call is over; one tenant gets half of it at most',
  }),
  allowedOrigins: field.list({
    env: 'SAAS_ALLOWED_ORIGINS',
    default: [],
    description: 'Origins that browsers may call from (CORS): `*`, or a list separated by commas',
  }),
  jwtPublicKey: field.string({
    env: 'SVC_JWT_PUBLIC_KEY',
    unset: 'no JWT is accepted, unless the key set is configured',
    description: 'RS256 key that verifies JWTs: the PEM text, or the path of a file that holds it',
  }),
  jwtJwksUrl: field.url({
    env: 'SVC_JWT_JWKS_URL',
    protocols: ['https', 'http'],
    description: 'URL of the key set that verifies JWTs',
  }),
  jwtAudience: field.string({
    env: 'SVC_JWT_AUDIENCE',
    unset: 'not checked',
    description: 'Required `aud` of JWTs',
  }),
  jwtIssuer: field.string({
    env: 'SVC_JWT_ISSUER',
    unset: 'not checked',
    description: 'Required `iss` of JWTs',
  }),
  databaseDriver: field.choice(['sqlite', 'postgres', 'mysql'], {
    env: 'DATABASE_DRIVER',
    unset: 'follows from `DATABASE_URL`; `sqlite` without one',
    description: 'Kind of database: sqlite, postgres, or mysql (MySQL and MariaDB)',
  }),
  databaseUrl: field.string({
    env: 'DATABASE_URL',
    secret: true,
    unset: 'a SQLite file in the data folder',
    description: 'Where the database is: `postgres://…`, `mysql://…`, `sqlite:<path>`',
  }),
  mysqlDsn: field.string({
    env: 'MYSQL_DSN',
    secret: true,
    description:
      "Alias of `DATABASE_URL` for MySQL, also in Go's form `user:password@tcp(host:3306)/database`",
  }),
  databaseRole: field.string({
    env: 'SVC_DATABASE_ROLE',
    default: 'agent_gateway_app',
    description:
      'PostgreSQL role in which tenants are served, the same on every replica; a server that several deployments share needs one for each',
  }),
  databasePool: field.integer({
    env: 'SVC_DATABASE_POOL',
    default: 10,
    min: 2,
    max: 1000,
    description:
      'Connections to PostgreSQL or MySQL that this process may have open; on PostgreSQL without Redis, events take one more',
  }),
  sqliteSynchronous: field.choice(['normal', 'full'], {
    env: 'SVC_SQLITE_SYNCHRONOUS',
    default: 'normal',
    description:
      'When commits on SQLite are on the disk: `full`, before they are answered; `normal`, soon after, so that a power cut may lose the last ones',
  }),
  redisUrl: field.url({
    env: 'REDIS_URL',
    secret: true,
    protocols: ['redis', 'rediss'],
    unset: 'each process counts for itself; leases, hints and events use the database where it is a server',
    description: 'Redis through which the replicas share rate limits, leases, hints and events',
  }),
  ...SERVICE_VARIABLES,
  otelEndpoint: field.string({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    unset: 'no tracing',
    description: 'OTLP gRPC endpoint that receives the traces: `host:port` or a URL',
  }),
  otelInsecure: field.boolean({
    env: 'OTEL_EXPORTER_OTLP_INSECURE',
    default: false,
    description: 'Sends the traces without TLS when the endpoint has no scheme',
  }),
  otelServiceName: field.string({
    env: 'OTEL_SERVICE_NAME',
    default: 'agent-gateway',
    description: 'Service name of the traces',
  }),
});
