import test from 'ava';
import fc from 'fast-check';
import { ConfigurationError } from '../../../foundation/config/configuration-error.ts';
import { mysqlUrlOf } from '../../../foundation/config/database-settings.ts';
import { describeConfig } from '../../../foundation/config/describe-config.ts';
import { readKernelSettings } from '../../../foundation/config/kernel-settings.ts';
import { KernelVariables } from '../../../foundation/config/kernel-variables.ts';

type Env = Record<string, string>;

const problemsOf = (env: Env): string[] => {
  try {
    readKernelSettings(env);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message.split('\n');
    throw error;
  }
  return [];
};

test('an empty environment gives the documented defaults', (t) => {
  t.deepEqual(readKernelSettings({}), {
    production: false,
    listen: { host: '0.0.0.0', port: 8080 },
    isListenSet: { host: false, port: false },
    dataDir: './data',
    logLevel: 'info',
    configFile: 'gateway.yaml',
    pluginDirs: [],
    plugins: undefined,
    drainTimeout: 25_000,
    pluginPackages: undefined,
    watchPlugins: false,
    stopDelay: 0,
    acpToken: undefined,
    allowAnonymous: undefined,
    trustedProxies: [],
    rateLimits: { anonymous: 60, user: undefined, bootstrap: 5 },
    maxStreamsPerUser: 0,
    onePort: true,
    maxBodyBytes: 96 * 1024 * 1024,
    allowedOrigins: [],
    jwt: { publicKey: undefined, jwksUrl: undefined, audience: undefined, issuer: undefined },
    database: { driver: 'sqlite', file: 'data/gateway.db', setBy: 'SVC_DATA_DIR' },
    databaseRole: 'agent_gateway_app',
    databasePool: 10,
    sqliteSynchronous: 'normal',
    redisUrl: undefined,
    services: {
      deployment: 'agent-gateway',
      objectStore: { form: 'files', folder: 'data/objects', isDefault: true },
      secretsDir: '/run/secrets',
      tenantSecrets: [],
      secretMaxAge: 60_000,
      egress: { default: 'allow', allowPrivate: [] },
      agentsDir: 'agents.d',
      grpc: { address: { host: '0.0.0.0', port: 50_051 }, tls: undefined, maxMessage: 4 * 1024 * 1024 },
    },
    tracing: undefined,
  });
});

test('production is what NODE_ENV says, and no other spelling passes for development', (t) => {
  for (const [value, production] of [
    ['production', true],
    ['development', false],
    ['test', false],
    ['', false],
  ] as const)
    t.is(readKernelSettings({ NODE_ENV: value }).production, production, value);
  for (const value of ['prod', 'Production', 'staging'])
    t.deepEqual(problemsOf({ NODE_ENV: value }), [
      `NODE_ENV: "${value}" is not one of production, development, test`,
    ]);
});

test('an environment in which every variable is set arrives completely', (t) => {
  const settings = readKernelSettings({
    NODE_ENV: 'production',
    SVC_HOST: '::1',
    SAAS_API_PORT: '9000',
    SVC_DATA_DIR: '/var/lib/gateway',
    LOG_LEVEL: 'debug',
    SVC_CONFIG: '/etc/gateway.yaml',
    SVC_PLUGIN_DIRS: '/a:/b',
    SVC_PLUGINS: 'platform,console',
    SVC_DRAIN_TIMEOUT: '1m',
    SVC_ACP_TOKEN: 'token',
    SVC_ALLOW_ANONYMOUS: 'false',
    SVC_TRUSTED_PROXIES: 'loopback, 10.0.0.0/8, fd00::/8, 192.0.2.1',
    SVC_ANON_RATE_LIMIT_RPM: '1',
    SVC_USER_RATE_LIMIT_RPM: '2',
    SVC_BOOTSTRAP_RATE_LIMIT_RPM: '3',
    SVC_MAX_STREAMS_PER_USER: '4',
    SVC_ONE_PORT: 'false',
    SVC_MAX_BODY_BYTES_IN_FLIGHT: '8MiB',
    SAAS_ALLOWED_ORIGINS: 'https://a.example,http://localhost:5173',
    SVC_JWT_PUBLIC_KEY: '/etc/jwt.pem',
    SVC_JWT_JWKS_URL: 'https://id.example/keys',
    SVC_JWT_AUDIENCE: 'gateway',
    SVC_JWT_ISSUER: 'https://id.example',
    DATABASE_DRIVER: 'postgres',
    DATABASE_URL: 'postgres://u:p@db/app',
    REDIS_URL: 'redis://:p@redis:6379/1',
    SVC_WATCH_PLUGINS: 'true',
    SVC_PLUGIN_PACKAGES: '@acme/*, notes',
    SVC_STOP_DELAY: '5s',
    SVC_DEPLOYMENT: 'blue',
    OBJECT_STORE_URL: 's3://bucket?endpoint=https://minio.example&region=eu-1',
    SVC_SECRETS_DIR: '/secrets',
    SVC_TENANT_SECRETS: 'ACME_*,file:acme/*',
    SVC_EGRESS_DEFAULT: 'deny',
    SVC_EGRESS_ALLOW_PRIVATE: '10.1.0.0/16,build.internal:8080',
    SVC_AGENTS_DIR: '/etc/agents.d',
    SVC_GRPC_ADDR: '127.0.0.1:6000',
    SVC_GRPC_TLS_CERT: '/tls/cert.pem',
    SVC_GRPC_TLS_KEY: '/tls/key.pem',
    SVC_GRPC_TLS_CLIENT_CA: '/tls/ca.pem',
    SVC_GRPC_MAX_MESSAGE: '1MiB',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:443',
    OTEL_SERVICE_NAME: 'mine',
  });
  t.deepEqual(settings, {
    production: true,
    listen: { host: '::1', port: 9000 },
    dataDir: '/var/lib/gateway',
    logLevel: 'debug',
    configFile: '/etc/gateway.yaml',
    pluginDirs: ['/a', '/b'],
    plugins: ['platform', 'console'],
    isListenSet: { host: true, port: true },
    drainTimeout: 60_000,
    pluginPackages: ['@acme/*', 'notes'],
    watchPlugins: true,
    stopDelay: 5_000,
    acpToken: 'token',
    allowAnonymous: false,
    trustedProxies: ['loopback', '10.0.0.0/8', 'fd00::/8', '192.0.2.1'],
    rateLimits: { anonymous: 1, user: 2, bootstrap: 3 },
    maxStreamsPerUser: 4,
    onePort: false,
    maxBodyBytes: 8 * 1024 * 1024,
    allowedOrigins: ['https://a.example', 'http://localhost:5173'],
    jwt: {
      publicKey: '/etc/jwt.pem',
      jwksUrl: 'https://id.example/keys',
      audience: 'gateway',
      issuer: 'https://id.example',
    },
    database: { driver: 'postgres', url: 'postgres://u:p@db/app', setBy: 'DATABASE_URL' },
    databaseRole: 'agent_gateway_app',
    databasePool: 10,
    sqliteSynchronous: 'normal',
    redisUrl: 'redis://:p@redis:6379/1',
    services: {
      deployment: 'blue',
      objectStore: {
        form: 's3',
        bucket: 'bucket',
        endpoint: 'https://minio.example',
        region: 'eu-1',
        pathStyle: true,
      },
      secretsDir: '/secrets',
      tenantSecrets: ['ACME_*', 'file:acme/*'],
      secretMaxAge: 60_000,
      egress: { default: 'deny', allowPrivate: ['10.1.0.0/16', 'build.internal:8080'] },
      agentsDir: '/etc/agents.d',
      grpc: {
        address: { host: '127.0.0.1', port: 6000 },
        tls: { cert: '/tls/cert.pem', key: '/tls/key.pem', clientCa: '/tls/ca.pem' },
        maxMessage: 1024 * 1024,
      },
    },
    tracing: { endpoint: 'https://collector:443', serviceName: 'mine' },
  });
});

const databases: [Env, unknown][] = [
  [{ SVC_DATA_DIR: '/d' }, { driver: 'sqlite', file: '/d/gateway.db', setBy: 'SVC_DATA_DIR' }],
  [{ DATABASE_DRIVER: 'sqlite' }, { driver: 'sqlite', file: 'data/gateway.db', setBy: 'SVC_DATA_DIR' }],
  [{ DATABASE_URL: 'sqlite:./x.db' }, { driver: 'sqlite', file: './x.db', setBy: 'DATABASE_URL' }],
  [{ DATABASE_URL: 'sqlite:///abs/x.db' }, { driver: 'sqlite', file: '/abs/x.db', setBy: 'DATABASE_URL' }],
  [{ DATABASE_URL: 'file:x.db' }, { driver: 'sqlite', file: 'x.db', setBy: 'DATABASE_URL' }],
  [
    { DATABASE_URL: 'postgresql://h/d' },
    { driver: 'postgres', url: 'postgresql://h/d', setBy: 'DATABASE_URL' },
  ],
  [{ DATABASE_URL: 'mysql://h/d' }, { driver: 'mysql', url: 'mysql://h/d', setBy: 'DATABASE_URL' }],
  [
    { DATABASE_URL: 'mariadb://h/d', DATABASE_DRIVER: 'mysql' },
    { driver: 'mysql', url: 'mariadb://h/d', setBy: 'DATABASE_URL' },
  ],
  [
    { DATABASE_URL: 'u:p@tcp(h:1)/d', DATABASE_DRIVER: 'mysql' },
    { driver: 'mysql', url: 'mysql://u:p@h:1/d', setBy: 'DATABASE_URL' },
  ],
  [
    { DATABASE_URL: 'mysql://h/d?ssl-mode=verify_identity' },
    { driver: 'mysql', url: 'mysql://h/d?ssl-mode=verify_identity', setBy: 'DATABASE_URL' },
  ],
  [{ MYSQL_DSN: 'u:p@tcp(h:1)/d' }, { driver: 'mysql', url: 'mysql://u:p@h:1/d', setBy: 'MYSQL_DSN' }],
  [
    { MYSQL_DSN: 'mysql://u:p@h:1/d', DATABASE_DRIVER: 'mysql' },
    { driver: 'mysql', url: 'mysql://u:p@h:1/d', setBy: 'MYSQL_DSN' },
  ],
  [
    { MYSQL_DSN: 'u:p@tcp(h:1)/d', DATABASE_DRIVER: 'sqlite' },
    { driver: 'sqlite', file: 'data/gateway.db', setBy: 'SVC_DATA_DIR' },
  ],
  [
    { MYSQL_DSN: 'u:p@tcp(h:1)/d', DATABASE_URL: 'postgres://h/d' },
    { driver: 'postgres', url: 'postgres://h/d', setBy: 'DATABASE_URL' },
  ],
];
for (const [env, database] of databases) {
  test(`${JSON.stringify(env)} chooses the database`, (t) =>
    t.deepEqual(readKernelSettings(env).database, database as never));
}

const refused: [Env, string][] = [
  [{ SVC_DRAIN_TIMEOUT: 'abc' }, 'SVC_DRAIN_TIMEOUT: "abc" is not a duration, write 30s or 5m'],
  [{ SAAS_API_PORT: '70000' }, 'SAAS_API_PORT: must be at most 65535'],
  [{ SVC_HOST: 'a b' }, 'SVC_HOST: "a b" is not an IP address or a host name'],
  [{ SVC_ACP_TOKEN: 'geheim\n' }, 'SVC_ACP_TOKEN: holds a space or a character that no header can carry'],
  [
    { SVC_TRUSTED_PROXIES: 'loopback,10.0.0.0/99' },
    'SVC_TRUSTED_PROXIES: "10.0.0.0/99" is not an address or network, write 10.0.0.0/8 or loopback',
  ],
  [
    { SVC_TRUSTED_PROXIES: '10.1' },
    'SVC_TRUSTED_PROXIES: "10.1" is not an address or network, write 10.0.0.0/8 or loopback',
  ],
  ...['0.0.0.0/0', '::/0'].map((entry): [Env, string] => [
    { SVC_TRUSTED_PROXIES: entry },
    `SVC_TRUSTED_PROXIES: "${entry}" would trust everybody, write the addresses of the proxies`,
  ]),
  ...['public', 'none', 'pg_tenants'].map((role): [Env, string] => [
    { SVC_DATABASE_ROLE: role },
    'SVC_DATABASE_ROLE: is a name that PostgreSQL keeps to itself, write agent_gateway_app',
  ]),
  [{ SAAS_ALLOWED_ORIGINS: '*,https://a.example' }, 'SAAS_ALLOWED_ORIGINS: * stands alone'],
  [
    { SAAS_ALLOWED_ORIGINS: 'https://a.example/' },
    'SAAS_ALLOWED_ORIGINS: "https://a.example/" is not an origin, write https://app.example.com (no path)',
  ],
  [
    { SVC_JWT_JWKS_URL: 'https://user:geheim@id.example/keys' },
    'SVC_JWT_JWKS_URL: must not hold a user or a password, with which no request can be sent',
  ],
  [{ DATABASE_DRIVER: 'oracle' }, 'DATABASE_DRIVER: "oracle" is not one of sqlite, postgres, mysql'],
  [
    { DATABASE_DRIVER: 'postgres' },
    'DATABASE_URL: is needed with DATABASE_DRIVER=postgres, write postgres://user:password@host:5432/database',
  ],
  [
    { DATABASE_DRIVER: 'mysql', DATABASE_URL: 'postgres://u:geheim@h/d' },
    'DATABASE_URL: begins with postgres: but DATABASE_DRIVER is mysql',
  ],
  [
    { DATABASE_URL: 'geheim' },
    'DATABASE_URL: is not the URL of a database, write postgres://user:password@host:5432/database',
  ],
  [
    { DATABASE_URL: 'constructor:geheim' },
    'DATABASE_URL: is not the URL of a database, write postgres://user:password@host:5432/database',
  ],
  [
    { DATABASE_URL: 'postgres://u:geheim@h' },
    'DATABASE_URL: is not a complete URL, write postgres://user:password@host:5432/database',
  ],
  [
    { DATABASE_URL: 'sqlite:' },
    'DATABASE_URL: names no file, write sqlite:./data/gateway.db or sqlite:///absolute/path',
  ],
  [
    { DATABASE_URL: 'sqlite:./data/gateway.db?mode=ro' },
    'DATABASE_URL: has parameters, write sqlite:./data/gateway.db',
  ],
  [
    { MYSQL_DSN: 'geheim' },
    'MYSQL_DSN: is not a data source name, write user:password@tcp(host:3306)/database',
  ],
  [
    { DATABASE_URL: 'mysql://u:geheim@h/d?ssl-mode=VERIFY_IDENTITI' },
    'DATABASE_URL: ssl-mode must be one of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY',
  ],
  [
    { DATABASE_URL: 'mysql://u:geheim@h/d?ssl=true' },
    'DATABASE_URL: asks for TLS by a parameter that is not known, write ssl-mode',
  ],
  [
    { MYSQL_DSN: 'mysql://u:geheim@h/d?sslmode=verify-full' },
    'MYSQL_DSN: asks for TLS by a parameter that is not known, write ssl-mode',
  ],
  [
    { MYSQL_DSN: 'u:geheim@tcp([::1]:3306)/d?tls=true' },
    'MYSQL_DSN: asks to verify the name of the server, and has an address in place of its name',
  ],
  [
    { MYSQL_DSN: 'mysql://u:geheim@h' },
    'MYSQL_DSN: is not a complete URL, write mysql://user:password@host:3306/database',
  ],
  [{ REDIS_URL: 'http://:geheim@h' }, 'REDIS_URL: the value is not a URL, write redis://… or rediss://…'],
  ...['/cache', '/1x', '//1', '?db=cache', '/?db='].map((rest): [Env, string] => [
    { REDIS_URL: `redis://:geheim@h:6379${rest}` },
    'REDIS_URL: names a database that is not a number, write redis://host:6379/1',
  ]),
  ...Object.entries({
    REDIS_URL: 'redis://:geheim%@h',
    DATABASE_URL: 'postgres://u:geheim%@h/d',
    MYSQL_DSN: 'mysql://u:geheim%@h/d',
  }).map(([name, url]): [Env, string] => [
    { [name]: url },
    `${name}: holds a % that begins no code, write it as %25`,
  ]),
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' },
    'OTEL_EXPORTER_OTLP_ENDPOINT: "collector" is not an endpoint, write host:4317 or http://host:4317',
  ],
  ...['http://collector', 'http://collector:80/'].map((endpoint): [Env, string] => [
    { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint },
    `OTEL_EXPORTER_OTLP_ENDPOINT: "${endpoint}" needs a port other than 80, write http://host:4317`,
  ]),
];
for (const rest of ['', '/', '/1', '/1/', '?db=3', '/?db=3&family=6', '/1?db=cache']) {
  test(`a Redis at host:6379${rest} is taken`, (t) =>
    t.deepEqual(problemsOf({ REDIS_URL: `redis://:p@host:6379${rest}` }), []));
}

for (const [env, message] of refused) {
  test(`${JSON.stringify(env)} stops the start`, (t) => t.deepEqual(problemsOf(env), [message]));
}

test('problems of single variables and of rules across them are reported together', (t) => {
  const names = problemsOf({
    SAAS_API_PORT: 'x',
    SVC_HOST: '/',
    DATABASE_DRIVER: 'mysql',
    OTEL_EXPORTER_OTLP_ENDPOINT: '/',
  });
  t.deepEqual(
    names.map((line) => line.split(':')[0]),
    ['SAAS_API_PORT', 'SVC_HOST', 'DATABASE_URL', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
  );
});

test('a scheme decides about TLS to the trace receiver, and the insecure flag does without one', (t) => {
  const endpoint = (env: Env) => readKernelSettings(env).tracing?.endpoint;
  const OTEL_EXPORTER_OTLP_INSECURE = 'true';
  t.is(endpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4317', OTEL_EXPORTER_OTLP_INSECURE }), 'http://c:4317');
  t.is(endpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4317' }), 'https://c:4317');
  t.is(endpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317' }), 'http://c:4317');
  t.is(endpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c', OTEL_EXPORTER_OTLP_INSECURE }), 'https://c');
});

test('a lone * allows every origin', (t) => {
  t.is(readKernelSettings({ SAAS_ALLOWED_ORIGINS: '*' }).allowedOrigins, '*');
});

test('no environment makes it throw anything but a ConfigurationError, and no secret is in its text', (t) => {
  const variables = describeConfig(KernelVariables).map(({ env }) => env!);
  const secrets = {
    SVC_ACP_TOKEN: 'ge heim',
    DATABASE_URL: 'x://geheim',
    MYSQL_DSN: 'geheim',
    REDIS_URL: 'geheim',
  };
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...variables), fc.string()), (env) => {
      for (const problem of problemsOf({ ...env, ...secrets })) t.notRegex(problem, /heim/);
    }),
  );
  t.is(new Set(variables).size, variables.length);
});

const REFUSED: readonly { env: Record<string, string>; says: RegExp }[] = [
  { env: { SVC_DEPLOYMENT: 'Blue Green' }, says: /SVC_DEPLOYMENT.*lower-case letters/ },
  { env: { OBJECT_STORE_URL: 'ftp://x' }, says: /OBJECT_STORE_URL.*is not the URL of an object store/ },
  { env: { OBJECT_STORE_URL: 's3://bucket?endpont=x' }, says: /OBJECT_STORE_URL.*endpont/ },
  { env: { SVC_TENANT_SECRETS: '*' }, says: /SVC_TENANT_SECRETS.*write ACME_\*, file:acme/ },
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

const good: [string, string][] = [
  ['user:pass@tcp(db.example:3307)/app', 'mysql://user:pass@db.example:3307/app'],
  ['user:pass@tcp(db.example)/app', 'mysql://user:pass@db.example:3306/app'],
  ['user@tcp([::1]:3306)/app', 'mysql://user@[::1]:3306/app'],
  ['root@/test', 'mysql://root@127.0.0.1:3306/test'],
  ['u:p@tcp(h:1)/d?parseTime=true&charset=utf8mb4,utf8&loc=UTC', 'mysql://u:p@h:1/d?charset=utf8mb4'],
  ['u:p@tcp(h:1)/d?tls=true', 'mysql://u:p@h:1/d?ssl-mode=VERIFY_IDENTITY'],
  ['u:p@tcp(h:1)/d?tls=skip-verify', 'mysql://u:p@h:1/d?ssl-mode=REQUIRED'],
  ['u:p@tcp(h:1)/d?tls=false', 'mysql://u:p@h:1/d'],
];
for (const [dsn, url] of good) {
  test(`${dsn} is ${url}`, (t) => t.deepEqual(mysqlUrlOf(dsn), { url }));
}

for (const dsn of [
  '',
  'geheim',
  'u:geheim@tcp(h:1)',
  'u:geheim@tcp(h:1)/',
  'u:geheim@unix(/run/x.sock)/d',
  'u:geheim@tcp(:1)/d',
  'u:geheim@tcp(h:99999)/d',
  'u:geheim@tcp(h:1)/d?tls=geheim',
]) {
  test(`"${dsn}" is refused without being quoted`, (t) => {
    const result = mysqlUrlOf(dsn);
    t.true('problem' in result && !result.problem.includes('geheim'));
  });
}

test('a password with any characters arrives unchanged', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (password) => {
      const result = mysqlUrlOf(`user:${password}@tcp(db:3306)/app`);
      t.true('url' in result);
      const url = new URL('url' in result ? result.url : '');
      t.is(decodeURIComponent(url.password), password);
      t.is(url.hostname, 'db');
    }),
  );
});

test('no text makes it throw', (t) => {
  fc.assert(fc.property(fc.string(), (text) => void mysqlUrlOf(text)));
  fc.assert(fc.property(fc.string(), fc.string(), (a, b) => void mysqlUrlOf(`u:p@tcp(${a})/${b}`)));
  t.pass();
});
