import { appendFile, mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { FileBody } from '../../../../plugins/pages/services/file-body.ts';
import { openFolder } from '../../../../plugins/pages/services/folder.ts';
import { until } from '../../../support/until.ts';

const SIZE = 300_000;
const content = Buffer.from(Array.from({ length: SIZE }, (_, at) => at % 251));

async function openBody(t: ExecutionContext, standstill?: number) {
  const folder = await mkdtemp(path.join(tmpdir(), 'pages-body-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const name = path.join(folder, 'file');
  await writeFile(name, content);
  const log = pino({ level: 'silent' });
  const file = (await (await openFolder({ path: folder, clock: systemClock, log })).open('file'))!;
  const open = (start: number, end: number) =>
    new FileBody(file, { start, end, ...(standstill === undefined ? {} : { standstill }) });
  return { file, name, open };
}

test('every range is what the file holds there, and the file is closed behind it', async (t) => {
  for (const [start, end] of [
    [0, SIZE - 1],
    [65_535, 65_536],
    [0, 65_535],
    [SIZE - 1, SIZE - 1],
    [0, -1],
  ] as const) {
    const { open, file } = await openBody(t);
    t.true(content.subarray(start, end + 1).equals(await buffer(open(start, end))));
    await until(() => file.handle.fd === -1);
  }
});

test('a file that was replaced is sent as it was', async (t) => {
  const { open, name } = await openBody(t);
  const body = open(0, SIZE - 1);
  await writeFile(`${name}.new`, 'another');
  await rename(`${name}.new`, name);
  t.true(content.equals(await buffer(body)));
});

for (const [what, change] of [
  ['written', (name: string) => appendFile(name, 'more')],
  ['cut off', (name: string) => truncate(name, 100)],
] as const) {
  test(`a file that is ${what} while it is sent ends in a failure, not in a mix`, async (t) => {
    const { open, name, file } = await openBody(t);
    const body = open(0, SIZE - 1);
    const pieces = body[Symbol.asyncIterator]();
    await pieces.next();
    await change(name);
    await t.throwsAsync(
      async () => {
        while (!(await pieces.next()).done);
      },
      { message: /was changed while it was sent/ },
    );
    await until(() => file.handle.fd === -1);
  });
}

test('who takes nothing for a while is given up', async (t) => {
  const { open, file } = await openBody(t, 50);
  const body = open(0, SIZE - 1);
  let failure: Error | undefined;
  body.on('error', (error) => {
    failure = error;
  });
  body.read(0);
  await until(() => failure !== undefined);
  t.regex(failure!.message, /file was not read for 50 ms/);
  await until(() => file.handle.fd === -1);
});
