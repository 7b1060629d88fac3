import { TransientSet } from '../../base/transient.ts';

/** Milliseconds that are waited for one that is lent: as long as for one of the pool. */
const WAIT_MS = 5_000;

/** What servers say that give no further connection: to anybody, or to this user. */
const FULL = /^(53300|ER_CON_COUNT_ERROR|ER_USER_LIMIT_REACHED|ER_TOO_MANY_USER_CONNECTIONS)$/;

/**
 * Lends connections of a pool. Where the server gives no further one, those who ask wait for one that is lent: the pool
 * by itself fails them, although the connections that it has work.
 */
export class Lending {
  #lent = 0;
  /** Who waits for one to come back, in order of arrival. */
  readonly #line = new TransientSet<() => void>();

  /** The connection that `acquire` gets, which `cameBack` has to be told of. */
  async lend<Connection>(acquire: () => Promise<Connection>): Promise<Connection> {
    const deadline = performance.now() + WAIT_MS;
    while (true) {
      try {
        const connection = await acquire();
        this.#lent += 1;
        return connection;
      } catch (error) {
        if (isFull(error) && this.#lent > 0 && (await this.#oneComesBack(deadline - performance.now())))
          continue;
        // Whoever is next was woken for nothing, or will be by nobody else.
        this.#wakeNext();
        throw error;
      }
    }
  }

  cameBack(): void {
    this.#lent -= 1;
    this.#wakeNext();
  }

  #wakeNext(): void {
    const [next] = this.#line;
    next?.();
  }

  /** False where none does within so many milliseconds. */
  #oneComesBack(milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isBack: boolean) => {
        clearTimeout(timer);
        this.#line.delete(wake);
        resolve(isBack);
      };
      const wake = () => end(true);
      const timer = setTimeout(end, Math.max(0, milliseconds), false);
      this.#line.add(wake);
    });
  }
}

function isFull(error: unknown): boolean {
  return FULL.test(String((error as { readonly code?: unknown }).code));
}
