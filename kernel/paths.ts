import { fileURLToPath } from 'node:url';

/** The folder of the plugins that come with the gateway. */
export const BUNDLED_PLUGINS = fileURLToPath(new URL('../plugins', import.meta.url));
