import { within } from '../../foundation/base/deadline.ts';
import { Type } from '../../foundation/base/type.ts';
import { access } from '../api/access.ts';
import { reply } from '../api/reply.ts';
import { type Route, route } from '../api/route.ts';
import type { Probe } from '../host/effects.ts';

/** What health and metrics ask. */
export interface KernelRouteParts {
  /** True between the end of the start and the beginning of the stop. */
  isServing(): boolean;
  /** Throws when the database does not answer; has a deadline of its own. */
  pingDatabase(): Promise<void>;
  probes(): readonly Probe[];
  /** Plugins that should run and do not. */
  degraded(): readonly { readonly name: string; readonly reason: string }[];
  metrics(): Promise<string>;
  readonly metricsType: string;
}

/** Milliseconds that a probe may take. */
const PROBE_TIMEOUT = 2_000;

/** Health and metrics, which every listener answers, with or without plugins (specification 1, Public). */
export function kernelRoutes(parts: KernelRouteParts): readonly Route[] {
  const open = { method: 'GET', access: access.public(), rateLimit: 'none', tag: 'health' } as const;
  return [
    route({
      ...open,
      path: '/health/live',
      summary: 'Whether the process runs',
      schema: { responses: { 200: Type.Object({ status: Type.Literal('ok') }) } },
      handle: () => ({ status: 'ok' }),
    }),
    route({
      ...open,
      path: '/health/ready',
      summary: 'Whether the gateway can serve',
      schema: { responses: { 200: Readiness, 503: Readiness } },
      handle: async () => {
        const readiness = await checkReadiness(parts);
        return reply.json(readiness.status === 'ready' ? 200 : 503, readiness);
      },
    }),
    route({
      ...open,
      path: '/metrics',
      summary: 'Metrics in the text format of Prometheus',
      tag: 'metrics',
      handle: async () => reply.text(await parts.metrics(), parts.metricsType),
    }),
  ];
}

const Readiness = Type.Object({
  status: Type.Union([Type.Literal('ready'), Type.Literal('not_ready')]),
  database: Type.String(),
  checks: Type.Optional(Type.Record(Type.String(), Type.String())),
  degraded: Type.Optional(Type.Array(Type.Object({ name: Type.String(), reason: Type.String() }))),
});

async function checkReadiness(parts: KernelRouteParts) {
  const [database, checks] = await Promise.all([
    outcome(parts.pingDatabase()),
    Promise.all(parts.probes().map(async (probe) => [probe.name, await outcome(runProbe(probe))] as const)),
  ]);
  const degraded = parts.degraded();
  const isReady = parts.isServing() && database === 'ok' && checks.every(([, result]) => result === 'ok');
  return {
    status: isReady ? 'ready' : 'not_ready',
    database,
    ...(checks.length === 0 ? {} : { checks: Object.fromEntries(checks) }),
    ...(degraded.length === 0 ? {} : { degraded }),
  };
}

async function runProbe({ name, check }: Probe): Promise<void> {
  const abort = new AbortController();
  try {
    await within(PROBE_TIMEOUT, name, check(abort.signal));
  } finally {
    abort.abort();
  }
}

/** The route is public: of an unexpected failure it tells the code, not the text, which may hold addresses. */
async function outcome(work: Promise<void>): Promise<string> {
  try {
    await work;
    return 'ok';
  } catch (failure) {
    const { code, message } = failure as NodeJS.ErrnoException;
    return `error: ${code ?? message}`;
  }
}
