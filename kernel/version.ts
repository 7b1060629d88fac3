import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The version of this build, as `package.json` states it. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version;

/** The version of the contract with plugins, as in `kernel: '^1.0.0'`. `npm run contract` says what it has to be. */
export const KERNEL_VERSION = '1.1.0';

/** The folder of the plugins that come with the gateway. */
export const BUNDLED_PLUGINS = fileURLToPath(new URL('../plugins', import.meta.url));
