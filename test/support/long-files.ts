import { globSync } from 'node:fs';
import { affordable } from './sample.ts';

/*
 * The files of the long tests, for the command line of `npm run test:sample`: all that are cheap, and of the dear ones
 * as many as the seed chooses until their costs reach the budget. `npm run test:long` runs all.
 */

/** Files and what they cost as samples, in seconds of CPU on a slow machine: one of 25 and more belongs here. */
const COSTS: Readonly<Record<string, number>> = {
  'test/scripts/package/installed.long.test.ts': 190,
  'test/examples/packages.long.test.ts': 135,
  'test/faults/workflow-crash.long.test.ts': 80,
  'test/examples/plugin-guide.long.test.ts': 75,
  'test/examples/guide.long.test.ts': 65,
  'test/testing/conformance/bundled.long.test.ts': 50,
  'test/e2e/what-requests-leave.long.test.ts': 35,
  'test/plugins/platform/routes/export-size.long.test.ts': 30,
  'test/e2e/list-plans.long.test.ts': 30,
  'test/faults/crash.long.test.ts': 25,
  'test/plugins/hub/crash.long.test.ts': 25,
  'test/faults/workflow-outages.long.test.ts': 25,
};
/** Seconds of CPU: all the cheap files together cost two to three times as much. */
const BUDGET = 120;

const found = globSync('test/**/*.long.test.ts').sort();
const missing = Object.keys(COSTS).filter((file) => !found.includes(file));
if (missing.length > 0) throw new Error(`there is no ${missing.join(', ')}`);
const taken = affordable('long files', COSTS, BUDGET);
process.stdout.write(`${found.filter((file) => !(file in COSTS) || taken.has(file)).join(' ')}\n`);
