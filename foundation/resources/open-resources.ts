import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { within } from '../base/deadline.ts';
import { KernelErrors } from '../base/error-catalogue.ts';
import type { WatchFolder } from '../base/follow.ts';
import { Mutex } from '../base/semaphore.ts';
import type { Logger } from '../observability/logger.ts';
import { parseSourceFile } from './document.ts';
import { deleteFile, hasFile, putFile, writablePath } from './folder-writer.ts';
import { FollowedFolder } from './followed-folder.ts';
import { KIND_NAME, resourceId } from './header.ts';
import type { Kind, ResourceView } from './kind.ts';
import { KindSlot } from './kind-slot.ts';
import { LiveResources, type Staged, type Validation, validate } from './live-resources.ts';
import { type FileReport, failures, ReloadLog, type ResourcesReport, reportFiles } from './report.ts';
import {
  type KindRegistration,
  RESOURCE_LIMITS,
  RESOURCE_TIMES,
  type ReloadSummary,
  ResourceErrors,
  type ResourceHost,
  type ResourceLimits,
  type ResourceSource,
  type ResourceTimes,
  type StagedKinds,
} from './resources.ts';

/** What the resources are made of. */
export interface ResourcesOptions {
  /** `SVC_AGENTS_DIR`. Need not exist. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits?: Partial<ResourceLimits>;
  readonly times?: Partial<ResourceTimes>;
  /** Instead of the file system's notices; for tests. */
  readonly watch?: WatchFolder;
}

/** Reads the folder and follows it from now on. Resources become live when plugins register their kinds. */
export async function openResources(options: ResourcesOptions): Promise<ResourceHost> {
  const resources = new ResourceFolder(options);
  await resources.open();
  return resources;
}

/** Changes and reloads that wait for their turn at most. */
const MAX_WAITING = 100;

class ResourceFolder implements ResourceHost {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #limits: ResourceLimits;
  readonly #times: ResourceTimes;
  readonly #source: FollowedFolder;
  readonly #live: LiveResources;
  readonly #reloadLog: ReloadLog;
  readonly #slots = new WeakMap<KindRegistration, KindSlot>();
  readonly #turns = new Mutex();
  #lastReloadAt: Date | undefined;
  #isOpen = false;
  #isFollowing = false;
  #isClosed = false;

  constructor({ folder, clock, log, limits, times, watch }: ResourcesOptions) {
    this.#folder = path.resolve(folder);
    this.#clock = clock;
    this.#log = log;
    this.#limits = { ...RESOURCE_LIMITS, ...limits };
    this.#times = { ...RESOURCE_TIMES, ...times };
    this.#live = new LiveResources({ limits: this.#limits, times: this.#times, clock, log });
    this.#reloadLog = new ReloadLog(this.#folder, log);
    this.#source = new FollowedFolder({
      folder: this.#folder,
      limits: this.#limits,
      times: this.#times,
      clock,
      log,
      watch,
      onChange: () => void this.#follow(),
    });
  }

  /** Documents that wait for a plugin are not logged yet: the plugins start afterwards. */
  async open(): Promise<void> {
    await this.#turns.run(() => this.#look());
    this.#isOpen = true;
  }

  register<T>(definition: Kind, { plugin, log }: { plugin: string; log: Logger }): KindRegistration<T> {
    if (!new RegExp(KIND_NAME).test(definition.kind)) {
      throw new Error(`${plugin} registers the kind ${definition.kind}, which is no name for one`);
    }
    const slot = new KindSlot(definition, plugin, log);
    const registration: KindRegistration<T> = {
      kind: definition.kind,
      plugin,
      view: slot.view as ResourceView<T>,
      retire: () => this.#live.retire(slot),
    };
    this.#slots.set(registration, slot);
    return registration;
  }

  async prepare(registrations: readonly KindRegistration[]): Promise<StagedKinds> {
    const kinds = new Map<string, KindSlot>();
    for (const registration of registrations) {
      const other = kinds.get(registration.kind);
      if (other !== undefined) {
        throw new Error(
          `${other.plugin} and ${registration.plugin} both register the kind ${registration.kind}`,
        );
      }
      kinds.set(registration.kind, this.#slots.get(registration)!);
    }
    const leave = await this.#turns.acquire();
    let staged: Staged;
    try {
      staged = await this.#live.stage(this.#source.files.all, kinds, false);
    } catch (failure) {
      leave();
      throw failure;
    }
    return {
      publish: () => {
        this.#publish(staged, 'kinds');
        leave();
      },
      discard: () => {
        this.#live.discard(staged);
        leave();
      },
    };
  }

  report(): ResourcesReport {
    return {
      folder: this.#folder,
      exists: this.#source.exists,
      watching: this.#source.isPolling ? 'polling' : 'notices',
      lastReloadAt: this.#lastReloadAt,
      files: this.#reports(),
    };
  }

  reload(): Promise<ReloadSummary> {
    return this.#inTurn(async () => {
      await this.#look({ retryAll: true });
      return { loaded: this.#live.entries.size, failed: failures(this.#reports()) };
    });
  }

  validate(yaml: string): Validation {
    return validate(yaml, this.#live, this.#limits.problems, this.#limits.fileBytes);
  }

  source(kind: string, name: string): ResourceSource | undefined {
    const id = resourceId(kind, name);
    for (const { documents } of this.#source.files.all) {
      const found = documents.find((document) => document.id === id);
      if (found === undefined) continue;
      const { file, line, text } = found;
      return { file, line, yaml: text, isAlone: documents.length === 1 };
    }
    return undefined;
  }

  write(file: string, yaml: string, { isNew = false } = {}): Promise<FileReport> {
    return this.#inTurn(async () => {
      const target = writablePath(this.#folder, file);
      await this.#look();
      if ((await hasFile(target)) && isNew) throw ResourceErrors.exists(`There is a file ${file} already.`);
      const { valid, errors } = this.validate(yaml);
      if (!valid) throw ResourceErrors.invalid(undefined, { errors: errors.map((error) => ({ ...error })) });
      this.#refuseTaken(yaml, file);
      const staged = await this.#live.stage(this.#source.files.with(file, yaml), this.#live.kinds, true);
      try {
        this.#refuseFailing(staged, file);
        await putFile(target, yaml);
      } catch (failure) {
        this.#live.discard(staged);
        throw failure;
      }
      this.#publish(staged, 'written');
      // What was written is found again with the same content, and builds nothing.
      await this.#look();
      return this.#reports().find((report) => report.file === file)!;
    });
  }

  remove(file: string): Promise<void> {
    return this.#inTurn(async () => {
      const target = writablePath(this.#folder, file);
      if (!(await hasFile(target))) throw ResourceErrors.notFound(`There is no file ${file}.`);
      await deleteFile(target);
      await this.#look();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#source.close();
    await this.#live.close();
    // What was under way may have come to something.
    const last = this.#turns.run(() => this.#live.close());
    await within(this.#times.build, 'the reload under way', last).catch((err: unknown) =>
      this.#log.warn({ err }, 'resources did not end'),
    );
  }

  /** What somebody asked for, and waits for. */
  async #inTurn<T>(task: () => Promise<T>): Promise<T> {
    if (this.#turns.waiting >= MAX_WAITING) throw ResourceErrors.busy();
    return this.#turns.run(() => {
      if (this.#isClosed) throw KernelErrors.draining();
      return task();
    });
  }

  /** A file that comes first would take a resource away from the one that declares it now. */
  #refuseTaken(yaml: string, file: string): void {
    for (const { id } of parseSourceFile(file, yaml).documents) {
      const [kind, name] = id!.split('/') as [string, string];
      const other = this.source(kind, name);
      if (other === undefined || other.file === file) continue;
      throw ResourceErrors.exists(`The ${kind} ${name} is declared in ${other.file} already.`);
    }
  }

  #refuseFailing({ files, result }: Staged, file: string): void {
    const { documents = [] } = files.find((source) => source.path === file) ?? {};
    const problems = documents.flatMap((document) => result.refusals.get(document)?.problems ?? []);
    if (problems.length === 0) return;
    const errors = problems.map(({ line, pointer, message }) => ({ line: line ?? 1, pointer, message }));
    throw ResourceErrors.invalid(undefined, { errors });
  }

  /** Looks at the folder because of a notice. One look waits at most: it will see everything that happened until it begins. */
  async #follow(): Promise<void> {
    if (this.#isFollowing || this.#isClosed) return;
    this.#isFollowing = true;
    try {
      await this.#turns.run(async () => {
        this.#isFollowing = false;
        if (!this.#isClosed) await this.#look({ isPatient: true });
      });
    } catch (err) {
      this.#isFollowing = false;
      this.#log.error({ err, folder: this.#folder }, 'the folder of resources could not be read');
    }
  }

  async #look({ isPatient = false, retryAll = false } = {}): Promise<void> {
    const seen = await this.#source.look(isPatient);
    if (seen === 'unsettled') return;
    if (seen === 'changed' || retryAll || this.#live.hasDueRetry()) await this.#apply(retryAll);
    else if (this.#isOpen) this.#reloadLog.logWaiting(this.#reports());
  }

  async #apply(retryAll: boolean): Promise<void> {
    const staged = await this.#live.stage(this.#source.files.all, this.#live.kinds, retryAll);
    if (this.#isClosed) return this.#live.discard(staged);
    this.#publish(staged, 'read');
  }

  #publish(staged: Staged, why: 'kinds' | 'read' | 'written'): void {
    const summary = this.#live.publish(staged);
    if (why !== 'kinds') this.#lastReloadAt = new Date(this.#clock.now());
    const reports = this.#reports();
    this.#reloadLog.logReload(summary, reports);
    if (why !== 'kinds' && this.#isOpen) this.#reloadLog.logWaiting(reports);
  }

  #reports(): readonly FileReport[] {
    return reportFiles(this.#source.files.all, this.#live.refusals, this.#live.entries);
  }
}
