import { lookup, Resolver } from 'node:dns/promises';
import { DeadlineError, within } from '../base/deadline.ts';
import type { EgressBounds } from './egress.ts';
import { EgressErrors } from './errors.ts';

/**
 * Gives all addresses of a name. `dns`: from the DNS servers alone. `local`: as the machine itself would look it up,
 * with hosts file, search domains and whatever else is configured. Rejects, or gives an empty list, for an unknown
 * name.
 */
export type Resolve = (name: string, where: 'dns' | 'local') => Promise<readonly string[]>;

/** Milliseconds that a DNS server gets for its first answer, and how often it is asked. */
const DNS_ATTEMPT = { timeout: 1500, tries: 2 };
/** No DNS server answered. */
const AWAY = new Set(['ECONNREFUSED', 'ETIMEOUT']);

/**
 * The machine's resolvers. Names that a tenant chose go to the DNS servers directly: `getaddrinfo` occupies one of the
 * process's few threads for as long as a (hostile) server likes, and database and model connections need them too.
 */
export function createResolve(askServers = () => new Resolver(DNS_ATTEMPT)): Resolve {
  let servers = askServers();
  return async (name, where) => {
    if (where === 'local') return (await lookup(name, { all: true })).map(({ address }) => address);
    const answers = await Promise.allSettled([servers.resolve4(name), servers.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const [first] = answers;
    // A name usually has no addresses of one family; it is unknown when it has none of both.
    if (addresses.length === 0 && first.status === 'rejected') {
      // The machine may have other DNS servers by now: a resolver reads its configuration once.
      if (AWAY.has(first.reason.code)) servers = askServers();
      throw first.reason;
    }
    return addresses;
  };
}

/**
 * Bounds a resolver: an answer takes `dnsTimeout` milliseconds at most, and no more than `maxLookups` are waited for. A
 * look-up whose deadline passed keeps its place until it has really ended.
 *
 * @returns addresses, at least one; throws errors of `EgressErrors`
 */
export function boundResolve(
  resolve: Resolve,
  { dnsTimeout, maxLookups }: Pick<EgressBounds, 'dnsTimeout' | 'maxLookups'>,
): Resolve {
  let running = 0;

  async function run(name: string, where: 'dns' | 'local'): Promise<readonly string[]> {
    running += 1;
    try {
      return await resolve(name, where);
    } catch (cause) {
      throw EgressErrors.unreachable(`The name ${name} cannot be resolved.`, { cause });
    } finally {
      running -= 1;
    }
  }

  return async (name, where) => {
    if (running >= maxLookups) throw EgressErrors.busy('Too many names are being resolved.');
    const addresses = await within(dnsTimeout, 'a DNS look-up', run(name, where)).catch((error: Error) => {
      if (!(error instanceof DeadlineError)) throw error;
      throw EgressErrors.timeout(`The name ${name} was not resolved within ${dnsTimeout / 1000} s.`);
    });
    if (addresses.length === 0) throw EgressErrors.unreachable(`The name ${name} has no address.`);
    return addresses;
  };
}
