import type { ContributionForm, FormOf } from '../../foundation/code/contribution-form.ts';

/** A typed name for a service that one plugin offers and others need. Compare by `id`; its type is erased. */
export interface ServiceRef<T> {
  readonly kind: 'service';
  /** `<plugin>.<service>`, unique in the process. */
  readonly id: string;
  /** Never set; carries `T` for inference. */
  readonly type?: T;
}

/** A typed name for a list that a plugin reads and any plugin may add to (models, tools, step types). */
export interface ExtensionPoint<T> {
  readonly kind: 'point';
  /** `<plugin>.<point>`, unique in the process. */
  readonly id: string;
  /** What is refused of contributions, as far as the plugin that has the point says so. */
  readonly form?: ContributionForm;
  /** Never set; carries `T` for inference. */
  readonly type?: T;
}

/** Declares a service in a plugin's `contract.ts`. */
export function serviceRef<T>(id: string): ServiceRef<T> {
  return { kind: 'service', id };
}

/** Declares an extension point in a `contract.ts`. A contribution without the members of `form` fails its set-up. */
export function extensionPoint<T>(id: string, form?: FormOf<T>): ExtensionPoint<T> {
  return { kind: 'point', id, ...(form && { form }) };
}

/** Named service refs, as in `needs: { agents: AgentEngine }`. */
export type ServiceRefs = Readonly<Record<string, ServiceRef<unknown>>>;

/** The values behind `needs`: every one is there. */
export type Needed<R extends ServiceRefs> = {
  readonly [K in keyof R]: R[K] extends ServiceRef<infer T> ? T : never;
};

/** The values behind `wants`: any may be absent. */
export type Wanted<R extends ServiceRefs> = {
  readonly [K in keyof R]: (R[K] extends ServiceRef<infer T> ? T : never) | undefined;
};
