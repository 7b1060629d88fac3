import proxyAddr from 'proxy-addr';
import type { Static } from 'typebox';
import { isDecodable } from '../base/decodable.ts';
import { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';
import { type DatabaseSettings, databaseSettings } from './database-settings.ts';
import { quoteValue } from './field-codec.ts';
import { KernelVariables } from './kernel-variables.ts';
import { decodeConfig, type Environment } from './read-config.ts';
import { type ServiceSettings, serviceProblems, serviceSettings } from './service-settings.ts';
import { type Address, isHost, parseAddress, WRITE_PERCENT } from './units.ts';

type Variables = Static<typeof KernelVariables>;

/** Settings of the kernel from the environment: decoded, checked, frozen. Durations are milliseconds. */
export interface KernelSettings {
  readonly production: boolean;
  /** Where the gateway listens. */
  readonly listen: Address;
  /** Which parts of it the operator has set, and which are defaults. */
  readonly isListenSet: { readonly host: boolean; readonly port: boolean };
  /** Path, relative to the working directory unless absolute. */
  readonly dataDir: string;
  readonly logLevel: Variables['logLevel'];
  /** Path of gateway.yaml. */
  readonly configFile: string;
  /** Folders of plugins in addition to the bundled one. */
  readonly pluginDirs: readonly string[];
  /** The plugins of this process; undefined: all. */
  readonly plugins: readonly string[] | undefined;
  /** Packages that gateway.yaml may name, by name or scope; undefined: any outside production, none in it. */
  readonly pluginPackages: readonly string[] | undefined;
  /** Reload plugins when their code is saved. */
  readonly watchPlugins: boolean;
  readonly drainTimeout: number;
  /** Between the signal and the end of listening. */
  readonly stopDelay: number;
  /** What `SVC_ACP_TOKEN` says; `ensureAcpToken` makes one for development. */
  readonly acpToken: string | undefined;
  /** Undefined: protected mode (loopback callers only). */
  readonly allowAnonymous: boolean | undefined;
  /** Routes with an address of their own are served on the gateway's as well. */
  readonly onePort: boolean;
  /** Addresses, CIDRs and the names `loopback`, `linklocal`, `uniquelocal`. */
  readonly trustedProxies: readonly string[];
  /** Requests a minute. */
  readonly rateLimits: {
    readonly anonymous: number;
    /** Undefined: the tenant's own limit. */
    readonly user: number | undefined;
    readonly bootstrap: number;
  };
  /** 0: no limit. */
  readonly maxStreamsPerUser: number;
  /** Of large request bodies, at one time. */
  readonly maxBodyBytes: number;
  /** `*` for every origin; an empty list turns CORS off. */
  readonly allowedOrigins: '*' | readonly string[];
  readonly jwt: {
    /** PEM text or the path of a file. */
    readonly publicKey: string | undefined;
    readonly jwksUrl: string | undefined;
    readonly audience: string | undefined;
    readonly issuer: string | undefined;
  };
  readonly database: DatabaseSettings;
  /** PostgreSQL role in which tenants are served. */
  readonly databaseRole: string;
  /** Connections at most. */
  readonly databasePool: number;
  /** Whether a commit on SQLite waits for the disk. */
  readonly sqliteSynchronous: 'normal' | 'full';
  /** Holds a password. */
  readonly redisUrl: string | undefined;
  readonly services: ServiceSettings;
  /** Undefined: no tracing. */
  readonly tracing: TracingSettings | undefined;
}

/** Reads the kernel's settings. Throws a ConfigurationError that names every variable that is wrong. */
export function readKernelSettings(env: Environment): KernelSettings {
  const { value, problems: unreadable } = decodeConfig(KernelVariables, { env });
  // A variable with a problem of its own is missing here; the rules below say nothing about it.
  const variables = value as Variables;
  const problems = [...unreadable, ...RULES.flatMap((rule) => rule(value)), ...serviceProblems(value)];
  const { database, problems: databaseProblems } = databaseSettings({
    driver: variables.databaseDriver,
    url: variables.databaseUrl,
    mysqlDsn: variables.mysqlDsn,
    dataDir: variables.dataDir,
  });
  if (Object.hasOwn(value, 'databaseDriver')) problems.push(...databaseProblems);
  const tracing = tracingSettings(variables.otelEndpoint, variables.otelInsecure, variables.otelServiceName);
  if (tracing !== undefined && 'problem' in tracing) {
    problems.push({ name: 'OTEL_EXPORTER_OTLP_ENDPOINT', message: tracing.problem });
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return Object.freeze({
    ...toSettings(variables),
    isListenSet: { host: isSet(env, 'SVC_HOST'), port: isSet(env, 'SAAS_API_PORT') },
    database: database as DatabaseSettings,
    tracing: tracing as TracingSettings | undefined,
  });
}

function isSet(env: Environment, name: string): boolean {
  return (env[name] ?? '').trim() !== '';
}

function toSettings(variables: Variables): Omit<KernelSettings, 'database' | 'tracing' | 'isListenSet'> {
  const { dataDir, logLevel, configFile, acpToken, allowAnonymous } = variables;
  const { pluginDirs, plugins, pluginPackages, watchPlugins, drainTimeout, stopDelay } = variables;
  return {
    production: variables.nodeEnv === 'production',
    listen: { host: variables.host, port: variables.port },
    dataDir,
    logLevel,
    configFile,
    acpToken,
    allowAnonymous,
    pluginDirs,
    plugins,
    pluginPackages,
    watchPlugins,
    drainTimeout,
    stopDelay,
    onePort: variables.onePort,
    trustedProxies: variables.trustedProxies,
    rateLimits: {
      anonymous: variables.anonymousRateLimit,
      user: variables.userRateLimit,
      bootstrap: variables.bootstrapRateLimit,
    },
    maxStreamsPerUser: variables.maxStreamsPerUser,
    maxBodyBytes: variables.maxBodyBytes,
    allowedOrigins: variables.allowedOrigins.includes('*') ? '*' : variables.allowedOrigins,
    jwt: {
      publicKey: variables.jwtPublicKey,
      jwksUrl: variables.jwtJwksUrl,
      audience: variables.jwtAudience,
      issuer: variables.jwtIssuer,
    },
    databaseRole: variables.databaseRole,
    databasePool: variables.databasePool,
    sqliteSynchronous: variables.sqliteSynchronous,
    redisUrl: variables.redisUrl,
    services: serviceSettings(variables, variables.dataDir),
  };
}

/** What the kind of a field alone cannot say. */
const RULES: readonly ((variables: Partial<Variables>) => ConfigurationProblem[])[] = [
  ({ databaseRole }) => {
    if (databaseRole === undefined) return [];
    const isReserved = /^(?:public|none|pg_.*)$/.test(databaseRole);
    if (!isReserved && /^[a-z_][a-z0-9_]{0,62}$/.test(databaseRole)) return [];
    const why = isReserved ? 'is a name that PostgreSQL keeps to itself' : 'is not the name of a role';
    return [{ name: 'SVC_DATABASE_ROLE', message: `${why}, write agent_gateway_app` }];
  },
  ({ host }) => {
    if (host === undefined || isHost(host)) return [];
    return [{ name: 'SVC_HOST', message: `${quoteValue(host)} is not an IP address or a host name` }];
  },
  ({ acpToken }) => {
    if (acpToken === undefined || /^[\x21-\x7e]+$/.test(acpToken)) return [];
    return [{ name: 'SVC_ACP_TOKEN', message: 'holds a space or a character that no header can carry' }];
  },
  ({ trustedProxies = [] }) =>
    trustedProxies.flatMap((entry) => {
      const problem = trustedProxyProblem(entry);
      if (problem === undefined) return [];
      return [{ name: 'SVC_TRUSTED_PROXIES', message: `${quoteValue(entry)} ${problem}` }];
    }),
  ({ jwtJwksUrl }) => {
    const { username = '', password = '' } = URL.parse(jwtJwksUrl ?? '') ?? {};
    if (username === '' && password === '') return [];
    const message = 'must not hold a user or a password, with which no request can be sent';
    return [{ name: 'SVC_JWT_JWKS_URL', message }];
  },
  ({ redisUrl }) => {
    if (redisUrl === undefined) return [];
    if (!isDecodable(redisUrl)) return [{ name: 'REDIS_URL', message: WRITE_PERCENT }];
    const { pathname, searchParams } = new URL(redisUrl);
    const database = pathname.length > 1 ? pathname.slice(1) : (searchParams.get('db') ?? '0');
    if (/^\d{1,9}\/?$/.test(database)) return [];
    const message = 'names a database that is not a number, write redis://host:6379/1';
    return [{ name: 'REDIS_URL', message }];
  },
  ({ allowedOrigins = [] }) => {
    if (allowedOrigins.includes('*')) {
      if (allowedOrigins.length === 1) return [];
      return [{ name: 'SAAS_ALLOWED_ORIGINS', message: '* stands alone' }];
    }
    return allowedOrigins
      .filter((entry) => URL.parse(entry)?.origin !== entry)
      .map((entry) => ({
        name: 'SAAS_ALLOWED_ORIGINS',
        message: `${quoteValue(entry)} is not an origin, write https://app.example.com (no path)`,
      }));
  },
];

/**
 * Why a trusted proxy is none; undefined for one that can be trusted. With a network of all addresses every caller
 * would choose the address by which it is limited and recorded.
 */
function trustedProxyProblem(entry: string): string | undefined {
  if (/^[\d.a-f:]+\/0+$/i.test(entry)) return 'would trust everybody, write the addresses of the proxies';
  try {
    proxyAddr.compile([entry]);
    return undefined;
  } catch {
    return 'is not an address or network, write 10.0.0.0/8 or loopback';
  }
}

/** Where traces go. */
interface TracingSettings {
  /** `http://host:port` (no TLS) or `https://host:port`. */
  readonly endpoint: string;
  readonly serviceName: string;
}

/**
 * The trace receiver. A scheme decides about TLS; `insecure` does for an endpoint without one
 * (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). Undefined when there is no endpoint.
 */
function tracingSettings(
  endpoint: string | undefined,
  insecure: boolean,
  serviceName: string,
): TracingSettings | { readonly problem: string } | undefined {
  if (endpoint === undefined) return undefined;
  const hasScheme = /^[a-z]+:\/\//i.test(endpoint);
  const written = hasScheme ? endpoint : `${insecure ? 'http' : 'https'}://${endpoint}`;
  const url = URL.parse(written);
  const isUsable = hasScheme
    ? url?.protocol === 'http:' || url?.protocol === 'https:'
    : parseAddress(endpoint) !== undefined && !endpoint.startsWith(':');
  if (url === null || !isUsable) {
    return { problem: `${quoteValue(endpoint)} is not an endpoint, write host:4317 or http://host:4317` };
  }
  // The exporter takes the port from the URL, which has none where it is that of the scheme, and gRPC then calls 443.
  if (url.protocol === 'http:' && url.port === '')
    return { problem: `${quoteValue(endpoint)} needs a port other than 80, write http://host:4317` };
  return { endpoint: written, serviceName };
}
