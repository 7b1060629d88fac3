import { createHash } from 'node:crypto';
import { type Dirent, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** Files of a plugin that are looked at; what lies beyond changes nothing. */
const MAX_FILES = 2000;
/** Not the plugin's own, or an editor's. */
const IGNORED = /^(\..*|node_modules|.*~|.*\.(swp|swx|tmp|bak|log))$/;

/**
 * A fingerprint of a plugin's code: of names, sizes and times of its files, without `node_modules`, hidden
 * and temporary files. `undefined` when the folder is not there (any more).
 *
 * @param visited gets every folder that was looked through
 */
export async function codeFingerprint(folder: string, visited?: Set<string>): Promise<string | undefined> {
  const hash = createHash('sha256');
  const waiting = [folder];
  let files = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const entries = entriesOf(next);
    if (entries === undefined) {
      // One that vanished below the plugin is a change; the plugin's own folder is the end.
      if (next === folder) return undefined;
      continue;
    }
    visited?.add(next);
    const own = entries.filter(({ name }) => !IGNORED.test(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of own) if (entry.isDirectory()) waiting.push(path.join(next, entry.name));
    const paths = own.filter((entry) => !entry.isDirectory()).map(({ name }) => path.join(next, name));
    const few = paths.slice(0, MAX_FILES - files);
    files += few.length;
    for (const file of few) hash.update(stateOf(file));
    if (files === MAX_FILES) break;
  }
  return hash.digest('base64');
}

/*
 * Not through promises: of hundreds of folders and files each would cost more than what it waits for, at every start.
 */

/** `undefined` where the folder is not there or cannot be read. */
function entriesOf(folder: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return undefined;
  }
}

function stateOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return `${file}:${found?.mtimeMs}:${found?.size}:${found?.ino}\n`;
}
