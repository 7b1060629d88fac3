import type { Static, TSchema } from 'typebox';
import type { Logger } from '../observability/logger.ts';

/** What a resource says about itself in addition to its `spec`. */
export interface ResourceMetadata {
  /** Unique among the resources of its kind. */
  readonly name: string;
  /** For people. */
  readonly description?: string;
  /** For programs that choose among resources. */
  readonly labels?: Readonly<Record<string, string>>;
  /** For programs that keep something with a resource. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** One checked YAML document of agents.d; `spec` has the schema's defaults filled in. Deeply frozen. */
export interface Resource<S = unknown> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ResourceMetadata;
  readonly spec: S;
}

/** Another resource that a resource names. */
export interface ResourceReference {
  readonly kind: string;
  readonly name: string;
  /** Where it is named: an RFC 6901 pointer into the document (`/spec/model/primary`). */
  readonly pointer: string;
  /** Its absence is no problem. Default false. */
  readonly optional?: boolean;
  /**
   * It only has to be there: it is not built first, `resolve` does not give it, its changes rebuild nothing, and such
   * references may form cycles. For what is looked up when it is used. Default false.
   */
  readonly lazy?: boolean;
}

/** A document of agents.d that nobody has accepted yet: its members may be absent, or have any type. */
export interface UnreadResource {
  /** `name` and the other members, as they stand there. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The schema's defaults are filled in where they fit. */
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Something wrong with a resource. */
export interface ResourceProblem {
  /** An RFC 6901 pointer into the document (`/spec/base_url`). */
  readonly pointer: string;
  /** Why, and what to write instead. Holds no secret. */
  readonly message: string;
}

/** What `build` works with. */
export interface BuildContext {
  /**
   * The value of a resource that `references` named and that is not lazy: the new one, where it changes in the same
   * reload. Undefined for an optional one that is not there. Valid as long as the built value is. Throws for what was
   * not named.
   */
  resolve<T = unknown>(kind: string, name: string): T | undefined;
  /** Aborts when the time for building is over, or the gateway stops. */
  readonly signal: AbortSignal;
  /** The plugin's log, with the resource's kind and name. */
  readonly log: Logger;
}

/** The part of a kind that is known without its plugin running: enough for an editor's schema. */
export interface KindDeclaration<S extends TSchema = TSchema> {
  /** `Agent`, `Model`, `Workflow`: capitalized, letters and digits, 64 at most. */
  readonly kind: string;
  /** One sentence without a full stop. */
  readonly summary: string;
  /**
   * Schema of `spec`. Objects with named members refuse other members; `patternErrorMessage` next to a pattern is
   * reported instead of the pattern.
   */
  readonly spec: S;
}

/** A kind of YAML resource in agents.d, registered with `scope.kind`. */
export interface KindDefinition<S extends TSchema = TSchema, T = unknown> extends KindDeclaration<S> {
  /** The resources that it names. Pure. */
  references?(resource: Resource<Static<S>>): readonly ResourceReference[];
  /**
   * Rules that the schema cannot say, for documents that may break the schema and the rules for `metadata` as well, so
   * that all their problems are reported together. They pass over members of a wrong type or size, of which the schema
   * speaks, throw nothing, and do no more work than the document is long. Pure.
   */
  checkUnread?(resource: UnreadResource): readonly ResourceProblem[];
  /** Rules for documents that keep to the schema, in addition to `checkUnread`: all problems at once. Pure. */
  check?(resource: Resource<Static<S>>): readonly ResourceProblem[];
  /**
   * Makes the value that the resource stands for. The old value stays in use meanwhile, and is replaced when all that
   * changed was built. Has 10 seconds. When it throws, the resource is reported, and its last good version stays; a
   * thrown `GatewayError` with `errors` (pointers into the document) names the lines.
   */
  build(resource: Resource<Static<S>>, context: BuildContext): T | Promise<T>;
  /** Ends a value that is not used any more; has 10 seconds. Also called for one that was built and never used. */
  dispose?(value: T): void | Promise<void>;
}

/** All members of a definition. */
export const KIND_MEMBERS: readonly (keyof KindDefinition)[] = [
  'kind',
  'summary',
  'spec',
  'references',
  'checkUnread',
  'check',
  'build',
  'dispose',
];

/** A kind whose types are forgotten: what the kernel keeps. */
// biome-ignore lint/suspicious/noExplicitAny: the one place where kinds of all specs meet
export type Kind = KindDefinition<any, any>;

/** Declares a kind; the types of `spec` and of the value are inferred. */
export function defineKind<const S extends TSchema, T>(
  definition: KindDefinition<S, T>,
): KindDefinition<S, T> {
  return definition;
}

/** A live resource with its value. */
export interface LiveResource<T = unknown> {
  readonly name: string;
  readonly value: T;
  /** What it was built from. */
  readonly resource: Resource;
  /** Relative to the folder. */
  readonly file: string;
  /** Grows with each build of any resource; two builds never share one. */
  readonly generation: number;
}

/**
 * A hold on one version of a resource. Its value is not disposed before `release`, or the drain time after it was
 * replaced.
 */
export interface ResourceLease<T = unknown> extends Disposable {
  readonly value: T;
  readonly generation: number;
  /** Gives it back; a second call does nothing. */
  release(): void;
}

/** The live resources of one kind, as `scope.kind` gives them to the plugin. Empty until its set-up is published. */
export interface ResourceView<T = unknown> {
  /** The value in use now. It may be disposed once it was replaced: for work that goes on, `acquire`. */
  get(name: string): T | undefined;
  /** Holds the version in use now until it is released. Undefined when there is no such resource. */
  acquire(name: string): ResourceLease<T> | undefined;
  /** All of them, by name. */
  list(): readonly LiveResource<T>[];
  /** Calls `listener` after each change of this kind's resources. Returns a function that ends that. */
  onChange(listener: () => void): () => void;
}
