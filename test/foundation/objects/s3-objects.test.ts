import anyTest, { type TestFn } from 'ava';
import type { Objects } from '../../../foundation/objects/objects.ts';
import { objectsConformance } from '../../../testing/object-store/object-store-conformance.ts';
import { type S3Server, startS3Server, useS3Credentials } from '../../support/s3-server.ts';
import { type Lifetime, openForTest } from './open-for-test.ts';

const test = anyTest as TestFn;
const ends: (() => unknown)[] = [];
const file: Lifetime = { teardown: (end) => void ends.unshift(end) };
let server: S3Server;
let objects: Objects;

test.before(async () => {
  useS3Credentials();
  server = await startS3Server(file);
  objects = (await openForTest(file, server.url)).objects;
});

test.after.always(async () => {
  for (const end of ends) await end();
});

const form = { objects: () => objects, unfinished: () => server.uploads() };
for (const { title, run } of objectsConformance(form)) {
  test.serial(title, async (t) => {
    await t.notThrowsAsync(run);
  });
}
