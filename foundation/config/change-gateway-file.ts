import { lstat, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Document, isAlias, isMap, type YAMLMap } from 'yaml';
import { isSystemError, writeAtomically } from '../base/durable-file.ts';
import { whileLocked } from '../base/file-lock.ts';
import { isJsonObject } from '../base/json-object.ts';
import { Mutex } from '../base/semaphore.ts';
import { type ConfigurationError, fileError } from './configuration-error.ts';
import { type GatewayFile, type OnFailure, parseGatewayFile, readGatewayText } from './gateway-file.ts';
import { parseYaml } from './yaml-source.ts';

/** What changes about one plugin. Absent members stay, null removes; `config` is merged member by member. */
export interface PluginEntryChange {
  readonly enabled?: boolean | null;
  readonly package?: string | null;
  readonly path?: string | null;
  readonly config?: Readonly<Record<string, unknown>> | null;
  readonly onFailure?: OnFailure | null;
  /** As in the file: `30s`. */
  readonly drainTimeout?: string | null;
}

/** A JSON merge patch (RFC 7396) of gateway.yaml; null removes a plugin's entry. */
export interface GatewayFileChange {
  readonly plugins: Readonly<Record<string, PluginEntryChange | null>>;
}

/** The file may hold secrets: a new one is for its owner alone. */
const NEW_FILE_MODE = 0o600;

/**
 * Changes gateway.yaml and returns what it says now. Comments and order stay (indentation is made regular); a missing
 * file is created. The new content replaces the old one atomically, behind a symbolic link too, and keeps its mode.
 * Changes of several processes wait for each other. Rejects with a ConfigurationError, and writes nothing, when the
 * file is invalid before or after the change, was emptied though `inForce` says something, or cannot be written.
 */
export function changeGatewayFile(
  file: string,
  change: GatewayFileChange,
  inForce?: GatewayFile,
): Promise<GatewayFile> {
  return changes.run(async () => {
    const target = await targetOf(file);
    const changed = async () => {
      const before = await readGatewayText(target);
      parseGatewayFile(file, before, inForce);
      const text = changeText(file, before, change);
      return { text, isSame: text === before, after: parseGatewayFile(file, text) };
    };
    const write = async () => {
      const { text, isSame, after } = await changed();
      if (!isSame) await writeAtomically(target, text, await modeOf(target));
      return after;
    };
    const { isSame, after } = await changed();
    // Where there is nothing to write, the folder may be read-only.
    return isSame
      ? after
      : asFileProblem(file, () => whileLocked(target, write, (reason) => fileError(file, reason)));
  });
}

function changeText(file: string, before: string | undefined, change: GatewayFileChange): string {
  const { document, value } = parseYaml(file, before ?? '');
  const wanted = mergePatch(value, change);
  if (before !== undefined && isDeepStrictEqual(value, wanted)) return before;
  mergeInto(rootOf(document), change, document);
  const text = stringify(file, document);
  // An anchor shares values between places, and a change of one would change the others: never write what was not asked
  // for.
  if (!isDeepStrictEqual(parseYaml(file, text).value, wanted)) throw shared(file);
  return text;
}

function stringify(file: string, document: Document): string {
  try {
    return document.toString({ lineWidth: 0 });
  } catch (error) {
    throw shared(file, error);
  }
}

function shared(file: string, cause?: unknown): ConfigurationError {
  return fileError(
    file,
    'cannot be changed by itself, since it shares values by anchors; edit it by hand',
    cause,
  );
}

function rootOf(document: Document): YAMLMap {
  if (isMap(document.contents)) return document.contents;
  const root = document.createNode({}) as YAMLMap;
  document.contents = root;
  // The comment of a file that held nothing else belongs to its top.
  if (document.comment) {
    document.commentBefore = document.comment;
    document.comment = null;
  }
  return root;
}

function mergeInto(map: YAMLMap, patch: object, document: Document): void {
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) map.delete(key);
    else if (isJsonObject(value)) mergeInto(ownMap(map, key, document), value, document);
    else map.set(key, typeof value === 'object' ? document.createNode(value) : value);
  }
}

/** The mapping below `key`, made when there is none; what an alias stands for becomes a copy of its own. */
function ownMap(map: YAMLMap, key: string, document: Document): YAMLMap {
  const old = map.get(key, true);
  if (isMap(old)) return old;
  const resolved: unknown = isAlias(old) ? old.toJS(document) : {};
  const fresh = document.createNode(isJsonObject(resolved) ? resolved : {}) as YAMLMap;
  fresh.commentBefore = (old as { comment?: string | null } | undefined)?.comment;
  map.set(key, fresh);
  return fresh;
}

/** RFC 7396, with absent and `undefined` alike. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result = new Map(Object.entries(isJsonObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else if (value !== undefined) result.set(key, mergePatch(result.get(key), value));
  }
  return Object.fromEntries(result);
}

async function asFileProblem<T>(file: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // A single file that is mounted into a container cannot be renamed over, and writing into it could tear.
    const reason =
      error.code === 'EBUSY'
        ? 'is mounted as a single file, mount its folder instead'
        : `cannot be written (${error.code})`;
    throw fileError(file, reason, error);
  }
}

async function modeOf(target: string): Promise<number> {
  try {
    return (await lstat(target)).mode & 0o777;
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return NEW_FILE_MODE;
    throw error;
  }
}

/** The file behind symbolic links, also when the last link leads to nothing yet. */
async function targetOf(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (!isSystemError(error, 'ENOENT')) throw unresolvable(file, error);
  }
  let next: string;
  try {
    next = await readlink(file);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return path.resolve(file);
    throw unresolvable(file, error);
  }
  // A link counts from the folder that it really lies in. Ends: a chain that never does is ELOOP above.
  return targetOf(path.resolve(await realpath(path.dirname(file)), next));
}

function unresolvable(file: string, error: unknown): unknown {
  if (!isSystemError(error)) return error;
  return fileError(file, `cannot be read (${error.code})`, error);
}

/** One queue for all files: changes are rare, and links alias paths. */
const changes = new Mutex();
