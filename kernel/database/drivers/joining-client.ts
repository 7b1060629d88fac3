/** Prefix of a statement that is to travel with the next one. A comment for the server. */
export const JOIN_NEXT = '/* join next */ ';

interface PgResult {
  readonly command: string | null;
  readonly rowCount: number | null;
  readonly rows: readonly unknown[];
}

interface PgClient {
  // biome-ignore lint/suspicious/noExplicitAny: pg's query takes texts, configurations and cursors, with or without callback
  query(...args: any[]): any;
}

/** The class that pg's pool makes its clients of. */
// biome-ignore lint/suspicious/noExplicitAny: the constructor's argument belongs to pg
export type PgClientClass = new (...args: any[]) => PgClient;

const NOTHING: PgResult = { command: null, rowCount: null, rows: [] };

/**
 * A pg client that holds back `begin` and every statement marked with `JOIN_NEXT` and sends them in one message with the
 * next statement: a transaction costs no round trip to open. A transaction in which nothing was asked is never sent at all.
 * An error in the joined message leaves the transaction failed, as usual; the caller rolls it back.
 */
export function joiningClient(Client: PgClientClass): PgClientClass {
  return class JoiningClient extends Client {
    #held = '';

    override query(query: unknown, ...rest: unknown[]): unknown {
      const [values] = rest;
      if (typeof query !== 'string' || (Array.isArray(values) && values.length > 0)) {
        return this.#afterHeld(() => super.query(query, ...rest));
      }
      if (isBegin(query) || query.startsWith(JOIN_NEXT)) {
        this.#held += `${query}; `;
        return Promise.resolve(NOTHING);
      }
      if (this.#held === '') return super.query(query).then(last);
      const held = this.#takeHeld();
      if (query === 'commit' || query === 'rollback') return Promise.resolve(NOTHING);
      return super.query(held + query).then(last);
    }

    /** A statement with parameters, or a cursor, is a message of its own kind: what was held goes before it. */
    #afterHeld(send: () => unknown): unknown {
      if (this.#held === '') return send();
      const opened: Promise<unknown> = super.query(this.#takeHeld());
      return opened.then(send);
    }

    #takeHeld(): string {
      const held = this.#held;
      this.#held = '';
      return held;
    }
  };
}

const isBegin = (query: string) => query === 'begin' || query.startsWith('start transaction');

/** pg gives one result for each statement of a message; the caller asked the last one. */
const last = (result: PgResult | readonly PgResult[]) => (Array.isArray(result) ? result.at(-1) : result);
