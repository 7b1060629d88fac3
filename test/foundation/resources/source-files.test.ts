import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { RESOURCE_LIMITS } from '../../../foundation/resources/limits.ts';
import { SourceFiles } from '../../../foundation/resources/source-files.ts';
import { manualClock } from '../../../testing/manual-clock.ts';
import { thing } from './things.ts';

test('a file is read again while a second change could carry the same time, and not after that', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'source-files-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const real = path.join(folder, 'a.yaml');
  const clock = manualClock();
  const files = new SourceFiles(RESOURCE_LIMITS, clock);
  // The look sees no difference, whatever is written.
  const found = { path: 'a.yaml', real, fingerprint: 'same', bytes: 100, modifiedAt: clock.now() };
  const scan = { exists: true, files: [found], refused: new Map(), folders: new Set<string>() };
  const read = async (text: string) => {
    await writeFile(real, thing('a', { text }));
    const isChanged = files.adopt(await files.read(scan));
    return [isChanged, (files.all[0]!.documents[0]!.header!.spec as { text: string }).text];
  };
  t.deepEqual(await read('one'), [true, 'one']);
  t.deepEqual(await read('two'), [true, 'two']);
  t.deepEqual(await read('two'), [false, 'two']);
  clock.advance(10_000);
  t.deepEqual(await read('three'), [true, 'three']);
  t.deepEqual(await read('four'), [false, 'three']);
});

test('what did not change is the same object', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'source-files-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const files = new SourceFiles(RESOURCE_LIMITS, manualClock());
  const scan = async (...names: [string, string][]) => {
    const found = names.map(([name, fingerprint]) => ({
      ...{ path: name, real: path.join(folder, name), fingerprint, bytes: 100, modifiedAt: 0 },
    }));
    files.adopt(
      await files.read({ exists: true, files: found, refused: new Map(), folders: new Set<string>() }),
    );
    return files.all;
  };
  for (const name of ['a.yaml', 'b.yaml'])
    await writeFile(path.join(folder, name), thing('x', { text: name }));
  const before = await scan(['a.yaml', '1'], ['b.yaml', '1']);
  await writeFile(path.join(folder, 'b.yaml'), thing('x', { text: 'new' }));
  const touched = await scan(['a.yaml', '2'], ['b.yaml', '2']);
  t.is(touched[0], before[0]);
  t.not(touched[1], before[1]);
});

test('a file that went away between the look and the reading is told', async (t) => {
  const files = new SourceFiles(RESOURCE_LIMITS, manualClock());
  const found = { path: 'a.yaml', real: '/nowhere/a.yaml', fingerprint: '1', bytes: 1, modifiedAt: 0 };
  const scan = { exists: true, files: [found], refused: new Map(), folders: new Set<string>() };
  t.true((await files.read(scan)).isTorn);
  t.false((await files.read({ ...scan, files: [] })).isTorn);
});
