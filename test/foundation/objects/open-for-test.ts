import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { parseObjectStoreUrl } from '../../../foundation/objects/object-store-url.ts';
import type { Objects } from '../../../foundation/objects/objects.ts';
import { type ObjectsOptions, openObjects } from '../../../foundation/objects/open-objects.ts';

/** Ends with the test, or with the tests of a file. */
export type Lifetime = Pick<ExecutionContext, 'teardown'>;

/** Object storage of a test and what it logged. */
export interface OpenedObjects {
  readonly objects: Objects;
  readonly logged: string[];
}

/** Opens what the URL says; closed with the test. */
export async function openForTest(
  t: Lifetime,
  url: string,
  options: Partial<ObjectsOptions> = {},
): Promise<OpenedObjects> {
  const parsed = parseObjectStoreUrl(url, '/nowhere');
  if ('problem' in parsed) throw new Error(`${url} ${parsed.problem}`);
  const logged: string[] = [];
  const note = (...content: unknown[]) => void logged.push(String(content.at(-1)));
  const objects = await openObjects({
    url: parsed.url,
    clock: systemClock,
    ids: createIds(systemClock),
    log: { info: note, warn: note } as unknown as ObjectsOptions['log'],
    ...options,
  });
  t.teardown(() => objects.close());
  return { objects, logged };
}

/** An empty folder; deleted with the test. */
export async function freshFolder(t: Lifetime): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-objects-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** All files and folders below a folder, relative to it. */
export async function everythingIn(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).sort();
}
