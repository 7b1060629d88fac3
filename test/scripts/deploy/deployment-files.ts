import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type ParsedNode, parseAllDocuments } from 'yaml';
import { loadBundledPlugins } from '../../../scripts/generate/bundled-plugins.ts';
import { settingsTable } from '../../../scripts/generate/settings-table.ts';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
export const DEPLOY = path.join(ROOT, 'scripts/deploy');

// biome-ignore lint/suspicious/noExplicitAny: YAML of every shape
export type Yaml = any;

/** The text of a file of the repository. */
export function read(file: string): Promise<string> {
  return readFile(path.join(ROOT, file), 'utf8');
}

/** The documents of a file. @throws Error naming the file and what is wrong, warnings and keys given twice included. */
export async function parse(file: string): Promise<Yaml[]> {
  return parseAllDocuments<ParsedNode>(await readFile(file, 'utf8'), { merge: true }).map((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw new Error(`${file}: ${problem.message}`);
    return document.toJS();
  });
}

/** The files of a folder and of the folders in it, absolute. */
export async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

/** The variables of a file of `NAME=value` lines. */
export async function variablesOf(file: string): Promise<Record<string, string>> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => /^[A-Z]/.test(line));
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

/** All settings of the gateway and its plugins, with the text of the default. */
export async function settings(): Promise<ReadonlyMap<string, string>> {
  const table = settingsTable(await loadBundledPlugins(path.join(ROOT, 'plugins')));
  const rows = table.split('\n').map((row) => row.split(/(?<!\\) ?\| ?/).slice(1));
  const bare = (cell = '') => cell.replace(/^`([^`]*)`$/, '$1');
  return new Map(rows.slice(2).map(([name, , text]) => [bare(name), bare(text)]));
}

/** Read by the AWS SDK, not by the gateway. */
const LIBRARIES = new Set(['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']);

/** Those of the variables that nothing reads. */
export async function unknownVariables(names: readonly string[]): Promise<string[]> {
  const known = await settings();
  return names.filter((name) => !known.has(name) && !LIBRARIES.has(name));
}

/** Seconds of a duration such as `45s` or `1m`. */
export function seconds(duration: string): number {
  const [, amount = '', unit = ''] = /^(\d+)(s|m)$/.exec(duration) ?? [];
  return Number(amount) * (unit === 'm' ? 60 : 1);
}

/** An image is pinned by a digest, or by a tag that says which release it is. */
export function isPinned(image: string): boolean {
  return /@sha256:[0-9a-f]{64}$/.test(image) || /:v?\d+\.\d+[\w.-]*$|:RELEASE\.[\w-]+$/.test(image);
}

/** What a program writes; `undefined` when it is not on this machine. @throws when it fails. */
export async function output(program: string, ...args: readonly string[]): Promise<string | undefined> {
  try {
    return (await promisify(execFile)(program, args, { maxBuffer: 16 * 1024 * 1024 })).stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
