import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import Type from 'typebox';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createLogger, type Logger } from '../../../foundation/observability/logger.ts';
import { defineKind, type KindDefinition } from '../../../foundation/resources/kind.ts';
import { openResources, type ResourcesOptions } from '../../../foundation/resources/open-resources.ts';
import type { KindRegistration, ResourceHost } from '../../../foundation/resources/resources.ts';

/** What a thing is made of. */
export const ThingSpec = Type.Object({
  text: Type.String({ minLength: 1 }),
  size: Type.Integer({ default: 1, maximum: 9 }),
  needs: Type.Optional(Type.Array(Type.String())),
  likes: Type.Optional(Type.Array(Type.String())),
  mentions: Type.Optional(Type.Array(Type.String())),
  fails: Type.Optional(Type.Boolean()),
  nested: Type.Optional(Type.Object({ address: Type.String() })),
});

/** A built thing: its text with the texts of what it needs. */
export interface Thing {
  readonly text: string;
  readonly parts: readonly Thing[];
  isDisposed: boolean;
}

/** What happened to things. */
export interface ThingLog {
  readonly built: string[];
  readonly disposed: string[];
}

export type ThingKind = KindDefinition<typeof ThingSpec, Thing>;

/** A kind whose resources name each other. `over` replaces members of it. */
export function thingKind(
  log: ThingLog = { built: [], disposed: [] },
  over: Partial<ThingKind> = {},
  kind = 'Thing',
): ThingKind {
  return defineKind({
    kind,
    summary: 'A thing of the tests',
    spec: ThingSpec,
    references: ({ spec }) => [
      ...(spec.needs ?? []).map((name, at) => ({ kind, name, pointer: `/spec/needs/${at}` })),
      ...(spec.likes ?? []).map((name, at) => ({
        kind,
        name,
        pointer: `/spec/likes/${at}`,
        optional: true,
      })),
      ...(spec.mentions ?? []).map((name, at) => ({
        kind,
        name,
        pointer: `/spec/mentions/${at}`,
        lazy: true,
      })),
    ],
    build({ metadata, spec }, { resolve }) {
      if (spec.fails) throw new Error(`${metadata.name} fails`);
      log.built.push(`${metadata.name}:${spec.text}`);
      const names = [...(spec.needs ?? []), ...(spec.likes ?? [])];
      const parts = names.map((name) => resolve<Thing>(kind, name)).filter((part) => part !== undefined);
      return { text: spec.text, parts, isDisposed: false };
    },
    dispose(thing) {
      thing.isDisposed = true;
      log.disposed.push(thing.text);
    },
    ...over,
  });
}

/** One document. */
export function thing(name: string, spec: Record<string, unknown>, kind = 'Thing'): string {
  return `apiVersion: svc/v1\nkind: ${kind}\nmetadata:\n  name: ${name}\nspec: ${JSON.stringify(spec)}\n`;
}

/** A logger whose lines can be looked at. */
export function memoryLog(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  return {
    log: createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } }).logger,
    lines,
  };
}

/** Polling far slower than any deadline, so that only notices can be the reason. */
export const NOTICES_ONLY = { rescan: 600_000, poll: 600_000 };

/** A folder of a test, with what follows it. */
export interface Opened {
  /** The folder of resources. */
  readonly folder: string;
  /** The folder around it, empty otherwise. */
  readonly around: string;
  readonly resources: ResourceHost;
  readonly lines: readonly string[];
  readonly log: Logger;
}

/** Opens resources in a folder of its own, whose path is `around/agents.d`. Both end with the test. */
export async function openFolder(
  t: ExecutionContext<unknown>,
  {
    prepare,
    ...options
  }: Partial<ResourcesOptions> & { prepare?: (folder: string) => Promise<unknown> } = {},
): Promise<Opened> {
  const around = await mkdtemp(path.join(tmpdir(), 'resources-'));
  const folder = path.join(around, 'agents.d');
  await prepare?.(folder);
  const { log, lines } = memoryLog();
  const resources = await openResources({
    folder,
    clock: systemClock,
    log,
    ...options,
    times: { ...NOTICES_ONLY, ...options.times },
  });
  t.teardown(async () => {
    await resources.close();
    await rm(around, { recursive: true, force: true });
  });
  return { folder, around, resources, lines, log };
}

/** Registers kinds and makes their resources live. */
export async function publishKinds(
  { resources, log }: Pick<Opened, 'resources' | 'log'>,
  ...kinds: ThingKind[]
): Promise<KindRegistration<Thing>[]> {
  const registrations = kinds.map((kind) => resources.register<Thing>(kind, { plugin: 'tester', log }));
  const staged = await resources.prepare(registrations);
  staged.publish();
  return registrations;
}

/** Names and texts of what is live. */
export function liveTexts(registration: KindRegistration<Thing>): Record<string, string> {
  return Object.fromEntries(registration.view.list().map(({ name, value }) => [name, value.text]));
}

/** Every problem of the report, as `file:line: pointer: message`. */
export function problemLines(resources: ResourceHost): string[] {
  return resources
    .report()
    .files.flatMap(({ problems, documents }) =>
      [...problems, ...documents.flatMap((document) => document.problems)].map(
        ({ file, line, pointer, message }) => `${file}:${line ?? ''}: ${pointer}: ${message}`,
      ),
    );
}
