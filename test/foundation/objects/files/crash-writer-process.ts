import { writeSync } from 'node:fs';
import { Readable } from 'node:stream';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import { openObjects } from '../../../../foundation/objects/open-objects.ts';

/**
 * Stores objects until it is killed: versions of three keys, some of them deleted again. Argument: the folder, and the
 * number of the first version. Writes `<key> <version>` when a version is stored, `<key> -<version>` when the key was
 * deleted after that, and not before its reader can have that: what a stream has queued a killed process never said.
 */
const [folder, first] = process.argv.slice(2);
const log = { info() {}, warn() {} };
const objects = await openObjects({
  url: { form: 'files', folder: folder as string },
  clock: systemClock,
  ids: createIds(systemClock),
  log: log as never,
});
const space = objects.forTenant('acme');

function* content(version: number): Generator<Buffer> {
  const pieces = 1 + (version % 5);
  for (let i = 0; i < pieces; i += 1) yield Buffer.from(`${version}\n`.repeat(3000));
}

async function write(key: string): Promise<void> {
  for (let version = Number(first); ; version += 1) {
    await space.put(key, Readable.from(content(version)));
    writeSync(1, `${key} ${version}\n`);
    if (version % 4 !== 3) continue;
    await space.delete(key);
    writeSync(1, `${key} -${version}\n`);
  }
}

await Promise.all(['a', 'a/b', 'deep/er/c'].map(write));
