import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readKernelSettings } from '../foundation/config/kernel-settings.ts';
import { createLogger } from '../foundation/observability/logger.ts';
import type { Plugin } from '../kernel/api/plugin.ts';
import { migrateGateway } from '../kernel/migrate.ts';

/** What of an SQLite file is copied, once its tables have been made; see `putMigratedFile`. */
interface Template {
  /** How often it was asked for. */
  uses: number;
  content: Promise<Buffer | undefined> | undefined;
}

const templates = new Map<string, Template>();
const known = new WeakMap<Plugin, number>();
let last = 0;

/**
 * Makes an SQLite file that has the tables of these plugins and no rows but those that migrations write. They are made
 * once a process for the same plugins: making them costs as much as the rest of a gateway's start. The first use of
 * plugins puts nothing there, since it may be the only one.
 *
 * @param plugins default: the bundled ones
 */
export async function putMigratedFile(
  file: string,
  plugins?: readonly Plugin[],
  { atOnce = false }: { readonly atOnce?: boolean } = {},
): Promise<void> {
  const key = plugins === undefined ? 'bundled' : plugins.map(idOf).join();
  const template = templates.get(key) ?? { uses: 0, content: undefined };
  templates.set(key, template);
  template.uses += 1;
  if (template.uses === 1 && !atOnce) return;
  // What stands in the way is told by the gateway's own start, which meets it again.
  template.content ??= migratedFile(plugins).catch(() => undefined);
  const content = await template.content;
  if (content === undefined) return;
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, content);
}

function idOf(plugin: Plugin): number {
  const id = known.get(plugin) ?? ++last;
  known.set(plugin, id);
  return id;
}

async function migratedFile(plugins: readonly Plugin[] | undefined): Promise<Buffer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-tables-'));
  try {
    const env = { SVC_DATA_DIR: folder, SVC_CONFIG: path.join(folder, 'gateway.yaml') };
    const { logger: log } = createLogger({ level: 'silent' });
    await migrateGateway({ settings: readKernelSettings(env), log, ...(plugins && { plugins }) });
    return await readFile(path.join(folder, 'gateway.db'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
