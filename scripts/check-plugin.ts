import { checkPlugin } from './check-plugin/check-plugin.ts';

/*
 * `npm run check-plugin -- <folder>`: runs the conformance suite on a plugin and prints what it finds. Exits with 1 when
 * something is wrong.
 */

const [folder, ...more] = process.argv.slice(2);
if (folder === undefined || more.length > 0) {
  process.stderr.write('say the folder of one plugin: npm run check-plugin -- <folder>\n');
  process.exit(1);
}
let problems = 0;
for await (const { title, problem } of checkPlugin(folder)) {
  process.stdout.write(`${problem === undefined ? '✔' : '✘'} ${title}\n`);
  if (problem === undefined) continue;
  problems += 1;
  process.stdout.write(`${problem.replaceAll(/^/gm, '    ')}\n`);
}
process.exit(problems === 0 ? 0 : 1);
