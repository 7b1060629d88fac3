import type { TextOrigin } from '../../../contract.ts';
import { Concept } from './concept.ts';

const { override, overrideLast, prior, rules, prompt, aboveText, your, all, reveal, revealLast, verbatim } =
  Concept;
const {
  role,
  unbound,
  ethics,
  not,
  follow,
  fresh,
  send,
  reader,
  hide,
  call,
  decode,
  policy,
  user,
  destination,
} = Concept;
const secrets = Concept.private;

/** Something that an attacker wants, as meanings that stand close together. */
export interface Intent {
  /** The name of the finding. Several intents share one; the strongest counts. */
  readonly rule: string;
  readonly reason: string;
  /** From 1, a hint, to 12; a text is refused at 10. */
  readonly weight: number;
  /** The meaning around which the others are searched. */
  readonly anchor: number;
  /** One set of alternatives each: of every set at least one meaning must be there. */
  readonly near: readonly number[];
  /** Where the others stand, seen from the anchor. */
  readonly side: 'after' | 'before' | 'around';
  /** How far away, in steps of two a word. */
  readonly within: number;
  /** A "not" right before the anchor turns it into its opposite. */
  readonly negatable?: boolean;
  /** "my" between anchor and object: users speak of their own words. */
  readonly ownable?: boolean;
  /** Counts only in what a tool returned; a user may well ask for it. */
  readonly origin?: TextOrigin;
}

const OVERRIDE = {
  rule: 'override-instructions',
  reason: 'asks the model to set its instructions aside',
  negatable: true,
  ownable: true,
} as const;
const REVEAL = {
  rule: 'reveal-prompt',
  reason: 'asks for the system prompt or hidden instructions',
  negatable: true,
} as const;
const UNBOUND = {
  rule: 'remove-restrictions',
  reason: 'asks the model to act without its rules',
} as const;
const EXFILTRATE = {
  rule: 'exfiltrate-data',
  reason: 'orders the model to send data of the user away',
  origin: 'tool',
  negatable: true,
} as const;
const COMMAND = {
  rule: 'instruct-reader',
  reason: 'a document gives orders to the AI that reads it',
  origin: 'tool',
} as const;

const given = prior | your | all;

/** What is looked for. Any language: the meanings are the lexicons' matter. */
export const INTENTS: readonly Intent[] = [
  { ...OVERRIDE, weight: 11, anchor: override, near: [given, rules | prompt], side: 'after', within: 16 },
  { ...OVERRIDE, weight: 11, anchor: override, near: [your, policy], side: 'after', within: 12 },
  { ...OVERRIDE, weight: 11, anchor: override, near: [prior, all, policy], side: 'after', within: 12 },
  { ...OVERRIDE, weight: 8, anchor: override, near: [prior, policy], side: 'after', within: 10 },
  { ...OVERRIDE, weight: 11, anchor: override, near: [your | aboveText, all], side: 'after', within: 12 },
  { ...OVERRIDE, weight: 8, anchor: override, near: [prior, all], side: 'after', within: 10 },
  { ...OVERRIDE, weight: 10, anchor: override, near: [aboveText], side: 'around', within: 14 },
  { ...OVERRIDE, weight: 10, anchor: override, near: [prompt], side: 'after', within: 10 },
  { ...OVERRIDE, weight: 6, anchor: override, near: [rules], side: 'after', within: 8 },
  { ...OVERRIDE, weight: 5, anchor: override, near: [prior | all], side: 'after', within: 5 },
  {
    ...OVERRIDE,
    weight: 11,
    anchor: overrideLast,
    near: [given, rules | prompt],
    side: 'before',
    within: 22,
  },
  { ...OVERRIDE, weight: 11, anchor: overrideLast, near: [your, policy], side: 'before', within: 14 },
  { ...OVERRIDE, weight: 5, anchor: overrideLast, near: [prior, policy], side: 'before', within: 12 },
  {
    ...OVERRIDE,
    weight: 11,
    anchor: overrideLast,
    near: [prior | your | aboveText, all],
    side: 'before',
    within: 20,
  },
  { ...OVERRIDE, weight: 10, anchor: overrideLast, near: [aboveText | prompt], side: 'before', within: 10 },
  { ...OVERRIDE, weight: 6, anchor: overrideLast, near: [rules], side: 'before', within: 8 },
  { ...OVERRIDE, weight: 5, anchor: overrideLast, near: [prior | all], side: 'before', within: 8 },
  { ...OVERRIDE, weight: 5, anchor: fresh, near: [override | overrideLast], side: 'around', within: 20 },
  { ...OVERRIDE, weight: 4, anchor: fresh, near: [your | reader | follow], side: 'around', within: 8 },
  {
    ...OVERRIDE,
    weight: 10,
    anchor: fresh,
    near: [rules | policy, override | overrideLast, prior | all],
    side: 'around',
    within: 20,
  },

  { ...REVEAL, weight: 11, anchor: reveal, near: [your, prompt], side: 'after', within: 14 },
  { ...REVEAL, weight: 10, anchor: reveal, near: [prompt], side: 'after', within: 10 },
  { ...REVEAL, weight: 11, anchor: reveal, near: [aboveText, verbatim], side: 'around', within: 30 },
  { ...REVEAL, weight: 10, anchor: reveal, near: [your, aboveText], side: 'after', within: 8 },
  { ...REVEAL, weight: 6, anchor: reveal, near: [aboveText], side: 'after', within: 8 },
  {
    ...REVEAL,
    weight: 10,
    anchor: reveal,
    near: [your, rules | policy, verbatim | all | prior],
    side: 'after',
    within: 26,
  },
  { ...REVEAL, weight: 7, anchor: reveal, near: [your, rules | policy], side: 'after', within: 10 },
  { ...REVEAL, weight: 11, anchor: revealLast, near: [your, prompt], side: 'before', within: 26 },
  { ...REVEAL, weight: 10, anchor: revealLast, near: [prompt], side: 'before', within: 26 },
  { ...REVEAL, weight: 11, anchor: revealLast, near: [aboveText, verbatim], side: 'before', within: 30 },
  { ...REVEAL, weight: 6, anchor: revealLast, near: [aboveText], side: 'before', within: 12 },
  {
    ...REVEAL,
    weight: 10,
    anchor: revealLast,
    near: [your, rules | policy, verbatim | prior],
    side: 'before',
    within: 24,
  },
  { ...REVEAL, weight: 7, anchor: revealLast, near: [your, rules], side: 'before', within: 14 },

  { ...UNBOUND, weight: 10, anchor: unbound, near: [role], side: 'around', within: 44 },
  { ...UNBOUND, weight: 7, anchor: unbound, near: [reader, ethics | your], side: 'around', within: 30 },
  { ...UNBOUND, weight: 6, anchor: unbound, near: [reader | ethics], side: 'around', within: 16 },
  { ...UNBOUND, weight: 4, anchor: unbound, near: [unbound], side: 'after', within: 40 },
  { ...UNBOUND, weight: 3, anchor: unbound, near: [], side: 'around', within: 0 },
  {
    ...UNBOUND,
    weight: 11,
    anchor: override,
    near: [your, ethics],
    side: 'after',
    within: 12,
    negatable: true,
  },
  {
    ...UNBOUND,
    weight: 11,
    anchor: overrideLast,
    near: [your, ethics],
    side: 'before',
    within: 16,
    negatable: true,
  },
  {
    rule: 'change-role',
    reason: 'gives the model another identity',
    weight: 2,
    anchor: role,
    near: [],
    side: 'around',
    within: 0,
  },

  {
    ...EXFILTRATE,
    weight: 11,
    anchor: send,
    near: [secrets, destination, reader | hide],
    side: 'around',
    within: 36,
  },
  { ...EXFILTRATE, weight: 8, anchor: send, near: [secrets, destination, user], side: 'around', within: 30 },
  { ...EXFILTRATE, weight: 6, anchor: send, near: [secrets, destination], side: 'around', within: 30 },
  {
    ...EXFILTRATE,
    weight: 8,
    anchor: send,
    near: [secrets, reader | hide | your],
    side: 'around',
    within: 30,
  },
  {
    ...EXFILTRATE,
    weight: 10,
    anchor: call,
    near: [secrets, destination | send, reader | hide | user],
    side: 'around',
    within: 30,
  },
  {
    ...EXFILTRATE,
    weight: 6,
    anchor: reveal | revealLast,
    near: [secrets, reader | hide],
    side: 'around',
    within: 24,
  },

  {
    ...COMMAND,
    weight: 5,
    anchor: reader,
    near: [override | overrideLast | hide | call | send | reveal | revealLast | fresh | follow],
    side: 'after',
    within: 24,
  },
  { ...COMMAND, weight: 7, anchor: hide, near: [], side: 'around', within: 0 },
  { ...COMMAND, weight: 3, anchor: fresh, near: [], side: 'around', within: 0 },
  { ...COMMAND, weight: 10, anchor: hide, near: [reader | call | send | fresh], side: 'around', within: 44 },
  {
    rule: 'instruct-reader',
    reason: 'asks the model to act behind the user',
    weight: 5,
    anchor: hide,
    near: [],
    side: 'around',
    within: 0,
    origin: 'user',
  },

  {
    rule: 'encoded-payload',
    reason: 'asks the model to decode a text and to do what it says',
    weight: 7,
    anchor: decode,
    near: [follow],
    side: 'after',
    within: 24,
  },
];

/** What makes a following anchor its opposite, and how far before it. */
export const NEGATION = { concept: not, within: 4 } as const;
