import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AuditEntry } from '../../../foundation/audit/audit-entry.ts';
import { createAuditTrail } from '../../../foundation/audit/audit-trail.ts';
import { type Clock, systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { InFlight } from '../../../foundation/base/in-flight.ts';
import { openDatabase } from '../../../foundation/data/database.ts';
import { createFailureLog } from '../../../foundation/errors/failure-log.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { BodyBudget } from '../../../foundation/http/body-budget.ts';
import { createRefuseConnection } from '../../../foundation/http/refusals.ts';
import { createIsTrustedProxy, createSourceAddress } from '../../../foundation/http/source-address.ts';
import { createRateLimits } from '../../../foundation/limits/rate-limits.ts';
import { createStreamLimit } from '../../../foundation/limits/stream-limit.ts';
import { openEvents } from '../../../foundation/messages/events/open-events.ts';
import { createTracing } from '../../../foundation/observability/create-tracing.ts';
import { createLogger } from '../../../foundation/observability/logger.ts';
import { createMetrics } from '../../../foundation/observability/metrics.ts';
import type { Tracing } from '../../../foundation/observability/tracing.ts';
import { access } from '../../../kernel/api/access.ts';
import { type GrpcMethod, type GrpcService, grpcMethod, grpcService } from '../../../kernel/api/grpc.ts';
import type { Route } from '../../../kernel/api/route.ts';
import { createCredentialWatch } from '../../../kernel/auth/credential-watch.ts';
import { openAuthentication } from '../../../kernel/auth/open-authentication.ts';
import { createApplication } from '../../../kernel/chain/application.ts';
import { RequestLimits } from '../../../kernel/chain/rate-limit.ts';
import type { DeclaredService } from '../../../kernel/grpc/compiled-service.ts';
import { compileService } from '../../../kernel/grpc/compiled-service.ts';
import { createGrpc, type GrpcOptions } from '../../../kernel/grpc/grpc.ts';
import { compileRoute } from '../../../kernel/http/compiled-route.ts';
import { Listeners } from '../../../kernel/http/listeners.ts';
import { fakeDurableEvents } from '../../../testing/fakes/fake-durable-events.ts';
import { type GrpcClient, type GrpcClientOptions, grpcClient } from '../../../testing/grpc-client.ts';
import { unreadMetrics } from '../../support/metrics.ts';

const PROTOS = new URL('./protos/', import.meta.url);
export const NOTES_PROTO = new URL('./protos/svc/notes/v1/notes.proto', import.meta.url);
export const OTHER_PROTO = new URL('./protos/svc/notes/v1/other.proto', import.meta.url);
export const NOTES = 'svc.notes.v1.NotesService';

/** The operator's token. */
export const TOKEN = 'acp_static_token_of_a_grpc_test_0123456789';

/** A service of notes whose methods do what a test says; those that it does not name answer with nothing. */
export function notesService(methods: Partial<Record<string, Partial<GrpcMethod>>> = {}): GrpcService {
  const common = { access: access.role('user'), summary: 'a test' };
  const method = (name: string, handle: GrpcMethod['handle']) =>
    grpcMethod({ ...common, handle, ...methods[name] } as GrpcMethod);
  return grpcService({
    proto: NOTES_PROTO,
    includeDirs: [PROTOS],
    service: NOTES,
    methods: {
      GetNote: method('GetNote', ({ request }) => ({ note: { id: request.id, text: `note ${request.id}` } })),
      Tail: method('Tail', async function* ({ request }) {
        for (let index = 0; index < request.count; index += 1)
          yield { id: String(index), text: 'x'.repeat(request.size) };
      }),
      KeepNotes: method('KeepNotes', async ({ requests }) => {
        const texts: string[] = [];
        for await (const { text } of requests) texts.push(text);
        return { count: texts.length, texts };
      }),
      Chat: method('Chat', async (call) => {
        for await (const note of call.requests) await call.send({ ...note, text: `echo ${note.text}` });
      }),
    },
  });
}

/** A service with one method that answers with `from`. */
export function pingService(from: string): GrpcService {
  return grpcService({
    proto: OTHER_PROTO,
    service: 'svc.notes.v1.PingService',
    methods: {
      Ping: grpcMethod({
        access: access.role('user'),
        effect: 'read',
        summary: 'a test',
        handle: () => ({ from }),
      }),
    },
  });
}

/** What a test may choose. */
export interface GrpcTestOptions {
  readonly services?: readonly GrpcService[];
  /** Served over HTTP by the same parts. */
  readonly routes?: readonly Route[];
  readonly anonymousAllowed?: boolean;
  readonly trustedProxies?: readonly string[];
  readonly rates?: { readonly anonymous?: number; readonly user?: number };
  readonly maxStreamsPerUser?: number;
  readonly clock?: Clock;
  readonly traces?: Tracing;
  readonly isServing?: () => boolean;
  /** False leaves the address closed. */
  readonly open?: boolean;
  readonly server?: Partial<GrpcOptions>;
}

export type GrpcTest = Awaited<ReturnType<typeof startGrpc>>;

/** Starts a gRPC server and an HTTP server that share one chain's parts, with a database of their own. */
export async function startGrpc(options: GrpcTestOptions = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-gateway-grpc-'));
  const lines: string[] = [];
  const entries: AuditEntry[] = [];
  const clock = options.clock ?? systemClock;
  const ids = createIds(clock);
  const { logger: log, access: accessLog } = createLogger({
    level: 'debug',
    destination: { write: (line) => lines.push(line) },
    secrets: [TOKEN],
  });
  const database = await openDatabase({
    driver: 'sqlite',
    url: `sqlite:${path.join(folder, 'gateway.db')}`,
    applicationRole: 'agent_gateway_app',
    pool: { max: 2 },
    log,
    clock,
    guardTransactions: true,
  } as Parameters<typeof openDatabase>[0]);
  await database.register(kernelRegistration);
  const trail = createAuditTrail({
    sink: { write: async (batch) => void entries.push(...batch) },
    directory: path.join(folder, 'audit'),
    clock,
    ids,
    log,
  });
  const metrics = createMetrics({ version: 'test', process: false });
  const windows = createRateLimits({ clock });
  const authentication = await openAuthentication({
    database,
    jwt: { publicKey: undefined, jwksUrl: undefined, audience: undefined, issuer: undefined },
    acpToken: TOKEN,
    durableEvents: fakeDurableEvents(),
    events: openEvents({ clock, ids, log, metrics: unreadMetrics() }),
    clock,
    ids,
    log,
  });
  const noTraces = { endpoint: undefined, serviceName: '', version: 'test', log };
  const parts = {
    authentication: authentication.chain,
    anonymousAllowed: options.anonymousAllowed,
    tenants: authentication.tenants,
    trail,
    limits: new RequestLimits({
      windows,
      settings: { anonymous: 60, user: undefined, bootstrap: 5, ...options.rates },
      rejected: (tenantId, window) => metrics.rateLimitRejected(tenantId, window),
    }),
    traces: options.traces ?? (await createTracing(noTraces)),
    access: accessLog,
    logFailure: createFailureLog(log, clock),
    log,
    clock,
    ids,
    sourceAddress: createSourceAddress(options.trustedProxies ?? []),
    isTrustedProxy: createIsTrustedProxy(options.trustedProxies ?? []),
    database,
    streams: createStreamLimit(options.maxStreamsPerUser ?? 0),
    credentials: createCredentialWatch(authentication.chain, authentication.tenants),
    stages: () => [],
  };
  const server = createGrpc({
    address: { host: '127.0.0.1', port: 0, variable: 'SVC_GRPC_ADDR' },
    chain: { ...parts, grpc: metrics.grpc },
    isServing: options.isServing ?? (() => true),
    ...options.server,
  });
  const inFlight = new InFlight();
  const compile = (declaration: GrpcService, owner = 'notes', calls = inFlight): DeclaredService => ({
    name: declaration.service,
    owner,
    declaration,
    inFlight: calls,
    compiled: compileService(declaration, owner, calls),
  });
  if (options.open !== false) await server.open('notes');
  server.prepare((options.services ?? [notesService()]).map((service) => compile(service)))();

  const listeners = new Listeners({
    handler: createApplication({
      hasStarted: () => true,
      isStrict: true,
      bodies: new BodyBudget(1_000_000),
      ...parts,
      http: metrics.http,
      origins: [],
      times: { heartbeat: 15_000, slowClient: 60_000 },
    }),
    refuse: createRefuseConnection({ clock, ids, http: metrics.http, log }),
    everywhere: (options.routes ?? []).map((route) => compileRoute(route, 'notes', new InFlight())),
    log,
  });
  const httpAddress = { host: '127.0.0.1', port: 0, variable: 'SAAS_API_PORT' };
  if (options.routes !== undefined) await listeners.open(httpAddress, 'kernel', true);

  const clients: GrpcClient[] = [];
  return {
    server,
    inFlight,
    compile,
    entries,
    parts,
    metrics,
    authentication,
    /** Where HTTP answers. */
    get url(): string {
      return listeners.url(httpAddress);
    },
    logs: () => lines,
    /** A client of the notes, as the operator unless it says otherwise. */
    client: (client: Partial<GrpcClientOptions> = {}): GrpcClient => {
      const made = grpcClient(server.address!, {
        proto: NOTES_PROTO,
        includeDirs: [PROTOS],
        service: NOTES,
        token: TOKEN,
        ...client,
      });
      clients.push(made);
      return made;
    },
    /** Everything recorded so far, in order. */
    audited: async () => {
      await trail.flush(10_000);
      return entries;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.close();
      server.destroy();
      await server.close();
      listeners.destroy();
      await listeners.close();
      await authentication.close();
      await trail.close(2_000);
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
