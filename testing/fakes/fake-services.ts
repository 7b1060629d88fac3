import { createLeases } from '../../foundation/leases/create-leases.ts';
import { createMemoryStore } from '../../foundation/leases/memory-store.ts';
import type { Events } from '../../foundation/messages/events/events.ts';
import { openEvents } from '../../foundation/messages/events/open-events.ts';
import { createHints } from '../../foundation/messages/hints/create-hints.ts';
import type { Hints } from '../../foundation/messages/hints/hints.ts';
import { createProcessCarrier } from '../../foundation/messages/hints/process-carrier.ts';
import { createLogger } from '../../foundation/observability/logger.ts';
import { createMetricRegistry } from '../../foundation/observability/metric-registry.ts';
import { createPluginMetrics } from '../../foundation/observability/plugin-metrics.ts';
import { withoutSpans } from '../../foundation/observability/tracing.ts';
import type { KernelServices } from '../../kernel/api/services.ts';
import { type ManualClock, manualClock } from '../manual-clock.ts';
import { type FakeDurableEvents, fakeDurableEvents } from './fake-durable-events.ts';
import { fakeEgress } from './fake-egress.ts';
import { fakeIds } from './fake-ids.ts';
import { type FakeJobs, fakeJobs } from './fake-jobs.ts';
import { fakeSecrets } from './fake-secrets.ts';
import { memoryObjects } from './memory-objects.ts';

/** The services of the kernel without a gateway: those that need no database. */
export interface FakeServices
  extends Pick<KernelServices, 'ids' | 'leases' | 'objects' | 'egress' | 'secrets'>,
    AsyncDisposable {
  readonly clock: ManualClock;
  readonly hints: Hints;
  readonly jobs: FakeJobs;
  readonly durableEvents: FakeDurableEvents;
  readonly events: Events;
  /** Records nothing. */
  readonly tracing: KernelServices['tracing'];
}

/**
 * Every service of the kernel in memory, for tests of a plugin's logic without a gateway. What is given replaces the
 * fake of its name. Dispose it at the end of the test.
 *
 * @example
 * await using services = fakeServices({ egress: fakeEgress(() => ({ body: { temperature: 20 } })) });
 */
export function fakeServices(given: Partial<Omit<FakeServices, symbol>> = {}): FakeServices {
  const clock = given.clock ?? manualClock();
  const ids = given.ids ?? fakeIds();
  const { logger: log } = createLogger({ level: 'silent' });
  const common = { clock, ids, log };
  const metrics = createPluginMetrics(createMetricRegistry(), 'fakes');
  const leases = createLeases({ ...common, metrics, store: createMemoryStore() });
  const hints = given.hints ?? createHints(createProcessCarrier(), { ...common, metrics });
  const events = given.events ?? openEvents({ ...common, metrics });
  return {
    clock,
    ids,
    hints,
    events,
    jobs: given.jobs ?? fakeJobs(),
    durableEvents: given.durableEvents ?? fakeDurableEvents(),
    leases: given.leases ?? leases,
    objects: given.objects ?? memoryObjects(clock),
    egress: given.egress ?? fakeEgress(() => undefined),
    secrets: given.secrets ?? fakeSecrets({}),
    tracing: given.tracing ?? withoutSpans,
    async [Symbol.asyncDispose]() {
      await Promise.all([leases.close(), hints.close(), events.close()]);
    },
  };
}
