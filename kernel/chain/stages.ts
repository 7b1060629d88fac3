import { within } from '../../foundation/base/deadline.ts';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { GatewayError } from '../../foundation/base/gateway-error.ts';
import type { InFlight } from '../../foundation/base/in-flight.ts';
import { headerOf } from '../../foundation/http/headers.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import type { RequestStage, StagedRequest } from '../api/stage.ts';
import type { CallState } from './call-state.ts';
import type { Middleware } from './request-state.ts';

/** A stage of a plugin. */
export interface PluginStage {
  readonly plugin: string;
  readonly stage: RequestStage;
  /** The plugin's. */
  readonly log: Logger;
  /** A plugin that stops waits for the hooks that are under way. */
  readonly inFlight: InFlight;
}

const DEFAULT_TIMEOUT = 2_000;
/** Headers of an answer that only the gateway may set. */
const RESERVED = /^(?:content-|transfer-encoding$|connection$|trailer$|upgrade$|x-request-id$|x-ratelimit-)/;

/** In the order in which they are asked. Pure. */
export function inOrder(stages: readonly PluginStage[]): readonly PluginStage[] {
  const place = ({ plugin, stage }: PluginStage) => `${plugin} ${stage.name}`;
  return [...stages].sort(
    (one, other) => (one.stage.order ?? 0) - (other.stage.order ?? 0) || (place(one) < place(other) ? -1 : 1),
  );
}

type Hook = 'before' | 'admitted';

/** Asks one hook of the plugins' stages about each request. */
export function stages(live: () => readonly PluginStage[], hook: Hook): Middleware {
  return function askAbout(context, next) {
    const answer = askStages(live(), hook, context.state, context.req.method ?? 'GET');
    return answer === undefined ? next() : answer.then(next);
  };
}

/**
 * Asks one hook about a call of any transport, unless it is the kernel's own or leads nowhere. Without a stage it costs
 * a look at an empty list.
 *
 * @param method as `StagedRequest.method`
 * @throws what refuses the call
 */
export function askStages(
  asked: readonly PluginStage[],
  hook: Hook,
  state: CallState,
  method: string,
): Promise<void> | undefined {
  const { owner } = state;
  if (asked.length === 0 || owner === undefined || owner === 'kernel') return undefined;
  return askEach(asked, hook, state, method);
}

async function askEach(
  asked: readonly PluginStage[],
  hook: Hook,
  state: CallState,
  method: string,
): Promise<void> {
  const request = requestOf(state, method);
  const { identity, tenant, requestId } = state;
  const call = { pattern: state.pattern, abort: (reason: Error) => state.abort(reason) };
  for (const { plugin, stage, log, inFlight } of asked) {
    const ask = stage[hook];
    if (ask === undefined) continue;
    const what = `the stage ${stage.name} of ${plugin}`;
    inFlight.enter(call);
    try {
      await within(
        stage.timeoutMs ?? DEFAULT_TIMEOUT,
        what,
        (async () => ask(request, { identity, tenant }))(),
      );
    } catch (err) {
      if (err instanceof GatewayError) throw err;
      // A refusal is logged with its cause where it is answered; a request that passes has only this line.
      if (stage.onFailure !== 'pass')
        throw KernelErrors.unavailable('A check of this request failed', {
          cause: new Error(`${what} failed`, { cause: err }),
        });
      log.error({ err, stage: stage.name, hook, requestId }, 'a stage around requests failed');
    } finally {
      inFlight.leave(call);
    }
  }
}

function requestOf(state: CallState, method: string): StagedRequest {
  const { path, pattern, sourceAddress, requestId, signal, headers } = state;
  return {
    method,
    path,
    route: pattern,
    host: (headerOf(headers, 'host') ?? '').toLowerCase().replace(/:\d+$/, ''),
    address: sourceAddress,
    requestId,
    signal,
    header: (name) => headerOf(headers, name),
    setHeader(name, value) {
      if (RESERVED.test(name.toLowerCase())) throw new TypeError(`A stage cannot set the header ${name}`);
      state.setHeader(name, value);
    },
  };
}
