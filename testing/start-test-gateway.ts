import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Clock } from '../foundation/base/clock.ts';
import { Semaphore } from '../foundation/base/semaphore.ts';
import { readKernelSettings } from '../foundation/config/kernel-settings.ts';
import { createLogger } from '../foundation/observability/logger.ts';
import { DEFAULT_TENANT_ID } from '../kernel/access/identity.ts';
import type { Plugin } from '../kernel/api/plugin.ts';
import { type Gateway, startGateway } from '../kernel/gateway.ts';
import type { FakedServices } from '../kernel/open-kernel.ts';
import type { FakeModel } from './fakes/fake-model.ts';
import { type GrpcClient, type GrpcClientOptions, grpcClient } from './grpc-client.ts';
import { putMigratedFile } from './migrated-file.ts';
import { freshDatabase, type TestDatabase } from './test-databases.ts';

/** What a test may choose; everything has a default. */
export interface TestGatewayOptions {
  /** Exactly these plugins, `[...(await bundledPlugins()), mine]` for instance; default: the bundled ones. */
  readonly plugins?: readonly Plugin[];
  /** Where the code of one of them lies, for the file and line of what it does wrong. */
  readonly codeOf?: (plugin: Plugin) => string | undefined;
  /** Folders that hold plugins, each in a folder of its name; followed while the gateway runs. */
  readonly pluginFolders?: readonly string[];
  /** Variables of the gateway and its plugins (`DATABASE_URL`, `LLM_API_URL` …). The process's own are not read. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * A database of its own, dropped when it stops: `sqlite`, or the URL of a server (see `testDatabases`). Default:
   * SQLite, or what `DATABASE_URL` in `env` names, which stays.
   */
  readonly database?: string;
  /**
   * What answers chats, under every name but `demo`: `fakeModel('Hello')`. Default: the demo model, which repeats what
   * it was asked.
   */
  readonly model?: FakeModel;
  /** The text of gateway.yaml; default: no file. */
  readonly yaml?: string;
  readonly clock?: Clock;
  /** Milliseconds that a plugin's set-up may take; default 30,000. */
  readonly setupTimeout?: number;
  /** Instead of the kernel's own, for the plugins: `{ egress: fakeEgress(…) }`. */
  readonly services?: FakedServices;
  /** What a plugin leaves behind fails the test at `stop`; true where that is what the test is about. */
  readonly allowLeaks?: boolean;
}

/** A request of a test. */
export interface TestRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string as it is. */
  readonly body?: unknown;
  /** Bearer token; default: the operator's static token. `null` sends none. */
  readonly token?: string | null;
  readonly signal?: AbortSignal;
}

/** An answer of a test; `body` is the parsed JSON, or the text when it is none. */
export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

/** A tenant of one test. */
export interface TestTenant {
  readonly id: string;
  readonly token: string;
}

/** A gateway of one test, on its own port, database and folder. */
export interface TestGateway extends AsyncDisposable {
  /** Of its HTTP listener, without a slash at the end: `http://127.0.0.1:41234`. */
  readonly url: string;
  /** The operator's static token. */
  readonly token: string;
  /** The gateway itself, with its services. What it has besides `services` is no part of the contract. */
  readonly gateway: Gateway;
  /** Its temporary folder, which holds `gateway.yaml`, `agents.d` and the data folder. */
  readonly folder: string;
  /** Sends a request and reads the whole answer. */
  request(path: string, request?: TestRequest): Promise<TestResponse>;
  /** Makes a tenant with a key that may do everything inside it; `token` is for `request` and gRPC calls. */
  makeTenant(name?: string): Promise<TestTenant>;
  /**
   * A client of a gRPC service that some plugin serves; closed with the gateway. The default credential is the
   * operator's token.
   *
   * @throws Error while no plugin serves any gRPC service.
   */
  grpc(options: GrpcClientOptions): GrpcClient;
  /** The log lines so far, of very many the latest. `LOG_LEVEL` in `env` sets the least severity; default `debug`. */
  logs(): readonly string[];
  /**
   * Stops the gateway and removes its folder; a second call does nothing.
   *
   * @throws Error naming what plugins left behind: calls that did not end, tasks that run on, an undo that failed.
   */
  stop(): Promise<void>;
}

/** Requests a minute that no test reaches. */
const PLENTY = 1_000_000;
/** Log lines that are kept at least; a test that runs for hours does not fill the memory. */
const MAX_LINES = 10_000;

const TOKEN = 'acp_static_token_of_a_test_gateway_0123456789';

/**
 * Starts a whole gateway with SQLite (or whatever `env` says) on a free port of the loopback interface. Transactions
 * that wait for anything but the database are refused. The rate limit of the default tenant is out of every test's
 * reach.
 *
 * @example
 * const gateway = await startTestGateway({ plugins: [weather] });
 * t.teardown(gateway.stop);
 * const { status, body } = await gateway.request('/v1/weather');
 */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { database: server = 'sqlite' } = options;
  const database = server === 'sqlite' ? undefined : await freshDatabase(server);
  const model = await options.model?.listen();
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-gateway-test-'));
  const env = {
    SVC_HOST: '127.0.0.1',
    SAAS_API_PORT: '0',
    SVC_RUNTIME_ADDR: '127.0.0.1:0',
    HUB_ADDR: '127.0.0.1:0',
    SVC_DATA_DIR: path.join(folder, 'data'),
    SVC_CONFIG: path.join(folder, 'gateway.yaml'),
    SVC_AGENTS_DIR: path.join(folder, 'agents.d'),
    SVC_SECRETS_DIR: path.join(folder, 'secrets'),
    SVC_GRPC_ADDR: '127.0.0.1:0',
    SVC_DEPLOYMENT: deploymentOf(database?.env.DATABASE_URL ?? options.env?.DATABASE_URL ?? folder),
    SVC_DRAIN_TIMEOUT: '5s',
    SVC_ACP_TOKEN: TOKEN,
    ...options.env,
    ...database?.env,
    ...(model === undefined ? {} : { LLM_API_URL: model.url }),
  };
  const lines: string[] = [];
  try {
    if (options.yaml !== undefined) await writeFile(env.SVC_CONFIG, options.yaml);
    await mkdir(env.SVC_AGENTS_DIR, { recursive: true });
    const settings = readKernelSettings(env);
    if (hasOwnFile(options))
      await putMigratedFile(path.join(env.SVC_DATA_DIR, 'gateway.db'), options.plugins);
    const gateway = await starts.run(() =>
      startGateway({
        settings,
        env,
        logging: createLogger({
          level: 'LOG_LEVEL' in env ? settings.logLevel : 'debug',
          destination: { write: (line) => keep(lines, line) },
          secrets: [TOKEN],
        }),
        acpToken: env.SVC_ACP_TOKEN,
        guardTransactions: true,
        processMetrics: false,
        ...(options.plugins === undefined ? {} : { plugins: options.plugins }),
        ...(options.codeOf === undefined ? {} : { codeOf: options.codeOf }),
        ...(options.pluginFolders === undefined ? {} : { pluginFolders: options.pluginFolders }),
        ...(options.clock === undefined ? {} : { clock: options.clock }),
        ...(options.services === undefined ? {} : { services: options.services }),
        ...(options.setupTimeout === undefined ? {} : { setupTimeout: options.setupTimeout }),
      }),
    );
    // The default tenant's own 120 requests a minute are soon used up by a test that asks until something is so.
    await gateway.services.tenants.update(DEFAULT_TENANT_ID, { rateLimitRpm: PLENTY });
    return new RunningTestGateway(gateway, { folder, database, model }, lines, options.allowLeaks ?? false);
  } catch (failure) {
    await model?.[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
    throw failure;
  }
}

/** Whether its database is a file that nothing else has. */
function hasOwnFile({ database = 'sqlite', pluginFolders, env = {} }: TestGatewayOptions): boolean {
  const isChosen = ['DATABASE_URL', 'DATABASE_DRIVER', 'SVC_DATA_DIR'].some((name) => name in env);
  return database === 'sqlite' && pluginFolders === undefined && !isChosen;
}

/**
 * Gateways that start at one time in this process: where dozens do, each connection to a server would wait longer than
 * a gateway has patience.
 */
const starts = new Semaphore(4);

/** Gateways of one database are replicas of one deployment; their messages to each other reach no other gateway. */
export function deploymentOf(database: string): string {
  return `test-${createHash('sha256').update(database).digest('hex').slice(0, 16)}`;
}

function keep(lines: string[], line: string): void {
  lines.push(line);
  if (lines.length > 2 * MAX_LINES) lines.splice(0, MAX_LINES);
}

class RunningTestGateway implements TestGateway {
  readonly token = TOKEN;
  readonly gateway: Gateway;
  readonly folder: string;
  readonly #database: TestDatabase | undefined;
  readonly #model: AsyncDisposable | undefined;
  readonly #lines: readonly string[];
  readonly #allowLeaks: boolean;
  readonly #clients: GrpcClient[] = [];
  #stopping: Promise<void> | undefined;

  constructor(
    gateway: Gateway,
    places: { folder: string; database: TestDatabase | undefined; model: AsyncDisposable | undefined },
    lines: readonly string[],
    allowLeaks: boolean,
  ) {
    this.gateway = gateway;
    this.folder = places.folder;
    this.#database = places.database;
    this.#model = places.model;
    this.#lines = lines;
    this.#allowLeaks = allowLeaks;
  }

  get url(): string {
    return this.gateway.url;
  }

  request = async (where: string, request: TestRequest = {}): Promise<TestResponse> => {
    const { method = 'GET', headers = {}, body, token = TOKEN, signal } = request;
    const isJson = typeof body === 'object' && body !== null;
    const response = await fetch(`${this.url}${where}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(isJson ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : String(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await response.text();
    const isJsonAnswer = /[/+]json/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      body: isJsonAnswer && text !== '' ? JSON.parse(text) : text,
    };
  };

  makeTenant = async (name = 'tenant'): Promise<TestTenant> => {
    const { tenants, apiKeys } = this.gateway.services;
    const { id } = await tenants.create({ name, rateLimitRpm: PLENTY });
    const { key } = await apiKeys.create({
      tenantId: id,
      name,
      scopes: [],
      expiresAt: null,
      createdBy: null,
      roles: ['owner', 'admin', 'user'],
    });
    return { id, token: key };
  };

  grpc(options: GrpcClientOptions): GrpcClient {
    const address = this.gateway.grpcAddress();
    if (address === undefined) throw new Error('no plugin serves gRPC');
    const client = grpcClient(address, { token: TOKEN, ...options });
    this.#clients.push(client);
    return client;
  }

  logs(): readonly string[] {
    return this.#lines;
  }

  stop = (): Promise<void> => {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  };

  async #stop(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.gateway.stop();
    await this.#model?.[Symbol.asyncDispose]();
    await this.#database?.[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
    const leaks = this.gateway.host.slots.all.flatMap(({ name, leaks }) =>
      leaks.map((leak) => `${name}: ${leak}`),
    );
    if (leaks.length > 0 && !this.#allowLeaks)
      throw new Error(`plugins left something behind: ${leaks.join('; ')}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
