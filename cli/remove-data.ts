import { createInterface } from 'node:readline/promises';
import { systemClock } from '../foundation/base/clock.ts';
import { findSources } from '../foundation/code/code-sources.ts';
import { restOf } from '../foundation/config/desired.ts';
import { loadGatewayFile, PLUGIN_NAME_PATTERN } from '../foundation/config/gateway-file.ts';
import type { KernelSettings } from '../foundation/config/kernel-settings.ts';
import { openDatabase } from '../foundation/data/database.ts';
import { DatabaseStartError } from '../foundation/data/errors.ts';
import { createLogger } from '../foundation/observability/logger.ts';
import { type PluginData, pluginData, removePluginData } from '../foundation/plugin-data.ts';
import { PluginFolders } from '../kernel/host/plugin-folders.ts';
import { BUNDLED_PLUGINS } from '../kernel/version.ts';

/** What stands in the way of a change of the deployment's plugins, for the operator. */
export class PackageProblem extends Error {}

/**
 * Drops the tables of a plugin that does not run, whether its code is still there or not, after the tables were shown
 * and the removal was confirmed.
 *
 * @param isConfirmed by `--yes`; otherwise the operator is asked
 * @returns what was done, in words
 * @throws PackageProblem where the plugin is bundled, enabled or at work, another one has its tables, or the operator
 * does not confirm
 */
export async function removeData(
  settings: KernelSettings,
  name: string,
  isConfirmed: boolean,
): Promise<string> {
  await assertRemovable(settings, name);
  const database = await openDatabase({
    ...settings.database,
    applicationRole: settings.databaseRole,
    pool: { max: 1 },
    log: createLogger({ level: 'silent' }).logger,
    clock: systemClock,
  }).catch(asProblem);
  try {
    const data = await pluginData(database, name).catch(asProblem);
    if (data.successor !== undefined)
      throw new PackageProblem(
        `${name} is called ${data.successor} now, which has its tables: remove that one`,
      );
    if (data.atWork > 0)
      throw new PackageProblem(
        `a replica works for ${name}: ${data.atWork} jobs or leases are in hand. Disable it there, and try again when they have ended`,
      );
    if (data.tables.length + data.migrations + data.kernelRows.size === 0)
      return `${name} has nothing in the database.\n`;
    if (!isConfirmed) await agree(name, describe(name, data));
    await removePluginData(database, name).catch(asProblem);
    return `${describe(name, data)}All of this was removed. What ${name} keeps in the object store stays.\n`;
  } finally {
    await database.close();
  }
}

async function assertRemovable(settings: KernelSettings, name: string): Promise<void> {
  if (!new RegExp(PLUGIN_NAME_PATTERN).test(name)) throw new PackageProblem(`${name} is no name of a plugin`);
  if (name === 'kernel' || (await findSources([BUNDLED_PLUGINS])).has(name))
    throw new PackageProblem(`${name} comes with the gateway: its tables stay`);
  const file = await loadGatewayFile(settings.configFile);
  const sources = await PluginFolders.of(settings).sources(file);
  // What SVC_PLUGINS leaves out here may run in another process of the deployment.
  if (sources.has(name) && restOf(name, file, []) === undefined)
    throw new PackageProblem(
      `${name} is enabled: disable it with POST /admin/v1/plugins/${name}/disable, or in ${settings.configFile}, on every replica; then remove its data`,
    );
}

function describe(name: string, { tables, migrations, formerly, kernelRows }: PluginData): string {
  const rows = [...tables.map((table) => [table.name, table.rows] as const), ...kernelRows];
  const width = Math.max(0, ...rows.map(([table]) => table.length));
  const kept = new Set(kernelRows.keys());
  const lines = rows.map(([table, count]) => {
    const what = kept.has(table) ? `rows of it, of ${count}` : `the table, with ${count}`;
    return `  ${table.padEnd(width)}  ${what} ${count === 1 ? 'row' : 'rows'}\n`;
  });
  const before = formerly.length === 0 ? '' : `, formerly ${formerly.join(', ')}`;
  return `Of ${name}${before}:\n${lines.join('')}  ${migrations} migrations that were applied\n`;
}

async function agree(name: string, shown: string): Promise<void> {
  if (process.stdin.isTTY !== true)
    throw new PackageProblem(`${shown}Nothing was removed: without a terminal, --yes has to agree`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(
      `${shown}This cannot be taken back. Type ${name} to remove all of it: `,
    );
    if (answer.trim() !== name) throw new PackageProblem('Nothing was removed');
  } finally {
    terminal.close();
  }
}

function asProblem(cause: unknown): never {
  if (cause instanceof DatabaseStartError) throw new PackageProblem(cause.message, { cause });
  throw cause;
}
