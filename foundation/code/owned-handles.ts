import { AsyncLocalStorage } from 'node:async_hooks';
import { Server } from 'node:net';
import { placeOf } from './error-place.ts';

/** What keeps on after the code that began it is gone: intervals, and servers that listen. */
export type OwnedHandles = ReturnType<typeof ownHandles>;

interface Handle {
  readonly what: string;
  readonly place: string | undefined;
  /** False where it has ended by itself, or was ended. */
  isOpen(): boolean;
  end(): void;
}

const owners = new AsyncLocalStorage<(handle: Omit<Handle, 'place'>) => void>();
let isWatching = false;

/** Handles at which those that have ended are let go: a plugin with connections begins and ends some for each. */
const MANY = 500;

/**
 * Notes the handles that code in `folder` begins. Timers and servers are watched from the first use on; others than
 * those of `run` are never looked at.
 */
export function ownHandles(folder: string) {
  watch();
  let handles: Handle[] = [];
  const note = (handle: Omit<Handle, 'place'>) => {
    if (handles.length % MANY === 0) handles = handles.filter((one) => one.isOpen());
    const place = placeOf(new Error(handle.what), folder);
    handles.push({ ...handle, place });
  };
  return {
    /** Runs `work`: what it begins, or what follows from it, is noted. */
    run: <T>(work: () => T): T => owners.run(note, work),
    /** Ends what was not ended, and says what it was, as sentences. */
    end(): readonly string[] {
      const left = handles.splice(0).filter((handle) => handle.isOpen());
      for (const handle of left) handle.end();
      return left.map(({ what, place }) => `${what} was left${place === undefined ? '' : ` (${place})`}`);
    },
  };
}

function watch(): void {
  if (isWatching) return;
  isWatching = true;
  const { setInterval: begin } = globalThis;
  globalThis.setInterval = ((...args: Parameters<typeof begin>) => {
    const timer = begin(...args);
    owners.getStore()?.({
      what: `an interval of ${args[1] ?? 0} ms`,
      // Node sets it on timers that were cleared, in whatever way.
      isOpen: () => (timer as unknown as { readonly _destroyed: boolean })._destroyed !== true,
      end: () => clearInterval(timer),
    });
    return timer;
  }) as typeof begin;
  const { listen } = Server.prototype;
  Server.prototype.listen = function (this: Server, ...args: never[]) {
    owners.getStore()?.({
      what: 'a server that listens',
      isOpen: () => this.listening,
      end: () => void this.close(),
    });
    return (listen as (...args: never[]) => Server).apply(this, args);
  } as typeof listen;
}
