import { defineErrors, defineEvent, defineHint, field, serviceRef, Type } from 'agent-gateway';
import type { Principal } from './principal.ts';

/** A skill as lists show it (specification 1, Skill summary). */
export interface SkillSummary {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly source: 'builtin' | 'user';
  /** True after an upload: synchronization leaves it alone. */
  readonly userModified: boolean;
}

/**
 * The skills of tenants, in object storage. Every method throws `objects.unavailable` without it. Changes made by
 * another replica are visible within a second.
 */
export interface Skills {
  /** At most 500, by name. */
  list(tenantId: string): Promise<readonly SkillSummary[]>;
  /**
   * The skills that fit a request best, best first, 15 at most; ranked by the words of names, descriptions and texts.
   */
  find(tenantId: string, query: string): Promise<readonly SkillSummary[]>;
  /** The SKILL.md text. Throws `skill.not-found`, `skill.invalid-name`. */
  read(tenantId: string, name: string): Promise<string>;
  /** The part of a skill that a model reads: the text without its front matter. Throws like `read`. */
  instructions(tenantId: string, name: string): Promise<string>;
  /** Throws `skill.invalid-name`, `skill.invalid` (front matter), `skill.too-large`, `skill.limit`. */
  write(tenantId: string, name: string, text: string): Promise<SkillSummary>;
  /** Throws `skill.not-found`. A deleted built-in skill does not come back. */
  remove(tenantId: string, name: string): Promise<void>;
}

/** The tenant's personality file, SOUL.md. Every method throws `objects.unavailable` without object storage. */
export interface Souls {
  read(tenantId: string): Promise<string | undefined>;
  /** Throws `soul.too-large` above 64 KiB of UTF-8. */
  write(tenantId: string, text: string): Promise<void>;
}

/** What stands in front of an agent's own instructions. */
export interface Preamble {
  /** Personality, profile, memories and the skills that fit the conversation; the empty text where there is nothing. */
  readonly text: string;
  /** The tenant's SOUL.md where it has one of its own (not the default): an answer must not give it away. */
  readonly secret: string | undefined;
}

/** Brings the built-in skills and the default SOUL.md to tenants. */
export interface Provisioning {
  /** Asks any replica to provision a tenant soon. A hint: the sweep finds every tenant. Not inside a transaction. */
  kick(tenantId: string): Promise<void>;
}

/** What a system prompt contains in addition to the agent's own instructions. */
export interface Preambles {
  /**
   * The preamble of a user, within `maxTokens` (estimated). A part that cannot be read is left out and logged, so that
   * the chat does not fail. Returns no promise when everything is cached.
   *
   * @param said what the user said in the conversation, the latest last: the latest texts decide which skills are
   * listed
   */
  of(principal: Principal, maxTokens: number, said: readonly string[]): Preamble | Promise<Preamble>;
}

/** What can go wrong with skills and SOUL.md (decisions 1.7). */
export const SkillErrors = defineErrors({
  notFound: { code: 'skill.not-found', kind: 'not-found', title: 'There is no such skill' },
  invalidName: { code: 'skill.invalid-name', kind: 'invalid', title: 'The name is no name of a skill' },
  invalid: { code: 'skill.invalid', kind: 'invalid', title: 'The text is no SKILL.md' },
  tooLarge: { code: 'skill.too-large', kind: 'too-large', title: 'The skill is too large' },
  limit: { code: 'skill.limit', kind: 'conflict', title: 'The tenant has as many skills as may be kept' },
  soulNotFound: { code: 'soul.not-found', kind: 'not-found', title: 'The tenant has no SOUL.md' },
  soulTooLarge: { code: 'soul.too-large', kind: 'too-large', title: 'SOUL.md is too large' },
});

/** The skills of tenants. */
export const SkillsRef = serviceRef<Skills>('records.skills');
/** The personality files of tenants. */
export const SoulsRef = serviceRef<Souls>('records.souls');
/** The setting of whoever asks for preambles. */
export const preambleTokens = field.integer({
  env: 'SVC_PREAMBLE_TOKENS',
  default: 2000,
  min: 0,
  max: 100_000,
  description: 'Tokens, estimated, of personality, profile, memories and skills in a system prompt',
});

/** System prompts. */
export const PreamblesRef = serviceRef<Preambles>('records.preambles');
/** For plugins that make tenants. */
export const ProvisioningRef = serviceRef<Provisioning>('records.provisioning');

/**
 * The skills or SOUL.md of a tenant have changed: cached copies are out of date. Like the other events and the queue of
 * this plugin it keeps the name that an earlier version gave it, so that replicas of both versions understand each
 * other.
 */
export const SkillsChanged = defineEvent(
  'agent-engine.skills-changed',
  Type.Object({ tenant_id: Type.String() }),
);

/** Tenants that may lack the built-in skills. */
export const SkillProvisioning = defineHint(
  'agent-engine.skill-provisioning',
  Type.Object({ tenant_id: Type.String() }),
);
