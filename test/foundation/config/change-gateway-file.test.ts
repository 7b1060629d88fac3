import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import fc from 'fast-check';
import { changeGatewayFile, type GatewayFileChange } from '../../../foundation/config/change-gateway-file.ts';
import { ConfigurationError } from '../../../foundation/config/configuration-error.ts';
import { loadGatewayFile } from '../../../foundation/config/gateway-file.ts';

const test = anyTest as TestFn<{ folder: string; file: string }>;

test.beforeEach(async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'change-gateway-'));
  t.context = { folder, file: path.join(folder, 'gateway.yaml') };
});
test.afterEach.always((t) => rm(t.context.folder, { recursive: true }));

const enable = (name: string, enabled: boolean): GatewayFileChange => ({ plugins: { [name]: { enabled } } });

test('a missing file is created for its owner alone', async (t) => {
  const { file, folder } = t.context;
  const after = await changeGatewayFile(file, enable('workflow', false));
  t.false(after.plugins.get('workflow')?.enabled);
  t.is(await readFile(file, 'utf8'), 'plugins:\n  workflow:\n    enabled: false\n');
  t.is((await stat(file)).mode & 0o777, 0o600);
  t.deepEqual(await readdir(folder), ['gateway.yaml']);
});

test('comments, order, quotes and everything else stay', async (t) => {
  const { file } = t.context;
  const before = `# How we run it
plugins:
  # The UI
  console:
    enabled: true # for now

  workflow:
    # runs the orders
    config:
      url: 'https://a.example/?a=1&b=${'x'.repeat(120)}'
      max_steps: 7
    onFailure: abort
# The end
`;
  await writeFile(file, before);
  await chmod(file, 0o640);
  await changeGatewayFile(file, {
    plugins: {
      console: { enabled: false },
      workflow: { config: { max_steps: 9, names: ['a'] } },
      hub: { enabled: false },
    },
  });
  t.is(
    await readFile(file, 'utf8'),
    before
      .replace('enabled: true #', 'enabled: false #')
      .replace('max_steps: 7', 'max_steps: 9\n      names:\n        - a')
      .replace('onFailure: abort\n', 'onFailure: abort\n  hub:\n    enabled: false\n\n'),
  );
  t.is((await stat(file)).mode & 0o777, 0o640);
});

test('a file that holds comments alone keeps them at its top', async (t) => {
  const { file } = t.context;
  await writeFile(file, '# Ours\n');
  await changeGatewayFile(file, enable('hub', true));
  t.is(await readFile(file, 'utf8'), '# Ours\n\nplugins:\n  hub:\n    enabled: true\n');
});

test('null removes a member, a setting, or a whole entry', async (t) => {
  const { file } = t.context;
  await writeFile(file, 'plugins:\n  a:\n    enabled: false\n    config: { x: 1, y: 2 }\n  b: {}\n');
  const after = await changeGatewayFile(file, {
    plugins: { a: { enabled: null, config: { x: null } }, b: null },
  });
  t.deepEqual([...after.plugins.keys()], ['a']);
  t.true(after.plugins.get('a')?.enabled);
  t.deepEqual(after.plugins.get('a')?.config, { y: 2 });
});

test('a change that changes nothing does not touch the file', async (t) => {
  const { file } = t.context;
  await writeFile(file, 'plugins:   { a:   { enabled: false } }\n');
  const { ino } = await stat(file);
  await changeGatewayFile(file, enable('a', false));
  t.is((await stat(file)).ino, ino);
});

test('the file behind symbolic links is replaced, and the links stay', async (t) => {
  const { file, folder } = t.context;
  await mkdir(path.join(folder, 'real'));
  await symlink('middle', file);
  await symlink('real/gateway.yaml', path.join(folder, 'middle'));
  await changeGatewayFile(file, enable('a', false));
  await changeGatewayFile(file, enable('b', false));
  t.true((await lstat(file)).isSymbolicLink());
  t.true((await lstat(path.join(folder, 'middle'))).isSymbolicLink());
  t.deepEqual(
    [...(await loadGatewayFile(path.join(folder, 'real/gateway.yaml'))).plugins.keys()],
    ['a', 'b'],
  );
  t.deepEqual(await readdir(path.join(folder, 'real')), ['gateway.yaml']);
});

test('a link to a file that is not there yet counts from the folder that it really lies in', async (t) => {
  const { folder } = t.context;
  await mkdir(path.join(folder, 'deep/config'), { recursive: true });
  await symlink('deep/config', path.join(folder, 'config'));
  await symlink('../shared.yaml', path.join(folder, 'deep/config/gateway.yaml'));
  await changeGatewayFile(path.join(folder, 'config/gateway.yaml'), enable('a', false));
  t.deepEqual([...(await loadGatewayFile(path.join(folder, 'deep/shared.yaml'))).plugins.keys()], ['a']);
  t.deepEqual((await readdir(folder)).sort(), ['config', 'deep']);
});

test('changes at the same time all arrive, and a failing one harms no other', async (t) => {
  const { file } = t.context;
  const names = Array.from({ length: 30 }, (_, index) => `plugin-${index}`);
  const changes = names.map((name) => changeGatewayFile(file, enable(name, false)));
  const bad = changeGatewayFile(file, { plugins: { 'Bad Name': { enabled: true } } });
  const late = changeGatewayFile(file, enable('late', false));
  await t.throwsAsync(bad, { instanceOf: ConfigurationError });
  await Promise.all([...changes, late]);
  t.deepEqual([...(await loadGatewayFile(file)).plugins.keys()], [...names, 'late']);
});

test('changes of several processes all arrive', async (t) => {
  const { file, folder } = t.context;
  const children = ['a', 'b', 'c'].map((name) =>
    fork(new URL('fixtures/changer.ts', import.meta.url), [file, name, '20'], { execArgv: [] }),
  );
  await Promise.all(children.map((child) => once(child, 'message')));
  for (const child of children) child.send('begin');
  t.deepEqual(await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0])), [0, 0, 0]);
  t.is((await loadGatewayFile(file)).plugins.size, 60);
  t.deepEqual(await readdir(folder), ['gateway.yaml']);
});

test('a lock that a killed process left is taken over', async (t) => {
  const { file, folder } = t.context;
  await writeFile(path.join(folder, '.gateway.yaml.lock'), '');
  await changeGatewayFile(file, enable('a', false));
  t.deepEqual(await readdir(folder), ['gateway.yaml']);
});

const refused: [string, string, GatewayFileChange, RegExp][] = [
  ['an invalid file', 'plugins: [\n', enable('a', true), /gateway\.yaml:/],
  ['an invalid change', 'plugins: {}\n', { plugins: { a: { drainTimeout: 'soon' } } }, /not a duration/],
  [
    'a change that an anchor would spread',
    'plugins:\n  a: &x { enabled: true }\n  b: *x\n',
    enable('a', false),
    /anchors/,
  ],
  [
    'a removal that an alias needs',
    'plugins:\n  a: &x { enabled: true }\n  b: *x\n',
    { plugins: { a: null } },
    /anchors/,
  ],
];
for (const [what, before, change, reason] of refused) {
  test(`${what} is refused and nothing is written`, async (t) => {
    const { file, folder } = t.context;
    await writeFile(file, before);
    await t.throwsAsync(changeGatewayFile(file, change), { instanceOf: ConfigurationError, message: reason });
    t.is(await readFile(file, 'utf8'), before);
    t.deepEqual(await readdir(folder), ['gateway.yaml']);
  });
}

test('an alias may be changed: it becomes a copy of its own', async (t) => {
  const { file } = t.context;
  await writeFile(file, 'plugins:\n  a: &x { enabled: true, onFailure: abort }\n  b: *x\n');
  const after = await changeGatewayFile(file, enable('b', false));
  t.true(after.plugins.get('a')?.enabled);
  t.like(after.plugins.get('b'), { enabled: false, onFailure: 'abort' });
});

test('a folder that does not exist is a ConfigurationError', async (t) => {
  const file = path.join(t.context.folder, 'missing', 'gateway.yaml');
  await t.throwsAsync(changeGatewayFile(file, enable('a', true)), {
    instanceOf: ConfigurationError,
    message: /ENOENT/,
  });
});

test('any sequence of changes gives what merging them gives', async (t) => {
  const { file } = t.context;
  const name = fc.constantFrom('a', 'b');
  const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string()), fc.constant(null));
  const config = fc.dictionary(
    fc.constantFrom('x', 'y'),
    fc.oneof(value, fc.dictionary(fc.constantFrom('p', 'q'), value)),
  );
  const change = fc.dictionary(name, fc.record({ config }), { minKeys: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 4 }), async (changes) => {
      await writeFile(file, '# ours\nplugins:\n  a:\n    # first\n    config: { x: 1 }\n');
      let wanted: unknown = { a: { x: 1 } };
      for (const plugins of changes) {
        await changeGatewayFile(file, { plugins });
        wanted = merged(
          wanted,
          Object.fromEntries(Object.entries(plugins).map(([key, entry]) => [key, entry.config])),
        );
      }
      const { plugins } = await loadGatewayFile(file);
      t.deepEqual(
        Object.fromEntries([...plugins].map(([key, entry]) => [key, entry.config])),
        wanted as never,
      );
      t.true((await readFile(file, 'utf8')).startsWith('# ours\nplugins:\n  a:\n    # first\n'));
    }),
    { numRuns: 40 },
  );
});

/** RFC 7396 as the RFC writes it. */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target);
  const result: Record<string, unknown> = isObject ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}
