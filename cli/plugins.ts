import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type CodeSource, findSources, importSource } from '../foundation/code/code-sources.ts';
import { declaredSources } from '../foundation/code/declared-sources.ts';
import { changeGatewayFile } from '../foundation/config/change-gateway-file.ts';
import { ConfigurationError } from '../foundation/config/configuration-error.ts';
import { entryOf, restOf } from '../foundation/config/desired.ts';
import {
  type GatewayFile,
  loadGatewayFile,
  type PluginEntry,
  parseGatewayFile,
} from '../foundation/config/gateway-file.ts';
import { type KernelSettings, readKernelSettings } from '../foundation/config/kernel-settings.ts';
import { processEnvironment } from '../foundation/config/read-config.ts';
import type { Plugin } from '../kernel/api/plugin.ts';
import { PluginFolders } from '../kernel/host/plugin-folders.ts';
import { BUNDLED_PLUGINS } from '../kernel/version.ts';
import type { Outcome } from './outcome.ts';
import { PackageProblem, removeData } from './remove-data.ts';

/** Milliseconds that npm may take. */
const NPM_TIMEOUT = 600_000;
/** Characters of what npm prints that are read. */
const NPM_OUTPUT = 16 * 1024 * 1024;

type Verb = (settings: KernelSettings, name: string, args: readonly string[]) => Promise<string>;

const VERBS: Readonly<Record<string, Verb>> = { add, list, remove };

/**
 * `saas-api plugins add <package>`, `list` and `remove <name> [--with-data [--yes]]`: the packages of a deployment, in
 * the folder of its gateway.yaml. A running gateway follows that file.
 */
export async function main([verb = 'list', ...rest]: readonly string[]): Promise<Outcome> {
  const name = rest.find((one) => !one.startsWith('--')) ?? '';
  try {
    const settings = readKernelSettings(processEnvironment());
    return { code: 0, out: await VERBS[verb]!(settings, name, rest), err: '' };
  } catch (error) {
    if (!(error instanceof ConfigurationError || error instanceof PackageProblem)) throw error;
    return { code: 1, out: '', err: `${error.message}\n` };
  }
}

/** A folder, or a tarball that is no address: npm takes its name as `npm pack` prints it for a file, too. */
const LOCAL = /^(?:\.|\/|file:|[^:]*\.(?:tgz|tar\.gz|tar)$)/;

/**
 * Installs a package, asks it for the name of its plugin, and writes the entry. `spec` is what npm takes: a name with a
 * version, a tarball, a folder.
 */
async function add(settings: KernelSettings, spec: string): Promise<string> {
  const file = await loadGatewayFile(settings.configFile);
  const folder = path.dirname(path.resolve(settings.configFile));
  await refuseOwnFolder(folder);
  const local = LOCAL.test(spec) ? path.resolve(spec.replace(/^file:/, '')) : undefined;
  await npm(folder, ['install', ...(await peerOptions(folder)), '--', local ?? spec]);
  const name = await installedName(folder, spec, local);
  const source = await sourceOf(settings, name);
  const plugin = (await importSource(source, 0).catch((cause: unknown) => {
    throw new PackageProblem(`${name} is installed, and cannot be imported: ${(cause as Error).message}`, {
      cause,
    });
  })) as Partial<Plugin> | undefined;
  if (typeof plugin?.name !== 'string' || typeof plugin.setup !== 'function')
    throw new PackageProblem(`${name} is installed, and is no plugin: its default export is no definition`);
  const taken = await findSources([BUNDLED_PLUGINS, ...settings.pluginDirs]);
  const first = taken.get(plugin.name);
  if (first !== undefined)
    throw new PackageProblem(
      `${name} is installed, and its plugin cannot run: ${first.folder} has the name ${plugin.name}`,
    );
  const isNew = entryOf(file, plugin.name).package !== name;
  await changeGatewayFile(settings.configFile, { plugins: { [plugin.name]: { package: name, path: null } } });
  const version = source.declared?.version;
  return isNew
    ? `${plugin.name} is ${name} ${version}, and in ${settings.configFile}. A gateway that runs takes it by itself.\n`
    : `${plugin.name} is ${name} ${version} now. A gateway that runs takes it with POST /admin/v1/plugins/${plugin.name}/reload.\n`;
}

/** Every plugin of the deployment: name, where it is from, version, and what the configuration says of it. */
async function list(settings: KernelSettings): Promise<string> {
  const file = await loadGatewayFile(settings.configFile);
  const sources = [...(await PluginFolders.of(settings).sources(file)).values()];
  const rows = sources.map((source) => [
    source.name,
    source.declared?.place ?? (path.dirname(source.folder) === BUNDLED_PLUGINS ? 'bundled' : source.folder),
    source.declared?.version ?? '-',
    stateOf(source, file, settings.plugins),
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) => `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}\n`)
    .join('');
}

function stateOf(source: CodeSource, file: GatewayFile, only: readonly string[] = []): string {
  const { name, takenBy, declared } = source;
  if (takenBy !== undefined) return `the name is taken by ${takenBy}`;
  return declared?.problem ?? restOf(name, file, only)?.reason ?? 'enabled';
}

/**
 * Takes the package out, where no other entry names it, and then the entry. What the plugin has stored stays, unless
 * `--with-data` is among the arguments.
 */
async function remove(settings: KernelSettings, name: string, args: readonly string[]): Promise<string> {
  const before = await loadGatewayFile(settings.configFile);
  const entry = before.plugins.get(name);
  if (args.includes('--with-data')) {
    const removed = await removeData(settings, name, args.includes('--yes'));
    // The entry of a plugin in a folder is what keeps it from running.
    const isPlace = entry?.package !== undefined || entry?.path !== undefined;
    return isPlace ? `${removed}${await takeOut(settings, name, entry)}\n` : removed;
  }
  if (entry === undefined)
    throw new PackageProblem(`${settings.configFile} has no entry of ${name} that could be removed`);
  return `${await takeOut(settings, name, entry)} Its tables stay.\n`;
}

/** The entry goes last: where the removal was cut off before, a repeated one finds in it which package is left. */
async function takeOut(settings: KernelSettings, name: string, entry: PluginEntry): Promise<string> {
  const { plugins } = await loadGatewayFile(settings.configFile);
  const folder = path.dirname(path.resolve(settings.configFile));
  const { dependencies = {} } = await manifestOf(folder);
  const isUsed = [...plugins].some(([other, one]) => other !== name && one.package === entry.package);
  if (entry.package !== undefined && !isUsed && Object.hasOwn(dependencies, entry.package)) {
    await refuseOwnFolder(folder);
    await npm(folder, ['uninstall', ...(await peerOptions(folder)), '--', entry.package]);
  }
  await changeGatewayFile(settings.configFile, { plugins: { [name]: null } });
  return `${name} is not in ${settings.configFile} any more.`;
}

async function refuseOwnFolder(folder: string): Promise<void> {
  if (folder !== fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')) return;
  throw new PackageProblem(
    `${folder} is the folder of the gateway itself, whose packages npm ci restores: keep gateway.yaml in a folder of the deployment, and name it with SVC_CONFIG`,
  );
}

/**
 * Where the gateway is not installed in the folder of the plugins, npm must not install it as their peer dependency:
 * they use the gateway that runs.
 */
async function peerOptions(folder: string): Promise<readonly string[]> {
  const beside = await stat(path.join(folder, 'node_modules/agent-gateway')).catch(() => undefined);
  return beside === undefined ? ['--legacy-peer-deps'] : [];
}

async function npm(folder: string, args: readonly string[]): Promise<void> {
  const [verb, ...rest] = args;
  const options = ['--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error'];
  try {
    await promisify(execFile)('npm', [verb!, ...options, ...rest], {
      timeout: NPM_TIMEOUT,
      maxBuffer: NPM_OUTPUT,
    });
  } catch (cause) {
    const { code, stderr = '' } = cause as { code?: unknown; stderr?: string };
    const reason = code === 'ENOENT' ? 'there is no npm on the PATH' : stderr.trim();
    throw new PackageProblem(`npm ${verb} failed in ${folder}:\n${reason}`, { cause });
  }
}

/** The name under which npm has installed what was asked for. */
async function installedName(folder: string, spec: string, local: string | undefined): Promise<string> {
  const { dependencies = {} } = await manifestOf(folder);
  const isIt = ([name, value]: [string, string]) =>
    local === undefined
      ? spec === name || spec.startsWith(`${name}@`) || spec === value
      : value.startsWith('file:') && path.resolve(folder, value.slice('file:'.length)) === local;
  const found = Object.entries(dependencies).find(isIt);
  if (found === undefined)
    throw new PackageProblem(`npm has installed ${spec}, and ${folder}/package.json does not name it`);
  return found[0];
}

async function manifestOf(
  folder: string,
): Promise<{ readonly dependencies?: Readonly<Record<string, string>> }> {
  const text = await readFile(path.join(folder, 'package.json'), 'utf8').catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '{}';
      throw error;
    },
  );
  return JSON.parse(text);
}

/** @throws PackageProblem when the package could not be a plugin of this deployment. */
async function sourceOf(settings: KernelSettings, name: string): Promise<CodeSource> {
  const text = JSON.stringify({ plugins: { added: { package: name } } });
  const sources = await declaredSources(parseGatewayFile(settings.configFile, text), settings);
  const source = sources.get('added')!;
  const { at = '', problem } = source.declared!;
  if (problem !== undefined) throw new PackageProblem(problem.replace(`${at}: `, ''));
  return source;
}
