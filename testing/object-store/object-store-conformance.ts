import { randomUUID } from 'node:crypto';
import { systemClock } from '../../foundation/base/clock.ts';
import { createIds } from '../../foundation/base/ids.ts';
import { isOfferName } from '../../foundation/base/offers.ts';
import type { OfferedObjectStore } from '../../foundation/objects/offered-store.ts';
import { openObjects } from '../../foundation/objects/open-objects.ts';
import { createLogger } from '../../foundation/observability/logger.ts';
import type { ConformanceCheck } from '../conformance/conformance.ts';
import { until } from '../until.ts';
import { belongingChecks } from './belonging.ts';
import type { Checks, Form } from './kit.ts';
import { listingChecks } from './listing.ts';
import { readingChecks } from './reading.ts';
import { refusingChecks } from './refusing.ts';
import { storingChecks } from './storing.ts';

/** One check of a store: rejects with what is wrong. */
export type ObjectStoreCheck = Pick<ConformanceCheck, 'title' | 'run'>;

/** Options of the checks of a store. */
export interface ObjectStoreConformanceOptions {
  /**
   * Writes that were begun and neither ended nor cleaned up: checks wait until there are none. Absent: that is not
   * looked at.
   */
  readonly unfinished?: () => Promise<number>;
}

/**
 * The checks that every object store has to pass, those of the gateway too, for any test runner. Run them one after the
 * other. They write some 100 MB and 1,200 objects below tenants of their own (`t-<uuid>/…`), and do not delete all of
 * them.
 *
 * @param store the store, as the plugin contributes it; asked for when the checks run
 *
 * @example
 * for (const { title, run } of objectStoreConformance(() => box)) {
 *   test.serial(title, async (t) => { await t.notThrowsAsync(run); });
 * }
 */
export function objectStoreConformance(
  store: () => OfferedObjectStore,
  { unfinished }: ObjectStoreConformanceOptions = {},
): readonly ObjectStoreCheck[] {
  const { logger: log } = createLogger({ level: 'silent' });
  const open = async () => {
    const { name } = store();
    if (!isOfferName(name)) throw new Error(`"${name}" is no name of a store, write plugin/<plugin>/<name>`);
    const common = { clock: systemClock, ids: createIds(systemClock), log };
    return openObjects({ ...common, url: { form: 'plugin', name }, stores: () => [store()] });
  };
  let objects: Awaited<ReturnType<typeof open>>;
  const checks = objectsConformance({ objects: () => objects, unfinished });
  return checks.map(({ title, run }) => ({
    title,
    async run() {
      objects ??= await open();
      await run();
    },
  }));
}

/** The same checks for one form of object storage. */
export function objectsConformance(form: Form): readonly ObjectStoreCheck[] {
  const { unfinished } = form;
  const declared: ObjectStoreCheck[] = [];
  const checks: Checks = {
    form,
    each: (title, run) =>
      declared.push({ title, run: () => run(form.objects().forTenant(`t-${randomUUID()}`)) }),
    noneUnfinished: async () => {
      if (unfinished !== undefined) await until(async () => (await unfinished()) === 0);
    },
  };
  storingChecks(checks);
  refusingChecks(checks);
  readingChecks(checks);
  listingChecks(checks);
  belongingChecks(checks);
  return declared;
}
