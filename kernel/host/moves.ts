import { isDeepStrictEqual } from 'node:util';
import { type Desired, entryOf } from '../../foundation/config/desired.ts';

/** Plugins that come, go or are exchanged together. */
interface Move {
  readonly names: ReadonlySet<string>;
  /** Those that the arriving need or want: they have to stay as they are meanwhile. */
  readonly upstream: ReadonlySet<string>;
  /** What it is made for. */
  readonly desired: Desired;
}

/** Moves that are under way. Those that touch the same plugins wait for each other, and no others do. */
export class Moves {
  readonly #underWay = new Map<Move, Promise<void>>();

  /** Whether a plugin is coming, going or being exchanged. */
  has(name: string): boolean {
    return [...this.#underWay.keys()].some(({ names }) => names.has(name));
  }

  /** Whether a plugin is being brought to what `desired` says of it. */
  leadTo(desired: Desired, name: string): boolean {
    return [...this.#underWay.keys()].some(
      (move) =>
        move.names.has(name) && isDeepStrictEqual(entryOf(move.desired, name), entryOf(desired, name)),
    );
  }

  /** The end, good or bad, of a move that stands in the way of another; `undefined` where none does. */
  inTheWayOf({ names, upstream }: Pick<Move, 'names' | 'upstream'>): Promise<void> | undefined {
    for (const [other, end] of this.#underWay) {
      const isIn =
        !names.isDisjointFrom(other.names) ||
        !upstream.isDisjointFrom(other.names) ||
        !names.isDisjointFrom(other.upstream);
      if (isIn) return end;
    }
    return undefined;
  }

  /** Makes a move, which begins at once. */
  async make<T>(move: Move, work: () => Promise<T>): Promise<T> {
    const end = Promise.withResolvers<void>();
    this.#underWay.set(move, end.promise);
    try {
      return await work();
    } finally {
      this.#underWay.delete(move);
      end.resolve();
    }
  }

  /** The ends of all of them. */
  ends(): readonly Promise<void>[] {
    return [...this.#underWay.values()];
  }
}
