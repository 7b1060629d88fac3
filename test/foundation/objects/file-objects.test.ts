import { readdir } from 'node:fs/promises';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import type { Objects } from '../../../foundation/objects/objects.ts';
import { objectsConformance } from '../../../testing/object-store/object-store-conformance.ts';
import { freshFolder, type Lifetime, openForTest } from './open-for-test.ts';

const test = anyTest as TestFn;
const ends: (() => unknown)[] = [];
const file: Lifetime = { teardown: (end) => void ends.unshift(end) };
let folder: string;
let objects: Objects;

test.before(async () => {
  folder = await freshFolder(file);
  objects = (await openForTest(file, `file:${folder}`)).objects;
});

test.after.always(async () => {
  for (const end of ends) await end();
});

const form = {
  objects: () => objects,
  unfinished: async () => (await readdir(path.join(folder, 'tmp'))).length,
};
for (const { title, run } of objectsConformance(form)) {
  test.serial(title, async (t) => {
    await t.notThrowsAsync(run);
  });
}
