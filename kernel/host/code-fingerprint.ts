import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';

/** Files of a plugin that are looked at; what lies beyond changes nothing. */
const MAX_FILES = 2000;
/** Not the plugin's own, or an editor's. */
const IGNORED = /^(\..*|node_modules|.*~|.*\.(swp|swx|tmp|bak|log))$/;

/**
 * What tells one state of a plugin's code from another: names, sizes and times of its files, without `node_modules`, hidden
 * and temporary files. `undefined` when the folder is not there (any more).
 *
 * @param visited gets every folder that was looked through
 */
export async function codeFingerprint(folder: string, visited?: Set<string>): Promise<string | undefined> {
  const hash = createHash('sha256');
  const waiting = [folder];
  let files = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const entries = await readdir(next, { withFileTypes: true }).catch(() => undefined);
    if (entries === undefined) {
      // One that vanished below the plugin is a change; the plugin's own folder is the end.
      if (next === folder) return undefined;
      continue;
    }
    visited?.add(next);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (IGNORED.test(entry.name)) continue;
      const file = path.join(next, entry.name);
      if (entry.isDirectory()) {
        waiting.push(file);
        continue;
      }
      const found = await stat(file).catch(() => undefined);
      hash.update(`${file}:${found?.mtimeMs}:${found?.size}:${found?.ino}\n`);
      files += 1;
      if (files === MAX_FILES) return hash.digest('base64');
    }
  }
  return hash.digest('base64');
}
