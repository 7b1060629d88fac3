import type { Secrets } from 'agent-gateway';
import type { ExecutionContext } from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createSecrets } from '../../../../../foundation/secrets/secrets.ts';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import type { StepTask } from '../../../../../plugins/workflow/contract/node-types.ts';
import { serviceTask } from '../../../../../plugins/workflow/services/nodes/service-task.ts';
import { openTestEgress, startServer, type TestEgressOptions } from '../../../../foundation/egress/kit.ts';
import { redaction, stepTask } from './kit.ts';

/** What a test of service tasks says. */
export interface ServiceOptions extends TestEgressOptions {
  readonly timeoutMs?: number;
  /** Variables of the process; tenants may name those that begin with `ACME_`. */
  readonly env?: Record<string, string>;
  /** More of what tenants may name, for a server at this port. */
  readonly mayName?: (port: number) => readonly string[];
}

/**
 * The real type over the real egress, in front of a server on the loopback interface, which is open unless
 * `allowPrivate` says otherwise.
 */
export async function startService(
  t: ExecutionContext,
  handle: Parameters<typeof startServer>[1],
  { timeoutMs = 10_000, env = {}, mayName = () => [], ...options }: ServiceOptions = {},
) {
  const server = await startServer(t, handle);
  const { egress, trail } = await openTestEgress(t, options);
  const secrets: Secrets = createSecrets({
    env,
    folder: '/nonexistent',
    tenantMayName: ['ACME_*', ...mayName(server.port)],
    onResolved: () => {},
  });
  const type = serviceTask({ egress, secrets, redactor: redaction, clock: systemClock, timeoutMs });
  const url = `http://127.0.0.1:${server.port}`;
  return {
    ...server,
    type,
    trail,
    url,
    /** Carries out a task; the URL is relative to the server. */
    run: (input: JsonObject = {}, parts: Partial<StepTask> = {}) => {
      const place =
        typeof input.url === 'string' && /^\w+:/.test(input.url) ? input.url : `${url}${input.url ?? '/'}`;
      return type.execute(stepTask({ ...input, url: place }, parts));
    },
  };
}
