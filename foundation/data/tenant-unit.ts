import type { SqlEntityManager } from '@mikro-orm/sql';
import type { ControlledTransaction } from 'kysely';
import { DatabaseDefect } from './errors.ts';
import { withRetries } from './retry.ts';
import type { Place } from './rows/statement-runner.ts';
import type { TenantSource, TransactionOptions } from './tenant-entity-manager.ts';

/** Where an entity manager of a tenant works: its transaction or savepoint, and MikroORM's unit of work in there. */
export class TenantUnit {
  readonly #tenantId: string;
  readonly #source: TenantSource;
  readonly #transaction: ControlledTransaction<unknown> | undefined;
  #em: SqlEntityManager | undefined;

  /** `em` is the unit of work of a savepoint, which knows its transaction by itself. */
  constructor(
    tenantId: string,
    source: TenantSource,
    transaction: ControlledTransaction<unknown> | undefined,
    em: SqlEntityManager | undefined,
  ) {
    this.#tenantId = tenantId;
    this.#source = source;
    this.#transaction = transaction;
    this.#em = em;
  }

  /** MikroORM's unit of work. It costs as much as a statement, and what only writes and reads plain rows never needs it. */
  get em(): SqlEntityManager {
    this.#em ??= this.#source.fork(this.#tenantId, this.#transaction);
    return this.#em;
  }

  /** Where plain statements run. */
  get place(): Place {
    return this.#source.place(this.#tenantId, this.#openTransaction);
  }

  get isInTransaction(): boolean {
    return this.#openTransaction !== undefined;
  }

  /** Runs plain statements in a transaction of their own. */
  begin(work: (place: Place) => Promise<void>): Promise<void> {
    return this.#source.begin(this.#tenantId, undefined, (transaction) =>
      work(this.#source.place(this.#tenantId, transaction)),
    );
  }

  /** Runs `work` in a new transaction, which is rolled back when it throws. */
  transaction<T>(
    { retries = 0, isolation }: TransactionOptions,
    work: (transaction: ControlledTransaction<unknown>) => Promise<T>,
  ): Promise<T> {
    return withRetries(retries, () => this.#source.begin(this.#tenantId, isolation, work));
  }

  /** Runs `work` in a savepoint of the open transaction. */
  async savepoint<T>(
    { retries = 0, isolation }: TransactionOptions,
    work: (em: SqlEntityManager) => Promise<T>,
  ): Promise<T> {
    if (retries > 0) {
      throw new DatabaseDefect(
        'second-connection',
        'A savepoint cannot be retried: the whole transaction has lost the race',
      );
    }
    return this.em.transactional(work, { clear: true, isolationLevel: isolation });
  }

  /** The transaction or savepoint that is open here. */
  get #openTransaction(): ControlledTransaction<unknown> | undefined {
    return this.#transaction ?? this.#em?.getTransactionContext();
  }
}
