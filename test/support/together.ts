import { globSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ExecutionContext } from 'ava';
import { Semaphore } from '../../foundation/base/semaphore.ts';
import { beginFile, type Declaration, type Hook, real } from './ava-together.ts';
import { rememberEntities } from './known-entities.ts';

/**
 * Tests under way at one time in a process: enough that what waits keeps nobody, few enough that no wait is starved.
 */
const AT_ONCE = 6;
/**
 * What has a process of its own, by its name: it changes the process, counts its modules, or is part of the long tests.
 */
const APART = /\.(?:alone|long)\.test\.ts$/;

const ROOT = path.resolve(import.meta.dirname, '../..');

/**
 * The test files of these folders, without those apart and those of folders with a `!`. Paths from the root, sorted.
 */
export function filesOf(folders: readonly string[]): readonly string[] {
  const excluded = folders.filter((folder) => folder.startsWith('!')).map((folder) => `${folder.slice(1)}/`);
  return folders
    .filter((folder) => !folder.startsWith('!'))
    .flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd: ROOT }))
    .filter((file) => !APART.test(file) && !excluded.some((folder) => file.startsWith(folder)))
    .sort();
}

/**
 * Runs all test files of these folders in this process: a process for each costs more than most of their tests. Each
 * file is written as if it were alone, and can be run alone with `npx ava <file>`. Its titles begin with its path here;
 * its hooks and serial tests concern that file only.
 */
export async function together(...folders: readonly string[]): Promise<void> {
  // What makes entities known is tested as it is.
  if (!folders.includes('test/foundation/data')) rememberEntities();
  const own = pathToFileURL(path.join(import.meta.dirname, 'ava-together.ts')).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'ava' && context.parentURL !== own
        ? { url: own, shortCircuit: true }
        : next(specifier, context),
  });
  // Each file may watch for the end of the process.
  process.setMaxListeners(0);
  const places = new Semaphore(AT_ONCE);
  const files: { readonly title: string; readonly declared: readonly Declaration[] }[] = [];
  for (const file of filesOf(folders)) {
    const declared = beginFile();
    await import(pathToFileURL(path.join(ROOT, file)).href);
    files.push({ title: titleOf(file), declared });
  }
  // AVA takes tests only while it has not begun, so all are handed over in one go.
  for (const { title, declared } of files) register(title, declared, places);
}

/** `test/kernel/auth/jwt.test.ts` → `kernel › auth › jwt`, as AVA writes it. */
function titleOf(file: string): string {
  return file
    .replace(/^test\//, '')
    .replace(/\.test\.ts$/, '')
    .replaceAll('/', ' › ');
}

type Body = (t: ExecutionContext, ...args: unknown[]) => unknown;

function register(file: string, declared: readonly Declaration[], places: Semaphore): void {
  const hooks = (kind: Hook) =>
    declared.filter((one) => one.hook === kind).map(({ args }) => args[0] as Body);
  const tests = declared.filter(({ hook }) => hook === undefined);
  const run = async (t: ExecutionContext, kind: Hook) => {
    for (const hook of hooks(kind)) await hook(t);
  };
  let left = tests.filter(({ flags }) => !flags.includes('skip') && !flags.includes('todo')).length;
  let begun: Promise<unknown> | undefined;
  let context: unknown;
  /** Ends with the serial tests before; what is not serial waits for all of them. */
  let serial: Promise<unknown> = Promise.resolve();

  const begin = async (t: ExecutionContext) => {
    await run(t, 'before');
    context = t.context;
  };
  const around =
    (body: Body): Body =>
    async (t, ...args) => {
      const release = await places.acquire();
      try {
        begun ??= begin(t);
        await begun;
        t.context = ownContext(context);
        await run(t, 'beforeEach');
        try {
          await body(t, ...args);
        } finally {
          await run(t, 'afterEach');
        }
      } finally {
        left -= 1;
        if (left === 0) await run(t, 'after');
        release();
      }
    };

  for (const { flags, args } of tests) {
    const [title, body, rest] = parsed(args);
    const wrapped = around(body);
    const isSerial = flags.includes('serial');
    const turn: Body = isSerial
      ? (t, ...more) => {
          const mine = serial.then(() => wrapped(t, ...more));
          serial = mine.catch(() => {});
          return mine;
        }
      : (t, ...more) => afterSerial().then(() => wrapped(t, ...more));
    const kept = flags.filter((flag) => flag !== 'serial');
    declare(kept, `${file} › ${title}`, flags.includes('todo') ? undefined : turn, rest);
  }
  // AVA begins tests in the order in which they were declared, so that all serial ones of a file stand in line a tick
  // later.
  async function afterSerial(): Promise<void> {
    await Promise.resolve();
    await serial;
  }
}

/** Each test gets a context of its own, made of that of `before`. */
function ownContext(context: unknown): unknown {
  return typeof context === 'object' && context !== null ? { ...context } : context;
}

/** The title, what runs, and its arguments, of what `test` was called with; a macro makes its own title. */
function parsed(args: readonly unknown[]): readonly [string, Body, readonly unknown[]] {
  const [raw, rest] = typeof args[0] === 'string' ? [args[0], args.slice(1)] : [undefined, args];
  const [implementation, ...more] = rest as [
    Body | { exec: Body; title?: (raw?: string, ...args: unknown[]) => string } | undefined,
    ...unknown[],
  ];
  const title = (implementation as { title?: (raw?: string, ...args: unknown[]) => string } | undefined)
    ?.title;
  const body = typeof implementation === 'object' ? implementation.exec : implementation;
  return [title?.(raw, ...more) ?? raw ?? '', body as Body, more];
}

function declare(
  flags: readonly string[],
  title: string,
  body: Body | undefined,
  args: readonly unknown[],
): void {
  let target = real as unknown as Record<string, unknown>;
  for (const flag of flags) target = target[flag] as Record<string, unknown>;
  const call = target as unknown as (...args: unknown[]) => void;
  if (body === undefined) call(title);
  else call(title, body, ...args);
}
