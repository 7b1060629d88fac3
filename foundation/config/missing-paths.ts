import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Logger } from '../observability/logger.ts';
import type { Environment } from './read-config.ts';

/** What the gateway does without it, by variable. It takes both up when they appear. */
const WITHOUT = {
  SVC_CONFIG: 'all plugins have their defaults',
  SVC_AGENTS_DIR: 'there are no resources',
} as const;

/** Variables of files and folders that may be missing. */
export type PathVariable = keyof typeof WITHOUT;

/**
 * Whether a variable is set and names a path at which nothing is. Unset, nothing is said of the default: a new
 * deployment has neither. Nor of the `gateway.yaml` of the data folder, which the administration makes: the image names
 * it.
 */
export function isMissing(variable: PathVariable, env: Environment): boolean {
  const named = env[variable];
  if (!named || existsSync(named)) return false;
  const made = path.resolve(env.SVC_DATA_DIR || 'data', 'gateway.yaml');
  return variable !== 'SVC_CONFIG' || path.resolve(named) !== made;
}

/** Warns of each variable that names what is not there: the start goes on as if nobody had set it. */
export function warnOfMissing(env: Environment, log: Pick<Logger, 'warn'>): void {
  for (const [variable, without] of Object.entries(WITHOUT)) {
    if (isMissing(variable as PathVariable, env))
      log.warn(`${variable} names ${env[variable]}, which is not there: ${without} until it is`);
  }
}
