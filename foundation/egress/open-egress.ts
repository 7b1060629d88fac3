import type { AuditTrail } from '../audit/audit-trail.ts';
import type { Clock } from '../base/clock.ts';
import { GatewayError } from '../base/gateway-error.ts';
import type { Ids } from '../base/ids.ts';
import type { ServiceSettings } from '../config/service-settings.ts';
import { assertOutsideTransaction, type Database } from '../data/database.ts';
import type { Logger } from '../observability/logger.ts';
import type { PluginMetrics } from '../observability/plugin-metrics.ts';
import { createAdmission } from './admission.ts';
import { createAddressPolicy } from './allow-private.ts';
import { createClient, createFetch } from './client.ts';
import { createConnections } from './connections.ts';
import { createDenials } from './denials.ts';
import {
  DEFAULT_BOUNDS,
  type Egress,
  type EgressBounds,
  type EgressRequest,
  type EgressResponse,
  type EgressResult,
} from './egress.ts';
import { EgressErrors, EgressRefusal } from './errors.ts';
import { boundResolve, createResolve, type Resolve } from './resolve.ts';
import { createEgressRules } from './rules.ts';
import { parseTarget } from './target.ts';

/** What egress needs. */
export interface EgressOptions {
  /** Has the tables of `egressRegistration` and of the kernel. */
  readonly database: Pick<Database, 'forTenant' | 'system' | 'transaction' | 'pageOfAll'>;
  readonly trail: Pick<AuditTrail, 'record' | 'room'>;
  readonly settings: ServiceSettings['egress'];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info'>;
  /** Default: the machine's resolvers. */
  readonly resolve?: Resolve;
  readonly metrics: PluginMetrics;
  readonly bounds?: Partial<EgressBounds>;
}

/**
 * Opens the service. Close it after the parts that send requests.
 *
 * @throws Error naming an entry of `settings.allowPrivate` that cannot be read
 */
export function openEgress(options: EgressOptions): Egress {
  const { database, trail, settings, clock, ids, log } = options;
  const { requests, denials } = egressMetrics(options.metrics);
  const bounds = { ...DEFAULT_BOUNDS, ...options.bounds };
  const rules = createEgressRules(database, clock, ids);
  const admission = createAdmission(
    createAddressPolicy(settings.allowPrivate),
    rules,
    settings.default,
    boundResolve(options.resolve ?? createResolve(), bounds),
  );
  const connections = createConnections(admission, bounds);
  const send = createClient(admission, connections);
  const record = createDenials(trail, clock, ids);

  async function request(tenantId: string, given: EgressRequest): Promise<EgressResponse> {
    assertOutsideTransaction('an outbound request');
    const startedAt = clock.monotonic();
    try {
      const response = await send(tenantId, given);
      requests.inc({ result: 'answered' });
      return response;
    } catch (error) {
      requests.inc({ result: resultOf(error, given.signal) });
      if (!(error instanceof EgressRefusal)) throw error;
      const { host, port, reason } = error;
      denials.inc({ reason });
      log.info(
        { tenant_id: tenantId, request_id: given.requestId, host, port, reason },
        'outbound request denied',
      );
      await record(tenantId, given, error, clock.monotonic() - startedAt);
      throw denied(error);
    }
  }

  return {
    request,
    fetchFor: (tenantId, context = {}) => createFetch((given) => request(tenantId, given), context),
    async check(tenantId, url) {
      assertOutsideTransaction('the check of an outbound address');
      const target = parseTarget(url);
      try {
        await admission.admit(tenantId, target);
        if (target.address === undefined) await admission.addressesOf(target);
      } catch (error) {
        throw error instanceof EgressRefusal ? denied(error) : error;
      }
    },
    rules,
    close: () => connections.close(),
  };
}

function egressMetrics(metrics: PluginMetrics) {
  return {
    requests: metrics.counter({
      name: 'svc_egress_requests_total',
      help: 'Outbound requests to addresses that the operator did not choose, by what became of them.',
      labels: ['result'],
    }),
    denials: metrics.counter({
      name: 'svc_egress_denied_total',
      help: 'Outbound requests that were denied, by reason.',
      labels: ['reason'],
    }),
  };
}

function denied(refusal: EgressRefusal): GatewayError {
  return EgressErrors.denied(refusal.message, { cause: refusal });
}

/** Results by the code of the error; what is not named here failed in some other way. */
const RESULTS: Readonly<Record<string, EgressResult>> = {
  [EgressErrors.malformed.definition.code]: 'malformed',
  [EgressErrors.unreachable.definition.code]: 'unreachable',
  [EgressErrors.timeout.definition.code]: 'timeout',
  [EgressErrors.busy.definition.code]: 'busy',
};

function resultOf(error: unknown, signal: AbortSignal | undefined): EgressResult {
  if (error instanceof EgressRefusal) return 'denied';
  if (signal?.aborted === true && error === signal.reason) return 'aborted';
  return (error instanceof GatewayError ? RESULTS[error.code] : undefined) ?? 'failed';
}
