import { parseArgs } from 'node:util';
import { checkPlugin } from './check-plugin/check-plugin.ts';

/*
 * `npm run check-plugin -- <folder> [--database <sqlite or URL>]…`: runs the conformance suite on a plugin, on each of
 * the databases, and prints its findings, a line each. Exits with 1 when something is wrong.
 */

const USAGE = `Usage: npm run check-plugin -- <folder of one plugin> [--database <database>]…

  --database  sqlite (the default), or the URL of a server whose role may create databases,
              postgres://… or mysql://…; may be repeated
`;

const { folder, databases } = read();
let problems = 0;
try {
  for await (const { title, findings, isSkipped } of checkPlugin(folder, databases)) {
    process.stdout.write(`${isSkipped ? '–' : findings.length === 0 ? '✔' : '✘'} ${title}\n`);
    for (const finding of findings) process.stdout.write(`    ${finding}\n`);
    problems += findings.length;
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
process.exit(problems === 0 ? 0 : 1);

function read() {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: { database: { type: 'string', multiple: true } },
    });
    const [folder, ...more] = positionals;
    if (folder === undefined || more.length > 0) throw new Error('say the folder of one plugin');
    return { folder, databases: values.database };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    return process.exit(1);
  }
}
