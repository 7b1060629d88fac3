import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { GatewayError } from '../../../foundation/base/gateway-error.ts';
import { liveTexts, openFolder, publishKinds, thing, thingKind } from './things.ts';

async function started(t: ExecutionContext<unknown>, options: Parameters<typeof openFolder>[1] = {}) {
  const opened = await openFolder(t, options);
  const log = { built: [] as string[], disposed: [] as string[] };
  const [things] = await publishKinds(opened, thingKind(log));
  return { ...opened, ...log, things: things! };
}

async function failure(
  promise: Promise<unknown>,
): Promise<{ code: string; message: string; errors: unknown }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof GatewayError)
      return { code: error.code, message: error.detail, errors: error.extras.errors };
    throw error;
  }
  throw new Error('it did not fail');
}

test('a written file is live when the call returns, and was built once', async (t) => {
  const { resources, folder, things, built } = await started(t);
  const report = await resources.write('a.yaml', thing('a', { text: 'one' }), { isNew: true });
  t.deepEqual(
    report.documents.map(({ name, status }) => [name, status]),
    [['a', 'live']],
  );
  t.deepEqual(liveTexts(things), { a: 'one' });
  t.is(await readFile(path.join(folder, 'a.yaml'), 'utf8'), thing('a', { text: 'one' }));
  await resources.write('a.yaml', thing('a', { text: 'two' }));
  await resources.reload();
  t.deepEqual(built, ['a:one', 'a:two']);
  t.deepEqual(await readdir(folder), ['a.yaml']);
  await resources.remove('a.yaml');
  t.deepEqual([liveTexts(things), await readdir(folder)], [{}, []]);
});

test('what cannot be live is not written, and everything stays as it was', async (t) => {
  const { resources, folder, things } = await started(t);
  await resources.write('a.yaml', thing('a', { text: 'one' }));
  const cases: [string, { line: number; pointer: string; message: RegExp }][] = [
    ['a: [', { line: 1, pointer: '', message: /./ }],
    ['', { line: 1, pointer: '', message: /holds no resource/ }],
    ['# nothing\n', { line: 1, pointer: '', message: /holds no resource/ }],
    [thing('a', { text: '' }), { line: 5, pointer: '/spec/text', message: /at least 1 character/ }],
    [
      thing('a', { text: 'x', needs: ['b'] }),
      { line: 5, pointer: '/spec/needs/0', message: /no Thing with the name b/ },
    ],
    [
      thing('a', { text: 'x', mentions: ['b'] }),
      { line: 5, pointer: '/spec/mentions/0', message: /no Thing/ },
    ],
    [thing('a', { text: 'x', needs: ['a'] }), { line: 5, pointer: '/spec/needs/0', message: /circle/ }],
    [thing('a', { text: 'x', fails: true }), { line: 1, pointer: '', message: /could not be built/ }],
    [
      thing('a', { text: 'x' }, 'Thyng'),
      { line: 2, pointer: '/kind', message: /no plugin registers .* did you mean Thing/ },
    ],
  ];
  for (const [text, expected] of cases) {
    const { code, errors } = await failure(resources.write('a.yaml', text));
    const [first] = errors as { line: number; pointer: string; message: string }[];
    t.is(code, 'resource.invalid');
    t.like(first, { line: expected.line, pointer: expected.pointer });
    t.regex(first!.message, expected.message);
  }
  t.deepEqual(liveTexts(things), { a: 'one' });
  t.is(await readFile(path.join(folder, 'a.yaml'), 'utf8'), thing('a', { text: 'one' }));
  t.deepEqual(resources.report().files[0]!.documents[0]!.problems, []);
});

test('a taken name is a conflict, of the file and of the resource', async (t) => {
  const { resources } = await started(t);
  await resources.write('m.yaml', thing('a', { text: 'one' }));
  t.like(await failure(resources.write('m.yaml', thing('a', { text: 'two' }), { isNew: true })), {
    code: 'resource.exists',
    message: 'There is a file m.yaml already.',
  });
  t.like(await failure(resources.write('b.yaml', thing('a', { text: 'two' }))), {
    code: 'resource.exists',
    message: 'The Thing a is declared in m.yaml already.',
  });
  t.like(await failure(resources.remove('nobody.yaml')), { code: 'resource.not-found' });
});

test('of several processes over one folder one makes a file, and one deletes it', async (t) => {
  const one = await started(t);
  const other = await started(t, { folder: one.folder });
  const both = [one.resources, other.resources];
  for (let turn = 0; turn < 5; turn += 1) {
    const file = `n${turn}.yaml`;
    const made = await Promise.allSettled(
      both.map((resources, n) =>
        resources.write(file, thing(`n${turn}`, { text: `of ${n}` }), { isNew: true }),
      ),
    );
    const winner = made.findIndex(({ status }) => status === 'fulfilled');
    t.like(made[1 - winner], { status: 'rejected', reason: { code: 'resource.exists' } });
    t.is(await readFile(path.join(one.folder, file), 'utf8'), thing(`n${turn}`, { text: `of ${winner}` }));
    const gone = await Promise.allSettled(both.map((resources) => resources.remove(file)));
    const reasons = gone.map((result) => (result.status === 'rejected' ? result.reason.code : 'removed'));
    t.deepEqual(reasons.toSorted(), ['removed', 'resource.not-found']);
  }
});

test('of several processes that change one document one does, and the others know of it', async (t) => {
  const one = await started(t);
  const other = await started(t, { folder: one.folder });
  const both = [one.resources, other.resources];
  await one.resources.write('a.yaml', thing('a', { text: 'start' }), { isNew: true });
  await other.resources.reload();
  for (let turn = 0; turn < 5; turn += 1) {
    const before = one.resources.source('Thing', 'a')!.yaml;
    const changes = await Promise.allSettled(
      both.map((resources, n) =>
        resources.write('a.yaml', thing('a', { text: `${turn} of ${n}` }), { before }),
      ),
    );
    const winner = changes.findIndex(({ status }) => status === 'fulfilled');
    t.like(changes[1 - winner], { status: 'rejected', reason: { code: 'resource.changed' } });
    await both[winner]!.reload();
    for (const resources of both)
      t.is(resources.source('Thing', 'a')?.yaml, thing('a', { text: `${turn} of ${winner}` }));
  }
  const before = one.resources.source('Thing', 'a')!.yaml;
  await other.resources.remove('a.yaml');
  const late = one.resources.write('a.yaml', thing('a', { text: 'late' }), { before });
  await t.throwsAsync(late, { code: 'resource.changed' });
  t.deepEqual([one.resources.source('Thing', 'a'), await readdir(one.folder)], [undefined, []]);
});

test('nothing outside of the folder is written, deleted, or reached through a link', async (t) => {
  const { resources, folder, around } = await started(t);
  const outside = path.join(around, 'outside.yaml');
  await writeFile(outside, 'precious');
  await mkdir(path.join(folder, 'sub'), { recursive: true });
  await symlink('../outside.yaml', path.join(folder, 'link.yaml'));
  const good = thing('a', { text: 'one' });
  const names = [
    '../outside.yaml',
    'sub/a.yaml',
    '/etc/a.yaml',
    '.a.yaml',
    'a.txt',
    '',
    '..',
    `${'x'.repeat(200)}.yaml`,
    'a.yaml\n',
    'a\0.yaml',
  ];
  for (const name of names) {
    t.is((await failure(resources.write(name, good))).code, 'resource.bad-file-name', name);
    t.is((await failure(resources.remove(name))).code, 'resource.bad-file-name', name);
  }
  t.is((await failure(resources.write('link.yaml', good))).code, 'resource.not-writable');
  t.is((await failure(resources.remove('link.yaml'))).code, 'resource.not-writable');
  t.is(await readFile(outside, 'utf8'), 'precious');
});

test('a file that cannot be written leaves what is live as it was', async (t) => {
  const { resources, folder, things } = await started(t);
  await writeFile(folder, 'a file where the folder should be');
  t.is((await failure(resources.write('a.yaml', thing('a', { text: 'one' })))).code, 'resource.not-writable');
  t.deepEqual(liveTexts(things), {});
});

test('writes at the same time are done one after the other', async (t) => {
  const { resources, things } = await started(t);
  const names = Array.from({ length: 10 }, (_, at) => `t${at}`);
  await Promise.all(names.map((name) => resources.write(`${name}.yaml`, thing(name, { text: name }))));
  t.deepEqual(Object.keys(liveTexts(things)), names);
});

test('more callers than can wait are turned away, and none after the end', async (t) => {
  const { resources } = await started(t);
  const staged = await resources.prepare([]);
  const reloads = Array.from({ length: 101 }, () =>
    resources.reload().catch((error: GatewayError) => error.code),
  );
  staged.publish();
  const results = await Promise.all(reloads);
  t.deepEqual(
    results.filter((result) => typeof result === 'string'),
    ['resource.busy'],
  );
  await resources.close();
  t.is((await failure(resources.reload())).code, 'gateway.draining');
});

test('a text is checked without being kept', async (t) => {
  const { resources, built } = await started(t);
  await resources.write('leaf.yaml', thing('leaf', { text: 'leaf' }));
  const good = `${thing('a', { text: 'x', needs: ['leaf', 'b'], mentions: ['leaf'] })}---\n${thing('b', { text: 'y' })}`;
  t.deepEqual(resources.validate(good), { valid: true, errors: [] });
  const bad = `${thing('a', { text: 'x' })}---\n${thing('a', { text: 'y', needs: ['c'] })}`;
  t.deepEqual(resources.validate(bad), {
    valid: false,
    errors: [
      {
        line: 10,
        pointer: '/metadata/name',
        message: 'Thing a is declared in line 1 already; this one does not count',
      },
    ],
  });
  t.like(resources.validate('x'.repeat(2 << 20)), { errors: [{ message: 'is larger than 1048576 bytes' }] });
  t.deepEqual(built, ['leaf:leaf']);
});

test('the document of a resource can be read, with its comments, also while it is bad', async (t) => {
  const { resources } = await started(t);
  const a = `# about a\n${thing('a', { text: 'one' })}`;
  await resources.write('two.yaml', `${a}---\n${thing('b', { text: 'two' })}`);
  t.deepEqual(resources.source('Thing', 'a'), { file: 'two.yaml', line: 2, yaml: a, isAlone: false });
  t.deepEqual(resources.source('Thing', 'b'), {
    file: 'two.yaml',
    line: 8,
    yaml: thing('b', { text: 'two' }),
    isAlone: false,
  });
  t.is(resources.source('Thing', 'c'), undefined);
});
