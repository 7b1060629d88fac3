import { systemClock } from '../foundation/base/clock.ts';
import { type GatewayFile, loadGatewayFile } from '../foundation/config/gateway-file.ts';
import type { KernelSettings } from '../foundation/config/kernel-settings.ts';
import { requireKnown } from '../foundation/config/unknown-plugins.ts';
import { openDatabase } from '../foundation/data/database.ts';
import { registerKernelTables, registerTables } from '../foundation/gateway-tables.ts';
import type { Logger } from '../foundation/observability/logger.ts';
import type { Plugin } from './api/plugin.ts';
import { Catalogue } from './host/graph.ts';
import { withNeeded } from './host/needed-plugins.ts';
import { planRun } from './host/plan.ts';
import { registrationOf } from './host/plugin-configuration.ts';
import { PluginFolders, pluginsOf } from './host/plugin-folders.ts';

/** What a migration needs of the process. */
export interface MigrateOptions {
  readonly settings: KernelSettings;
  readonly log: Logger;
  /** Instead of the bundled plugins and those of `SVC_PLUGIN_DIRS`; for tests. */
  readonly plugins?: readonly Plugin[];
}

/**
 * Brings the tables of the kernel and of every plugin that would run to their newest form, and serves nothing: for a
 * step of its own before new replicas start. Those that run go on, since migrations only add to what they know.
 *
 * @returns the names of the owners, in order
 * @throws what stands in the way: the database, gateway.yaml, a plugin that cannot be loaded, a migration
 */
export async function migrateGateway({
  settings,
  log,
  plugins: given,
}: MigrateOptions): Promise<readonly string[]> {
  const desired = await loadGatewayFile(settings.configFile);
  const { plugins, graph } = new Catalogue(given ?? (await loadPlugins(settings, desired)));
  const only = withNeeded(settings.plugins ?? [], plugins.values()).names;
  const { run } = planRun({ graph, plugins, desired, only, failed: new Set() });
  const database = await openDatabase({
    ...settings.database,
    applicationRole: settings.databaseRole,
    pool: { max: settings.databasePool },
    log,
    clock: systemClock,
  });
  try {
    await registerKernelTables(database);
    const registrations = run.map((name) => registrationOf(plugins.get(name)!, desired, plugins));
    await registerTables(database, registrations);
    return ['kernel', ...run];
  } finally {
    await database.close();
  }
}

/** @throws Error naming the plugin that cannot be loaded, and why */
async function loadPlugins(settings: KernelSettings, desired: GatewayFile): Promise<readonly Plugin[]> {
  const found = await PluginFolders.of(settings).loadAll(desired, settings.plugins);
  requireKnown(settings.plugins, found);
  for (const one of found) {
    if ('error' in one)
      throw new Error(`${one.name} cannot be loaded: ${one.error.message}`, { cause: one.error });
  }
  return pluginsOf(found);
}
