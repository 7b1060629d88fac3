import { AsyncLocalStorage } from 'node:async_hooks';

/** A transaction from its begin to its commit. */
interface CommitScope {
  readonly hooks: (() => void)[];
  isOver: boolean;
}

const scopes = new AsyncLocalStorage<CommitScope>();

/**
 * Runs `hook` when the transaction that is open here has committed, and never when it is rolled back; at once where
 * none is open. A hook of a savepoint that was rolled back runs too, so a hook only reports that there may be something
 * to see. It must not throw.
 */
export function afterCommit(hook: () => void): void {
  const scope = scopes.getStore();
  if (scope === undefined || scope.isOver) hook();
  else scope.hooks.push(hook);
}

/** Runs a whole transaction, then its hooks. */
export async function withCommitHooks<T>(transaction: () => Promise<T>): Promise<T> {
  const scope: CommitScope = { hooks: [], isOver: false };
  try {
    const result = await scopes.run(scope, transaction);
    for (const hook of scope.hooks) hook();
    return result;
  } finally {
    scope.isOver = true;
  }
}
