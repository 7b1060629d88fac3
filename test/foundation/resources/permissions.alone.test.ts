import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { liveTexts, openFolder, problemLines, publishKinds, thing, thingKind } from './things.ts';

/** Nobody: root may read everything. */
const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;

// A process has one user, so that this file has one test.
test('files and folders that may not be read are reported, and what they held stays', async (t) => {
  const opened = await openFolder(t, { prepare: (folder) => mkdir(folder) });
  const { folder, around, resources } = opened;
  const inside = (name: string) => path.join(folder, name);
  await mkdir(inside('closed'));
  for (const name of ['a', 'closed/b', 'c']) {
    await writeFile(inside(`${name}.yaml`), thing(path.basename(name), { text: 'one' }));
  }
  const [things] = await publishKinds(opened, thingKind());
  await resources.reload();
  if (isRoot) {
    await chmod(around, 0o755);
    try {
      await chown(folder, NOBODY, NOBODY);
    } catch (error) {
      // A root that is one in its own namespace only may have no other user to become.
      t.log(`skipped: this root cannot give files away (${(error as NodeJS.ErrnoException).code})`);
      return t.pass();
    }
    process.seteuid?.(NOBODY);
  }
  try {
    await asRoot(() => chmod(inside('a.yaml'), 0));
    await asRoot(() => chmod(inside('closed'), 0));
    await resources.reload();
    t.deepEqual(problemLines(resources), [
      'a.yaml:: : cannot be read (EACCES)',
      'closed:: : cannot be read (EACCES)',
    ]);
    t.deepEqual(liveTexts(things!), { a: 'one', b: 'one', c: 'one' });
    t.deepEqual(
      resources.report().files.map(({ file, documents }) => [file, documents[0]?.name, documents[0]?.status]),
      [
        ['a.yaml', 'a', 'failed'],
        ['c.yaml', 'c', 'live'],
        ['closed', undefined, undefined],
        ['closed/b.yaml', 'b', 'failed'],
      ],
    );
    await asRoot(() => chmod(folder, 0));
    await resources.reload();
    t.deepEqual(problemLines(resources), ['.:: : cannot be read (EACCES)']);
    t.deepEqual(liveTexts(things!), { a: 'one', b: 'one', c: 'one' });
    t.like(await t.throwsAsync(resources.write('d.yaml', thing('d', { text: 'x' }))), {
      code: 'resource.not-writable',
    });
    await asRoot(() => chmod(folder, 0o755));
    await asRoot(() => chmod(inside('a.yaml'), 0o644));
    await asRoot(() => chmod(inside('closed'), 0o755));
    await resources.reload();
    t.deepEqual(problemLines(resources), []);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

/** Changing the mode of another's file takes root. */
async function asRoot(task: () => Promise<void>): Promise<void> {
  if (isRoot) process.seteuid?.(0);
  await task();
  if (isRoot) process.seteuid?.(NOBODY);
}
