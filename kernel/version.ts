import { readFileSync } from 'node:fs';

/** The version of this build, as `package.json` states it. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version;
