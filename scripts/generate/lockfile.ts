import type { GeneratedFile } from './generated-file.ts';

/**
 * better-sqlite3 ships its binaries and says `gypfile: false`, but npm forgets that when it writes the lock file, and
 * `npm ci` would then call node-gyp, which needs Python. The lock file therefore says it again.
 */
export const lockFile: GeneratedFile = {
  path: 'package-lock.json',
  render: (current) => {
    const lock = JSON.parse(current) as { packages: Record<string, { gypfile?: boolean }> };
    const entry = lock.packages['node_modules/better-sqlite3'];
    if (entry === undefined) throw new Error('package-lock.json does not name better-sqlite3 any more');
    entry.gypfile = false;
    return `${JSON.stringify(lock, null, 2)}\n`;
  },
};
