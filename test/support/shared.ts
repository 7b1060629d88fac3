import test, { type ExecutionContext } from 'ava';

/** What a kit needs of a test, or of a file, to end what it starts. */
export type Lifetime = Pick<ExecutionContext, 'teardown'>;

/**
 * What tests of one file share, a gateway for instance: started for the first that asks for it, ended after the last
 * test of the file. For tests that make tenants, users and keys of their own, and look at nothing else: no totals, no
 * log, no clock that moves.
 *
 * @example
 * const site = shared((file) => startSite(file, FILES));
 * test('…', async (t) => { const { get } = await site(); });
 */
export function shared<T>(start: (file: Lifetime) => Promise<T>): () => Promise<T> {
  const ends: (() => unknown)[] = [];
  let started: Promise<T> | undefined;
  test.after.always(async () => {
    for (const end of ends.toReversed()) await end();
  });
  return () => {
    started ??= start({ teardown: (end) => void ends.push(end) });
    return started;
  };
}
