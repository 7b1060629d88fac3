import type { Plugin } from '../../kernel/api/plugin.ts';
import { drainCheck } from './drain-check.ts';
import type { ConformanceOptions } from './gateway-of.ts';
import { lifecycleCheck } from './lifecycle-check.ts';
import { personalDataCheck } from './personal-data-check.ts';
import { routesCheck } from './routes-check.ts';
import { schemaCheck } from './schema-check.ts';
import { tenancyCheck } from './tenancy-check.ts';

/** One check; `run` rejects with what is wrong, said for the plugin's author. */
export interface ConformanceCheck {
  readonly title: string;
  run(): Promise<void>;
}

/**
 * The checks that every plugin has to pass, for any test runner. Run them one after the other: what a plugin leaves behind
 * is measured on the process.
 *
 * @example
 * for (const { title, run } of pluginConformance(notes)) {
 *   test.serial(title, async (t) => { await t.notThrowsAsync(run); });
 * }
 */
export function pluginConformance(
  plugin: Plugin,
  options: ConformanceOptions = {},
): readonly ConformanceCheck[] {
  return [
    { title: 'set up and torn down twice, it leaves nothing', run: () => lifecycleCheck(plugin, options) },
    { title: 'each route has access, a summary and schemas', run: () => routesCheck(plugin, options) },
    { title: 'its migrations make the tables of its entities', run: () => schemaCheck(plugin, options) },
    { title: 'no list, read or change crosses tenants', run: () => tenancyCheck(plugin, options) },
    {
      title: 'what it keeps about people is exported and erased',
      run: () => personalDataCheck(plugin, options),
    },
    { title: 'disabling it fails no request in flight', run: () => drainCheck(plugin, options) },
  ];
}
