import { within } from '../../foundation/base/deadline.ts';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { messageOf } from '../../foundation/base/failure.ts';
import { InFlight } from '../../foundation/base/in-flight.ts';
import { type OwnedHandles, ownHandles } from '../../foundation/code/owned-handles.ts';
import { configHash } from '../../foundation/config/describe-config.ts';
import type { HintConsumer } from '../../foundation/messages/hints/hints.ts';
import type { JobWorker } from '../../foundation/messages/jobs/jobs.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import type { RunningTask } from '../../foundation/schedules/periodic.ts';
import type { Plugin } from '../api/plugin.ts';
import { type Drain, Effects } from './effects.ts';
import { createScope, type ScopeParts } from './plugin-scope.ts';

/** Milliseconds that each undo may take. */
const UNDO_TIMEOUT = 10_000;
/** Milliseconds that calls may take to end after they were aborted. */
const ABORT_GRACE = 2_000;

/** What the host gives to a new instance. */
interface InstanceParts extends Omit<ScopeParts, 'signal' | 'effects' | 'inFlight'> {
  /** The values of the plugin's needs and wants. */
  readonly upstream: Readonly<Record<string, unknown>>;
  readonly metric: ScopeParts['metric'] & { dispose(): void };
  /** Ends the use of the plugin's entities. */
  readonly releaseTables?: () => void;
  /** Milliseconds that `setup` may take. */
  readonly setupTimeout: number;
  /** Where its code lies. */
  readonly folder: string;
}

/** One generation of a plugin: what one run of its `setup` made, and how that is taken away again. */
export class PluginInstance {
  readonly plugin: Plugin;
  readonly config: unknown;
  readonly effects = new Effects();
  readonly inFlight = new InFlight();
  readonly #controller = new AbortController();
  readonly #log: Logger;
  /** Resolves when its background work begins: with false where it ends before that. */
  readonly #begun = Promise.withResolvers<boolean>();
  #isListening = false;
  #counted = 0;
  #configHash: Promise<string> | undefined;
  #tasks: RunningTask[] = [];
  readonly #workers: (HintConsumer | JobWorker)[] = [];
  #stopping: readonly Promise<void>[] = [];
  #drained: Promise<readonly string[]> | undefined;
  #ended: Promise<readonly string[]> | undefined;
  readonly #handles: OwnedHandles;

  private constructor(parts: InstanceParts) {
    this.#handles = ownHandles(parts.folder);
    this.plugin = parts.plugin;
    this.config = parts.config;
    this.#log = parts.log;
    if (parts.releaseTables !== undefined) this.effects.undo.push(parts.releaseTables);
    this.effects.undo.push(() => parts.metric.dispose());
  }

  /**
   * Runs the plugin's `setup`. Nothing becomes visible by it. When it throws, hangs, or leaves an offered service
   * unprovided or a job without a worker, all that it began is undone and the failure is thrown.
   */
  static async setUp(parts: InstanceParts): Promise<PluginInstance> {
    const instance = new PluginInstance(parts);
    const { plugin, setupTimeout } = parts;
    const { scope, close } = createScope({
      ...parts,
      signal: instance.#controller.signal,
      effects: instance.effects,
      inFlight: instance.inFlight,
    });
    try {
      // As a promise also when `setup` is synchronous and throws.
      const setUp = instance.#handles.run(async () => plugin.setup(scope, parts.upstream));
      await within(setupTimeout, `the set-up of ${plugin.name}`, setUp);
      const missing = plugin.offers?.find((ref) => !instance.effects.provided.has(ref.id));
      if (missing !== undefined)
        throw new Error(`${plugin.name} offers ${missing.id} but did not provide it`);
      const idle = plugin.jobs?.find(({ id }) => !instance.effects.workers.some(({ name }) => name === id));
      if (idle !== undefined)
        throw new Error(`${plugin.name} lists the job ${idle.id} but has no worker for it`);
      await instance.#declareServices();
      return instance;
    } catch (failure) {
      close();
      await instance.discard();
      throw failure;
    } finally {
      close();
    }
  }

  /** Of its configuration; worked out when it is first asked for. */
  get configHash(): Promise<string> {
    this.#configHash ??= configHash(this.config);
    return this.#configHash;
  }

  async #declareServices(): Promise<void> {
    const services = this.effects.declaredServices.map((declaration) => ({
      name: declaration.service,
      owner: this.plugin.name,
      declaration,
      inFlight: this.inFlight,
    }));
    this.effects.grpc = services;
    const eager = services.filter(({ declaration }) => declaration.lazy !== true);
    if (eager.length === 0) return;
    const { compiledOf } = await import('../grpc/compiled-service.ts');
    for (const service of eager) compiledOf(service);
  }

  /**
   * Hears events from now on, as one that serves has to: its memory would be out of date. They wait for `activate`.
   */
  listen(): void {
    this.#listen(this.#begun.promise);
  }

  #listen(begun?: Promise<boolean>): void {
    if (this.#isListening) return;
    this.#isListening = true;
    for (const { start } of this.effects.listeners) this.effects.undo.push(start(begun));
  }

  /**
   * Begins background work. Called once, when the plugins published or started with it are published too.
   *
   * @throws what a queue throws; what has begun until then ends with the instance.
   */
  activate(): void {
    this.#begun.resolve(true);
    this.#listen();
    for (const { start } of [...this.effects.hints, ...this.effects.workers]) this.#workers.push(start());
    this.#tasks = this.effects.tasks.map(({ start }) => start(this.#controller.signal));
  }

  /** Whether it has work in hand, or had since it was asked last. */
  wasBusy(): boolean {
    const { size, count } = this.inFlight;
    const isBusy = size > 0 || count !== this.#counted;
    this.#counted = count;
    return isBusy;
  }

  /** Whether there is work in the background that `drain` waits for. */
  get hasDrains(): boolean {
    return this.effects.drains.length > 0;
  }

  /**
   * Has the work in the background end, within `drainTimeout` ms, while the routes still serve. Resolves when it has
   * ended, with what did not, as sentences. A second call changes nothing, and waits for the first. Never rejects.
   */
  drain(drainTimeout: number): Promise<readonly string[]> {
    this.#drained ??= Promise.all(this.effects.drains.map((drain) => runDrain(drain, drainTimeout))).then(
      (leaks) => leaks.filter((leak) => leak !== undefined),
    );
    return this.#drained;
  }

  /**
   * Ends what is under way in an instance whose routes are no longer published: periodic tasks and queues begin nothing
   * more, calls, messages in hand and background work get `drainTimeout` ms, then their signals are aborted. Everything
   * that they use is still there. Resolves with what did not end, as sentences. May be called again. Never rejects.
   */
  windDown(drainTimeout: number): Promise<readonly string[]> {
    this.#ended ??= this.#windDown(drainTimeout);
    return this.#ended;
  }

  async #windDown(drainTimeout: number): Promise<readonly string[]> {
    this.#begun.resolve(false);
    this.#stopping = this.#tasks.map((task) => task.stop());
    const consumed = within(
      drainTimeout + DRAIN_GRACE,
      'the hints and jobs',
      Promise.all(this.#workers.map((worker) => worker.stop(drainTimeout))),
    ).then(
      () => [],
      (failure: Error) => [failure.message],
    );
    const drained = this.drain(drainTimeout);
    if (!(await this.inFlight.idle(drainTimeout))) {
      const { size: calls, patterns } = this.inFlight;
      this.#log.warn({ calls, patterns }, 'calls that did not end in the drain time are aborted');
      this.inFlight.abortAll(KernelErrors.draining());
    }
    return [...(await consumed), ...(await drained)];
  }

  /**
   * Ends an instance whose routes are no longer published: winds it down, aborts its signal, undoes its effects in
   * reverse order. Returns what could not be ended, as sentences.
   */
  async retire(drainTimeout: number): Promise<readonly string[]> {
    const leaks = [...(await this.windDown(drainTimeout))];
    this.#controller.abort(KernelErrors.draining());
    if (!(await this.inFlight.idle(ABORT_GRACE))) {
      const { size } = this.inFlight;
      leaks.push(
        `${size} calls did not end after they were aborted: ${this.inFlight.giveUpAll().join(', ')}`,
      );
    }
    const ended = this.#stopping.map((stopped, index) =>
      within(ABORT_GRACE, `the task ${this.effects.tasks[index]!.name}`, stopped).catch((failure: Error) =>
        leaks.push(failure.message),
      ),
    );
    await Promise.all(ended);
    leaks.push(...(await this.#undo()));
    return leaks;
  }

  /** Ends an instance that was never published. */
  async discard(): Promise<void> {
    this.#controller.abort(KernelErrors.draining());
    for (const leak of await this.#undo())
      this.#log.error({ leak }, 'a discarded set-up left something behind');
  }

  async #undo(): Promise<readonly string[]> {
    const leaks: string[] = [];
    for (const undo of this.effects.undo.toReversed()) {
      try {
        await within(UNDO_TIMEOUT, `an undo of ${this.plugin.name}`, Promise.resolve(undo()));
      } catch (failure) {
        leaks.push(`an undo failed: ${messageOf(failure)}`);
      }
    }
    return [...leaks, ...this.#handles.end()];
  }
}

/** Milliseconds beyond the drain time in which background work, and a queue's messages in hand, end. */
const DRAIN_GRACE = 3_000;

/** Ends background work: its signal aborts after `drainTimeout` ms. A sentence where it did not end. Never rejects. */
async function runDrain({ name, finish }: Drain, drainTimeout: number): Promise<string | undefined> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(KernelErrors.draining()), drainTimeout);
  try {
    await within(drainTimeout + DRAIN_GRACE, `the drain of ${name}`, finish(over.signal));
    return undefined;
  } catch (failure) {
    return `${name} was not drained: ${messageOf(failure)}`;
  } finally {
    clearTimeout(timer);
  }
}
