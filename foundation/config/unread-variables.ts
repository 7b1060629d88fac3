import { didYouMean, nearestName } from '../base/nearest-name.ts';
import type { Environment } from './read-config.ts';

/** Names that a person gives to a variable; others are those of tools. */
const WRITTEN = /^[A-Z][A-Z0-9_]*$/;
/** Kubernetes tells each container of each service in such variables, whatever the service is called. */
const OF_KUBERNETES = /_(?:SERVICE_HOST|SERVICE_PORT|PORT)(?:_|$)/;

/**
 * What looks like a setting and is read by nothing, one line each: every other name that begins with `SVC_`, and names
 * that are close to one that is read, such as `LLM_APIURL`. A name that goes on where another ends may be that of a
 * secret (`LLM_API_KEY_2`). Pure.
 *
 * @param known the variables of the gateway and of all plugins
 */
export function unreadVariables(env: Environment, known: readonly string[]): readonly string[] {
  return Object.keys(env)
    .filter((name) => WRITTEN.test(name) && !OF_KUBERNETES.test(name) && !known.includes(name))
    .filter((name) => !known.some((one) => name.startsWith(one)))
    .filter((name) => name.startsWith('SVC_') || nearestName(name, known) !== undefined)
    .map((name) => `${name} is read by nothing${didYouMean(name, known)}`);
}
