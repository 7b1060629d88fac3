import { createLeases } from '../../foundation/leases/create-leases.ts';
import { createMemoryStore } from '../../foundation/leases/memory-store.ts';
import type { Events } from '../../foundation/messages/events/events.ts';
import { openEvents } from '../../foundation/messages/events/open-events.ts';
import { createQueue } from '../../foundation/messages/queue/create-queue.ts';
import { createProcessCarrier } from '../../foundation/messages/queue/process-carrier.ts';
import type { Queue } from '../../foundation/messages/queue/queue.ts';
import { createLogger } from '../../foundation/observability/logger.ts';
import { createMetricRegistry } from '../../foundation/observability/metric-registry.ts';
import { createPluginMetrics } from '../../foundation/observability/plugin-metrics.ts';
import type { KernelServices } from '../../kernel/api/services.ts';
import { type ManualClock, manualClock } from '../manual-clock.ts';
import { fakeEgress } from './fake-egress.ts';
import { fakeIds } from './fake-ids.ts';
import { fakeSecrets } from './fake-secrets.ts';
import { memoryObjects } from './memory-objects.ts';

/** The services of the kernel without a gateway: those that need no database. */
export interface FakeServices
  extends Pick<KernelServices, 'ids' | 'leases' | 'objects' | 'egress' | 'secrets'>,
    AsyncDisposable {
  readonly clock: ManualClock;
  readonly queue: Queue;
  readonly events: Events;
}

/**
 * Every service of the kernel in memory, for tests of a plugin's logic without a gateway. What is given replaces the fake of
 * its name. Dispose it at the end of the test.
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
  const observe = { published: () => undefined, delivered: () => undefined };
  const queue = given.queue ?? createQueue(createProcessCarrier(), { ...common, observe });
  const events = given.events ?? openEvents(common);
  return {
    ...{ clock, ids, queue, events },
    leases: given.leases ?? leases,
    objects: given.objects ?? memoryObjects(clock),
    egress: given.egress ?? fakeEgress(() => undefined),
    secrets: given.secrets ?? fakeSecrets({}),
    async [Symbol.asyncDispose]() {
      await Promise.all([leases.close(), queue.close(), events.close()]);
    },
  };
}
