import { LONGEST_DELAY_MS } from '../../foundation/base/deadline.ts';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { GatewayError } from '../../foundation/base/gateway-error.ts';
import { GRPC_CODES } from '../../foundation/base/grpc-status.ts';
import { unstorableFields } from '../../foundation/base/storable-text.ts';
import { isInvalidValue } from '../../foundation/data/errors.ts';
import type { CallEvents, CallStream } from '../../foundation/grpc/call-stream.ts';
import { GrpcErrors } from '../../foundation/grpc/errors.ts';
import type { WireStatus } from '../../foundation/grpc/grpc-js-seams.ts';
import type { CallSeries } from '../../foundation/observability/call-series.ts';
import { waitForRoom } from '../chain/audit.ts';
import { createIdentify, isExempt } from '../chain/auth.ts';
import { enterPlugin } from '../chain/enter.ts';
import { logCall } from '../chain/logging.ts';
import type { ChainServices } from '../chain/order.ts';
import { createAuthorize } from '../chain/rbac.ts';
import { requestIdOf } from '../chain/request-id.ts';
import { askStages } from '../chain/stages.ts';
import { createBindTenant } from '../chain/tenant.ts';
import { HeaderCredentials } from '../http/credentials.ts';
import type { CompiledMethod, MethodTable } from './compiled-service.ts';
import { createEnding, type Ending } from './ending.ts';
import { ServedCall } from './grpc-call.ts';
import { GrpcRequest, GrpcState } from './grpc-state.ts';

/** What only the stages of HTTP need. */
type HttpOnly = 'http' | 'origins' | 'hasStarted' | 'times' | 'bodies' | 'isStrict';

/** Everything that the stages need: what those of HTTP have, and metrics of their own. */
export interface GrpcChainServices extends Omit<ChainServices, HttpOnly> {
  readonly grpc: CallSeries;
}

/** Milliseconds that a client has to send the request of a method that takes one. */
const REQUEST_TIMEOUT = 60_000;

/** Bytes of metadata at most. */
const MAX_METADATA = 32 * 1024;

/** Serves one call from its metadata to its status. `begin` of `CallStream.accept`. */
export type ServeCall = (table: MethodTable, path: string, stream: CallStream) => CallEvents;

/**
 * The way of a gRPC call, in the specification's order, and with the very functions that the stages of HTTP are made
 * of: Tracing, Metrics, RequestID, Auth, Tenant, Logging, Audit, RBAC, RateLimit, Handler, and the stages of plugins
 * before Auth and after RBAC. Nothing of the call but its metadata is read before it may go on.
 */
export function createServeCall(services: GrpcChainServices): ServeCall {
  const { authentication, anonymousAllowed, limits, clock, ids } = services;
  const identify = createIdentify(authentication, anonymousAllowed);
  const bindTenant = createBindTenant(services.tenants);
  const authorize = createAuthorize(anonymousAllowed, limits);

  /** All stages before the handler. Throws what refuses the call. */
  async function admit(state: GrpcState, ending: Ending): Promise<CompiledMethod> {
    const { method, request } = state;
    if (request.size > MAX_METADATA) {
      throw GrpcErrors.metadataTooLarge(`A call has no more than ${MAX_METADATA} bytes of metadata`);
    }
    await askStages(services.stages(), 'before', state, 'GRPC');
    if (method === undefined || !isExempt(method)) {
      const { path } = state;
      state.credentials = new HeaderCredentials(request, 'POST', { path, target: path });
      await identify(state, state.credentials, method?.access);
    }
    await bindTenant(state);
    const room = services.trail.room();
    if (room !== undefined) await waitForRoom(room);
    ending.beginAudit();
    if (method !== undefined) await authorize(state, method.access, method.scopeMethod, request);
    await askStages(services.stages(), 'admitted', state, 'GRPC');
    await limits.count(state, method?.rateLimit ?? 'standard');
    if (method === undefined) throw KernelErrors.pathNotFound(`There is no method ${state.path}`);
    return method;
  }

  async function run(state: GrpcState, ending: Ending, acceptedAt: number): Promise<void> {
    let release: (() => void) | undefined;
    let unwatch: (() => void) | undefined;
    try {
      const method = await admit(state, ending);
      const call = new ServedCall(state, method, services, acceptedAt);
      if (method.definition.countsAsStream === true) release = services.streams.acquire(call, call.userId);
      if (method.responseStream) unwatch = services.credentials.watch(state, state.credentials);
      await ending.succeed(await answer(state, method, call));
    } catch (thrown) {
      await ending.fail(thrown);
    } finally {
      unwatch?.();
      release?.();
    }
  }

  return function serveCall(table, path, stream) {
    const method = table.find(path);
    const request = new GrpcRequest(stream);
    const state = new GrpcState(method, path, request, stream, clock.monotonic());
    const ending = createEnding(state, services);
    const leave = method === undefined ? undefined : enterPlugin(method.inFlight, state);
    state.sourceAddress = services.sourceAddress(request);
    state.requestId = requestIdOf(request.headers['x-request-id'], ids);
    stream.header.set('x-request-id', state.requestId);
    state.trace = services.traces.startRpc(state.pattern, request.headers);
    services.grpc.began();
    state.whenDone((outcome) => {
      const { status, duration } = outcome;
      const tenantId = state.tenant?.id;
      logCall(services.access, state, { method: 'GRPC', path, quiet: method?.rateLimit === 'none' }, outcome);
      const { pattern: route, requestId, errorCode, code: grpcCode } = state;
      services.grpc.ended({ method: '', path: route, status: grpcCode, tenantId, seconds: duration / 1000 });
      state.trace.end({ status, route, requestId, tenantId, errorCode, grpcCode });
    });
    const timer = limitTime(state, method?.definition.timeout);
    void run(state, ending, clock.now()).finally(leave);
    return {
      refused: (status) => state.abort(transportError(status)),
      stalled: (reason) => {
        state.abort(reason);
        state.unsent();
      },
      closed: () => {
        clearTimeout(timer);
        const now = clock.monotonic();
        state.close(now, isLate(now - state.startedAt, stream.allowed));
      },
    };
  };
}

/** The client's deadline begins earlier than ours, by what the request took on its way. */
function isLate(elapsed: number, allowed: number): boolean {
  return elapsed >= allowed - Math.min(Math.max(50, allowed / 10), 1000);
}

function limitTime(state: GrpcState, milliseconds: number | undefined): NodeJS.Timeout | undefined {
  if (milliseconds === undefined || milliseconds > LONGEST_DELAY_MS) return undefined;
  const tooLong = () =>
    state.abort(GrpcErrors.deadline(`The call took longer than ${milliseconds / 1000} s`));
  return setTimeout(tooLong, milliseconds).unref();
}

/** Reads what is to be read, calls the handler, and returns the encoded response of a method that has one. */
async function answer(
  state: GrpcState,
  method: CompiledMethod,
  call: ServedCall,
): Promise<Buffer | undefined> {
  if (!method.requestStream) {
    const tooSlow = () => state.abort(GrpcErrors.deadline('The request did not come in time'));
    const timer = setTimeout(tooSlow, REQUEST_TIMEOUT);
    try {
      await call.readRequest();
    } finally {
      clearTimeout(timer);
    }
  }
  const result = await handle(method, call);
  if (!method.responseStream) {
    const bytes = method.responses.encode(result);
    state.stream.checkSize(bytes);
    return bytes;
  }
  if (isAsyncIterable(result)) for await (const message of result) await call.send(message);
  else if (result !== undefined) throw new Error(`${method.name} must return an async iterable, or nothing`);
  return undefined;
}

/** As over HTTP: the error names the field whose text the data layer refused. */
async function handle(method: CompiledMethod, call: ServedCall) {
  try {
    return await method.definition.handle(call);
  } catch (error) {
    const hasFields = isInvalidValue(error) && !method.requestStream;
    const errors = hasFields ? unstorableFields(call.request, 'body') : [];
    throw errors.length > 0 ? KernelErrors.invalidRequest(undefined, { errors }) : error;
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** Why grpc-js would not go on with a call, as an error of ours. */
function transportError({ code, details }: WireStatus): GatewayError {
  const detail = details ?? undefined;
  switch (code) {
    case GRPC_CODES.DEADLINE_EXCEEDED:
      return GrpcErrors.deadline();
    case GRPC_CODES.RESOURCE_EXHAUSTED:
      return KernelErrors.bodyTooLarge(detail);
    case GRPC_CODES.UNIMPLEMENTED:
      return KernelErrors.unsupportedEncoding(detail);
    default:
      return KernelErrors.malformedBody(detail);
  }
}
