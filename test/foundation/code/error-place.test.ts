import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { innerFolderOf, originOf, placeOf } from '../../../foundation/code/error-place.ts';

/**
 * A folder of plugins with `plain`, and with `linked`, which leads to a release beside it; and the error that the code
 * of each of them makes.
 */
async function plugins(t: ExecutionContext) {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'gateway-places-')));
  t.teardown(() => rm(root, { recursive: true }));
  const folder = path.join(root, 'plugins');
  const errorOf = async (directory: string) => {
    await mkdir(directory, { recursive: true });
    await writeFile(path.join(directory, 'fail.mjs'), '\nexport default () => new Error("sick");\n');
    const { default: fail } = await import(path.join(directory, 'fail.mjs'));
    return fail() as Error;
  };
  const errors = {
    plain: await errorOf(path.join(folder, 'plain')),
    linked: await errorOf(path.join(root, 'releases/42')),
    other: await errorOf(path.join(root, 'elsewhere')),
  };
  await symlink('../releases/42', path.join(folder, 'linked'));
  await symlink('../nowhere', path.join(folder, 'dangling'));
  return { folder, errors };
}

test('an error is found in the folder of a plugin, also where a link leads to it', async (t) => {
  const { folder, errors } = await plugins(t);
  t.is(placeOf(errors.plain, path.join(folder, 'plain')), 'fail.mjs:2');
  t.is(placeOf(errors.linked, path.join(folder, 'linked')), 'fail.mjs:2');
  t.is(placeOf(new Error('outside', { cause: errors.linked }), path.join(folder, 'linked')), 'fail.mjs:2');
  t.is(placeOf(errors.linked, path.join(folder, 'plain')), undefined);
  t.is(placeOf(errors.other, path.join(folder, 'dangling')), undefined);
});

test('the plugin from which an error comes is named by its folder, or by the link that leads there', async (t) => {
  const { folder, errors } = await plugins(t);
  t.is(innerFolderOf(errors.plain, ['/nowhere', folder]), 'plain');
  t.is(innerFolderOf(errors.linked, ['/nowhere', folder]), 'linked');
  t.is(innerFolderOf(errors.other, [folder]), undefined);
});

test('of several plugins in a stack, the one in which the error has its origin is named', (t) => {
  const folders = ['a', 'b'].map((name) => ({ name, folder: `/plugins/${name}` }));
  const error = new Error('sick');
  error.stack = 'Error: sick\n    at fail (/plugins/b/fail.ts:2:9)\n    at call (/plugins/a/call.ts:7:3)';
  t.is(originOf(error, folders)?.name, 'b');
  t.is(originOf(error, [...folders].reverse())?.name, 'b');
  t.is(originOf(new Error('elsewhere'), folders), undefined);
});
