import { readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject } from '../base/json-object.ts';
import type { GatewayFile } from '../config/gateway-file.ts';
import { type CodeSource, entryFile } from './code-sources.ts';

/** Which packages may be plugins. */
export interface PackageRule {
  readonly production: boolean;
  /** Names, and scopes as `@acme/*`. Undefined: every package outside production, none in it. */
  readonly pluginPackages: readonly string[] | undefined;
}

/**
 * The plugins that gateway.yaml names by their package or path, by name. What is not there, or not allowed, is among
 * them with the problem: its plugin fails, and no other.
 */
export async function declaredSources(
  file: GatewayFile,
  rule: PackageRule,
): Promise<ReadonlyMap<string, CodeSource>> {
  const base = path.dirname(path.resolve(file.path));
  const sources = new Map<string, CodeSource>();
  for (const [name, entry] of file.plugins) {
    const member = entry.package === undefined ? 'path' : 'package';
    const place = entry[member];
    if (place === undefined) continue;
    const at = placeIn(file, ['plugins', name, member]);
    const folder = member === 'path' ? path.resolve(base, place) : await installed(base, place);
    const found = await packageAt(folder, member === 'path');
    const problem = await (member === 'path'
      ? pathProblem(folder, found)
      : packageProblem(place, folder, found, rule));
    const { version } = found;
    const declared = {
      at,
      place,
      version,
      ...(problem === undefined ? {} : { problem: `${at}: ${problem}` }),
    };
    sources.set(name, { name, folder, file: found.entry ?? folder, declared });
  }
  return sources;
}

function placeIn(file: GatewayFile, key: readonly string[]): string {
  const { file: name, line } = file.locate(key);
  return `${name}${line === undefined ? '' : `:${line}`}: ${key.join('.')}`;
}

/** The folder of a package that is installed in `folder` or above it; where it would be when it is not. */
async function installed(folder: string, name: string): Promise<string> {
  for (let at = folder; ; at = path.dirname(at)) {
    const candidate = path.join(at, 'node_modules', name);
    if (await isFolder(candidate)) return candidate;
    if (at === path.dirname(at)) return path.join(folder, 'node_modules', name);
  }
}

async function isFolder(name: string): Promise<boolean> {
  return (await stat(name).catch(() => undefined))?.isDirectory() ?? false;
}

/** What lies in a folder. */
interface Found {
  /** As package.json states them. */
  readonly name?: string;
  readonly version?: string;
  /** The module that exports the definition. */
  readonly entry?: string;
}

/** `fromSource`: `plugin.ts` is taken before what package.json exports, which may not be built yet. */
async function packageAt(folder: string, fromSource: boolean): Promise<Found> {
  const manifest = await manifestOf(folder);
  const { name, version, main } = manifest;
  const built = textOr(exported(manifest.exports) ?? main);
  const source = await entryFile(folder);
  const target = built === undefined ? undefined : path.resolve(folder, built);
  const entry = fromSource ? (source ?? target) : (target ?? source);
  return {
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof version === 'string' ? { version } : {}),
    ...(entry === undefined ? {} : { entry }),
  };
}

/** Read from the file each time: Node remembers the package.json of the version that it met first. */
async function manifestOf(folder: string): Promise<Record<string, unknown>> {
  try {
    const manifest: unknown = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
    return isJsonObject(manifest) ? manifest : {};
  } catch {
    // A folder needs none; a package without one is reported by the members that are missing.
    return {};
  }
}

const CONDITIONS = new Set(['node', 'import', 'module-sync', 'default']);

/** The target of `.` in the `exports` of a package.json, as Node chooses it. */
function exported(target: unknown): unknown {
  if (!isJsonObject(target)) return target;
  for (const [key, value] of Object.entries(target)) {
    if (key !== '.' && !CONDITIONS.has(key)) continue;
    const chosen = exported(value);
    if (chosen !== undefined) return chosen;
  }
  return undefined;
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

async function packageProblem(
  place: string,
  folder: string,
  { name, entry }: Found,
  { production, pluginPackages }: PackageRule,
): Promise<string | undefined> {
  if (!(await isFolder(folder))) return `${place} is not installed: there is no ${folder}`;
  if (name === undefined || entry === undefined)
    return `${place} is no plugin: its package.json says neither a name nor what it exports`;
  // An alias is installed under another name than its own.
  const refused = [place, name].find((one) => !isAllowed(one, production, pluginPackages));
  if (refused === undefined) return undefined;
  return pluginPackages === undefined
    ? `${refused} may not run: in production SVC_PLUGIN_PACKAGES lists the packages that may`
    : `${refused} may not run: SVC_PLUGIN_PACKAGES does not list it`;
}

function isAllowed(name: string, production: boolean, allowed: PackageRule['pluginPackages']): boolean {
  if (allowed === undefined) return !production;
  return allowed.some((one) => (one.endsWith('/*') ? name.startsWith(one.slice(0, -1)) : one === name));
}

async function pathProblem(folder: string, { entry }: Found): Promise<string | undefined> {
  if (!(await isFolder(folder))) return `there is no folder ${folder}`;
  const real = await realpath(folder);
  if (real.split(path.sep).includes('node_modules'))
    return `${folder} lies below node_modules: name it by its package`;
  return entry === undefined
    ? `${folder} has no plugin.ts, no plugin.js and no package.json that exports one`
    : undefined;
}
