import { globSync } from 'node:fs';
import { chosen } from './sample.ts';

/*
 * The files of the long tests, for the command line of `npm run test:sample`. What authors of plugins go through, with
 * packages as they are published, takes a minute each: two of these, which the seed chooses, and all in
 * `npm run test:long`.
 */

const BY_AUTHORS = [
  'test/examples/guide.long.test.ts',
  'test/examples/packages.long.test.ts',
  'test/examples/plugin-guide.long.test.ts',
  'test/scripts/package/installed.long.test.ts',
];

const found = globSync('test/**/*.long.test.ts').sort();
const missing = BY_AUTHORS.filter((file) => !found.includes(file));
if (missing.length > 0) throw new Error(`there is no ${missing.join(', ')}`);
const left = new Set(BY_AUTHORS).difference(new Set(chosen('what authors do', BY_AUTHORS, 2)));
process.stdout.write(`${found.filter((file) => !left.has(file)).join(' ')}\n`);
