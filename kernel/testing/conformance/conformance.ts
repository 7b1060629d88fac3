import type { Plugin } from '../../api/plugin.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import { drainCheck } from './drain-check.ts';
import { lifecycleCheck } from './lifecycle-check.ts';
import { routesCheck } from './routes-check.ts';
import { schemaCheck } from './schema-check.ts';
import { tenancyCheck } from './tenancy-check.ts';

/** What the suite cannot find out from the plugin itself; everything has a default. */
export interface ConformanceOptions {
  /** The plugins whose services it needs. */
  readonly with?: readonly Plugin[];
  /** Variables of the gateway and the plugin. */
  readonly env?: Readonly<Record<string, string>>;
  /** The text of gateway.yaml. */
  readonly yaml?: string;
  /** What to send to a route where values made from its schemas do not do: `{ 'POST /v1/notes': { body: { … } } }`. */
  readonly samples?: Readonly<Record<string, RouteSample>>;
  /** Reading routes that show every tenant the same (`GET /v1/models`), or nothing that is stored. */
  readonly shared?: readonly string[];
  /** Makes data of a tenant where no POST route does. What it returns are values of path parameters. */
  seed?(gateway: TestGateway, tenant: SampleTenant): Promise<Readonly<Record<string, string>>>;
}

/** Values for one route; `{marker}` in a text of the body stands for a word of the tenant's own. */
export interface RouteSample {
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A tenant of the suite. */
export interface SampleTenant {
  readonly id: string;
  /** Bearer token of a key that may do everything inside the tenant, and nothing outside. */
  readonly token: string;
  /** A word that occurs in what was made for this tenant, and nowhere else. */
  readonly marker: string;
}

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
    { title: 'disabling it fails no request in flight', run: () => drainCheck(plugin, options) },
  ];
}
