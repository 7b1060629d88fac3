import { existsSync, readFileSync } from 'node:fs';

/*
 * The test files in which a test failed, of a TAP report, one a line: `node test/support/failed-files.ts <report>`.
 * Exits with 1 when a failure belongs to no file: a process that ended though none of its tests failed, or an error
 * that nobody caught in one. A test that fails leaves promises behind, whose errors nobody catches: where each process
 * that ended badly has a failed test, they are what follows from it.
 */

const SEPARATOR = ' › ';
const ENDED = /^(\S+) exited with a non-zero exit code/;

/** `groups › kernel › kernel › limits › windows › a title` → `test/kernel/limits/windows.test.ts`. */
function fileOf(title: string): string | undefined {
  const words = title.replace(/^groups › [^›]+ › /, '').split(SEPARATOR);
  for (let count = words.length - 1; count > 0; count -= 1) {
    const file = `test/${words.slice(0, count).join('/')}.test.ts`;
    if (existsSync(file)) return file;
  }
  return undefined;
}

/** The file with which a test's process begins: its group's, or its own. */
function processOf(title: string, file: string): string {
  const group = /^groups › ([^›]+) › /.exec(title)?.[1];
  return group === undefined ? file : `test/groups/${group}.ts`;
}

const report = readFileSync(process.argv[2] ?? '', 'utf8');
const titles = [...report.matchAll(/^not ok \d+ - (.+)$/gm)].map(([, title = '']) => title);
const files = new Set<string>();
const failed = new Set<string>();
const ended = new Set<string>();
let uncaught = 0;
for (const title of titles) {
  const file = fileOf(title);
  const end = ENDED.exec(title)?.[1];
  if (file !== undefined) {
    files.add(file);
    failed.add(processOf(title, file));
  } else if (end !== undefined) ended.add(end);
  else uncaught += 1;
}
if (!ended.isSubsetOf(failed) || (uncaught > 0 && ended.size === 0)) process.exitCode = 1;
process.stdout.write([...files].map((file) => `${file}\n`).join(''));
