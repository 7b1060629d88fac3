import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { within } from '../base/deadline.ts';
import { KernelErrors } from '../base/error-catalogue.ts';
import { refuseMisspelled } from '../base/nearest-name.ts';
import { Mutex } from '../base/semaphore.ts';
import type { WatchFolder } from '../base/watch-folder.ts';
import type { Logger } from '../observability/logger.ts';
import { parseSourceFile } from './document.ts';
import { deleteFile, fileExists, hasFile, putFile, writablePath } from './folder-writer.ts';
import { createFollowedFolder } from './followed-folder.ts';
import { KIND_NAME, resourceId } from './header.ts';
import { KIND_MEMBERS, type Kind, type ResourceView } from './kind.ts';
import { KindSlot } from './kind-slot.ts';
import { LiveResources, readResource, type Staged, toError, validateText } from './live-resources.ts';
import { createReloadLog, failures, reportFiles } from './report.ts';
import {
  byKind,
  type FileReport,
  type FileWriteOptions,
  type KindRegistration,
  RESOURCE_LIMITS,
  RESOURCE_TIMES,
  type ReloadSummary,
  ResourceErrors,
  type ResourceHost,
  type ResourceLimits,
  type ResourceSource,
  type ResourcesReport,
  type ResourceTimes,
  type StagedKinds,
  type Validation,
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
  const { clock, log } = options;
  const folder = path.resolve(options.folder);
  const limits = { ...RESOURCE_LIMITS, ...options.limits };
  const times = { ...RESOURCE_TIMES, ...options.times };
  const live = new LiveResources({ limits, times, clock, log });
  const reloadLog = createReloadLog(folder, log);
  const followed = createFollowedFolder({
    folder,
    limits,
    times,
    clock,
    log,
    watch: options.watch,
    onChange: () => void follow(),
  });
  const slots = new WeakMap<KindRegistration, KindSlot>();
  const turns = new Mutex();
  let lastReloadAt: Date | undefined;
  let hasStarted = false;
  let isFollowing = false;
  let isClosed = false;

  function validate(yaml: string): Validation {
    return validateText(yaml, live, limits.problems, limits.fileBytes);
  }

  function sourceOf(id: string): ResourceSource | undefined {
    for (const { documents } of followed.files.all) {
      const found = documents.find((document) => document.id === id);
      if (found === undefined) continue;
      const { file, line, text } = found;
      return { file, line, yaml: text, isAlone: documents.length === 1 };
    }
    return undefined;
  }

  /** A task that a caller waits for. */
  async function inTurn<T>(task: () => Promise<T>): Promise<T> {
    if (turns.waiting >= MAX_WAITING) throw ResourceErrors.busy();
    return turns.run(() => {
      if (isClosed) throw KernelErrors.draining();
      return task();
    });
  }

  /** A file that comes first would take a resource away from the one that declares it now. */
  function refuseTaken(yaml: string, file: string): void {
    for (const { id } of parseSourceFile(file, yaml).documents) {
      const other = sourceOf(id!);
      if (other === undefined || other.file === file) continue;
      throw ResourceErrors.exists(`The ${id!.replace('/', ' ')} is declared in ${other.file} already.`);
    }
  }

  function refuseFailing({ files, result }: Staged, file: string): void {
    const { documents = [] } = files.find((one) => one.path === file) ?? {};
    const problems = documents.flatMap((document) => result.refusals.get(document)?.problems ?? []);
    if (problems.length === 0) return;
    throw ResourceErrors.invalid(undefined, { errors: problems.map((problem) => ({ ...toError(problem) })) });
  }

  /**
   * Looks at the folder because of a notice. One look waits at most: it will see everything that happened until it
   * begins.
   */
  async function follow(): Promise<void> {
    if (isFollowing || isClosed) return;
    isFollowing = true;
    try {
      await turns.run(async () => {
        isFollowing = false;
        if (!isClosed) await look({ isPatient: true });
      });
    } catch (err) {
      isFollowing = false;
      log.error({ err, folder }, 'the folder of resources could not be read');
    }
  }

  async function look({ isPatient = false, retryAll = false } = {}): Promise<void> {
    const seen = await followed.look(isPatient);
    if (seen === 'unsettled') return;
    if (seen === 'same' && !retryAll && !live.hasDueRetry()) {
      if (hasStarted) reloadLog.waiting(fileReports());
      return;
    }
    const staged = await live.stage(followed.files.all, live.kinds, retryAll);
    if (isClosed) live.discard(staged);
    else publish(staged, 'read');
  }

  function publish(staged: Staged, why: 'kinds' | 'read' | 'written'): void {
    const summary = live.publish(staged);
    if (why !== 'kinds') lastReloadAt = new Date(clock.now());
    const reports = fileReports();
    reloadLog.reload(summary, reports);
    if (why !== 'kinds' && hasStarted) reloadLog.waiting(reports);
  }

  function fileReports(): readonly FileReport[] {
    return reportFiles(followed.files.all, live.refusals, live.entries);
  }

  await turns.run(() => look());

  return {
    validate,

    read: (kind, yaml) => readResource(kind, yaml, live, limits),

    source: (kind, name) => sourceOf(resourceId(kind, name)),

    register<T>(definition: Kind, { plugin, log }: { plugin: string; log: Logger }): KindRegistration<T> {
      if (!new RegExp(KIND_NAME).test(definition.kind)) {
        throw new Error(
          `${plugin} registers the kind ${definition.kind}, which is no name for one: it begins with a capital and has only letters and digits, like NotePreset`,
        );
      }
      refuseMisspelled(`${plugin} registers the kind ${definition.kind}`, definition, KIND_MEMBERS);
      const slot = new KindSlot(definition, log);
      const registration: KindRegistration<T> = {
        kind: definition.kind,
        plugin,
        view: slot.view as ResourceView<T>,
        retire: () => live.retire(slot),
      };
      slots.set(registration, slot);
      return registration;
    },

    async prepare(registrations: readonly KindRegistration[]): Promise<StagedKinds> {
      const kinds = new Map([...byKind(registrations)].map(([kind, one]) => [kind, slots.get(one)!]));
      const leave = await turns.acquire();
      let staged: Staged;
      try {
        staged = await live.stage(followed.files.all, kinds, false);
      } catch (failure) {
        leave();
        throw failure;
      }
      return {
        publish: () => {
          publish(staged, 'kinds');
          leave();
        },
        discard: () => {
          live.discard(staged);
          leave();
        },
      };
    },

    started(): void {
      hasStarted = true;
      reloadLog.waiting(fileReports());
    },

    report(): ResourcesReport {
      return {
        folder,
        exists: followed.exists,
        watching: followed.isPolling ? 'polling' : 'notices',
        lastReloadAt,
        files: fileReports(),
      };
    },

    reload(): Promise<ReloadSummary> {
      return inTurn(async () => {
        await look({ retryAll: true });
        return { loaded: live.entries.size, failed: failures(fileReports()) };
      });
    },

    write(file: string, yaml: string, options: FileWriteOptions = {}): Promise<FileReport> {
      return inTurn(async () => {
        const target = writablePath(folder, file);
        await look();
        if ((await hasFile(target)) && options.isNew) throw fileExists(target);
        const { valid, errors } = validate(yaml);
        if (!valid)
          throw ResourceErrors.invalid(undefined, { errors: errors.map((error) => ({ ...error })) });
        refuseTaken(yaml, file);
        const staged = await live.stage(followed.files.with(file, yaml), live.kinds, true);
        try {
          refuseFailing(staged, file);
          await putFile(target, yaml, options);
        } catch (failure) {
          live.discard(staged);
          // What another replica has written meanwhile is known to who tries again.
          await look();
          throw failure;
        }
        publish(staged, 'written');
        // What was written is found again with the same content, and builds nothing.
        await look();
        return fileReports().find((report) => report.file === file)!;
      });
    },

    remove(file: string): Promise<void> {
      return inTurn(async () => {
        const target = writablePath(folder, file);
        // Links are not followed.
        await hasFile(target);
        await deleteFile(target);
        await look();
      });
    },

    async close(): Promise<void> {
      isClosed = true;
      followed.close();
      await live.close();
      // What was under way may have come to something.
      const last = turns.run(() => live.close());
      await within(times.build, 'the reload under way', last).catch((err: unknown) =>
        log.warn({ err }, 'resources did not end'),
      );
    },
  };
}

/** Changes and reloads that wait for their turn at most. */
const MAX_WAITING = 100;
