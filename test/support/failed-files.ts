import { existsSync, readFileSync } from 'node:fs';

/*
 * The test files in which a test failed, of a TAP report, one a line: `node test/support/failed-files.ts <report>`.
 * Exits with 1 when a failure belongs to no file, such as a process that ended.
 */

const SEPARATOR = ' › ';

/** `groups › kernel › kernel › limits › windows › a title` → `test/kernel/limits/windows.test.ts`. */
function fileOf(title: string): string | undefined {
  const words = title.replace(/^groups › [^›]+ › /, '').split(SEPARATOR);
  for (let count = words.length - 1; count > 0; count -= 1) {
    const file = `test/${words.slice(0, count).join('/')}.test.ts`;
    if (existsSync(file)) return file;
  }
  return undefined;
}

const report = readFileSync(process.argv[2] ?? '', 'utf8');
const titles = [...report.matchAll(/^not ok \d+ - (.+)$/gm)].map(([, title = '']) => title);
const files = new Set<string>();
for (const title of titles) {
  const file = fileOf(title);
  // A process whose tests have failed reports that as well.
  if (file === undefined && !/ exited with a non-zero exit code/.test(title)) process.exitCode = 1;
  if (file !== undefined) files.add(file);
}
process.stdout.write([...files].map((file) => `${file}\n`).join(''));
