import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createLogDestination } from '../../../foundation/observability/log-destination.ts';
import { until } from '../../support/until.ts';

async function temporaryFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'log-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function open(t: ExecutionContext, target: string): number {
  const descriptor = openSync(target, 'a');
  t.teardown(() => closeSync(descriptor));
  return descriptor;
}

test('every line is in the file after flush', async (t) => {
  const target = path.join(await temporaryFolder(t), 'log');
  const log = createLogDestination({
    descriptor: open(t, target),
    clock: systemClock,
    onRecovered: () => t.fail(),
  });
  for (let line = 0; line < 5000; line += 1) log.write(`line ${line}\n`);
  await log.flush();
  const lines = (await readFile(target, 'utf8')).trimEnd().split('\n');
  t.is(lines.length, 5000);
  t.is(lines.at(-1), 'line 4999');
  t.is(log.droppedLines(), 0);
});

test('a few lines are written without a flush within the period', async (t) => {
  const target = path.join(await temporaryFolder(t), 'log');
  const log = createLogDestination({
    descriptor: open(t, target),
    clock: systemClock,
    onRecovered: () => t.fail(),
  });
  log.write('one\n');
  const deadline = performance.now() + 3000;
  let text = '';
  while (text === '' && performance.now() < deadline) {
    await new Promise(setImmediate);
    text = await readFile(target, 'utf8').catch(() => '');
  }
  t.is(text, 'one\n');
});

test('a reader that stands still costs lines, which are counted and reported, but neither memory nor time', async (t) => {
  const fifo = path.join(await temporaryFolder(t), 'fifo');
  execFileSync('mkfifo', [fifo]);
  // Holds the pipe open without reading, until told to read to the end.
  const reader = spawn('sh', ['-c', 'exec 3<"$0"; echo open; read go; exec cat <&3 >/dev/null', fifo], {
    stdio: 'pipe',
  });
  t.teardown(() => reader.kill());
  let recovered = 0;
  const log = createLogDestination({
    descriptor: open(t, fifo),
    clock: systemClock,
    maxBufferedBytes: 64 * 1024,
    onRecovered: (lost) => {
      recovered += lost;
    },
  });
  await once(reader.stdout, 'data');
  const line = `${'x'.repeat(1023)}\n`;
  for (let count = 0; count < 1000; count += 1) {
    log.write(line);
    if (count % 50 === 0) await new Promise(setImmediate);
  }
  const dropped = log.droppedLines();
  t.true(dropped > 700 && dropped < 1000, `${dropped} of 1000 dropped`);

  const started = performance.now();
  await log.flush();
  t.true(performance.now() - started < 15_000, 'flush gives up on a reader that stands still');

  const stopped = performance.now();
  log.flushSync();
  t.true(performance.now() - stopped < 10_000, 'the end of the process does not wait for it either');

  reader.stdin.write('go\n');
  const deadline = performance.now() + 5000;
  while (recovered < dropped && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 5));
  t.is(recovered, dropped);
});

test('a reader that has gone costs its lines and nothing else', async (t) => {
  const fifo = path.join(await temporaryFolder(t), 'fifo');
  execFileSync('mkfifo', [fifo]);
  const reader = spawn('sh', ['-c', 'exec 3<"$0"; echo open; read go', fifo], { stdio: 'pipe' });
  const log = createLogDestination({
    descriptor: open(t, fifo),
    clock: systemClock,
    onRecovered: () => t.fail(),
  });
  await once(reader.stdout, 'data');
  reader.kill();
  await once(reader, 'close');
  const deadline = performance.now() + 5000;
  while (log.droppedLines() === 0 && performance.now() < deadline) {
    log.write(`${'x'.repeat(9000)}\n`);
    await new Promise(setImmediate);
  }
  t.true(log.droppedLines() > 0);
  await t.notThrowsAsync(log.flush());
  t.notThrows(() => log.flushSync());
});

test('a full disk costs lines but does not stop the end of the process', async (t) => {
  if (!existsSync('/dev/full')) {
    t.log('skipped: this system has no /dev/full');
    t.pass();
    return;
  }
  const log = createLogDestination({
    descriptor: open(t, '/dev/full'),
    clock: systemClock,
    maxBufferedBytes: 4000,
    onRecovered: () => t.fail(),
  });
  for (let count = 0; count < 100; count += 1) log.write(`${'x'.repeat(99)}\n`);
  t.is(log.droppedLines(), 60);
  await log.flush();
  // A try to write them may be under way at that moment; what it holds is left to it.
  await until(() => {
    log.flushSync();
    return log.droppedLines() === 100;
  });
});

const logger = new URL('../../../foundation/observability/logger.ts', import.meta.url).href;
const CRASHES: Readonly<Record<string, string>> = {
  'flushes when it crashes': `
    process.on('uncaughtException', (err) => { logger.fatal({ err }, 'last'); flushSync(); process.kill(process.pid, 'SIGKILL'); });
    throw new Error('boom');`,
  'exits without a word': "logger.info('last'); process.exit(1);",
};

for (const [what, source] of Object.entries(CRASHES)) {
  test(`a process that ${what} has its last lines in the log`, async (t) => {
    const start = `
      import { createLogger } from ${JSON.stringify(logger)};
      const { logger, flushSync } = createLogger({ level: 'info' });
      logger.info('first');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', start + source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    await once(child, 'close');
    const messages = output
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
    t.deepEqual(messages, ['first', 'last']);
  });
}

test.serial('a log waits for the end of the process only while lines wait in it', async (t) => {
  const descriptor = open(t, path.join(await temporaryFolder(t), 'log'));
  const before = process.listenerCount('exit');
  const logs = Array.from({ length: 20 }, () =>
    createLogDestination({ descriptor, clock: systemClock, onRecovered: () => t.fail() }),
  );
  t.is(process.listenerCount('exit'), before, 'logs without a line');
  logs[0]!.write('one\n');
  logs[0]!.write('two\n');
  t.is(process.listenerCount('exit'), before + 1);
  await logs[0]!.flush();
  t.is(process.listenerCount('exit'), before);
  logs[0]!.write('three\n');
  t.is(process.listenerCount('exit'), before + 1);
  await until(() => process.listenerCount('exit') === before);
});
