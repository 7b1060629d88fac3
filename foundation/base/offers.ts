import { didYouMean } from './nearest-name.ts';

/** Something that plugins offer under a name, which settings and files refer to. */
export interface Offer {
  /** `plugin/<plugin>/<name>`; see `isOfferName`. */
  readonly name: string;
}

/** The name of something that a plugin offers. */
export type OfferName = `plugin/${string}`;

/** A regular expression for such names, without anchors. */
export const OFFER_PATTERN = 'plugin/[a-z][a-z0-9-]*/[a-z0-9][a-z0-9._-]*';

const OFFER = new RegExp(`^${OFFER_PATTERN}$`);
/** Characters of a name: it becomes a part of what is stored and shown. */
const MAX_NAME = 150;

/** True for `plugin/<plugin>/<name>`, in lower-case letters, digits, `.`, `_` and `-`, 150 characters at most. */
export function isOfferName(text: string): text is OfferName {
  return text.length <= MAX_NAME && OFFER.test(text);
}

/**
 * What plugins add to extension points is called after them: what is named `plugin/acme/…`, or has a prefix of that
 * kind, comes from the plugin `acme`. What is named otherwise is left alone.
 *
 * @throws Error for a name of another plugin, and for nothing at all: who reads the point would fail with every other
 * contribution
 */
export function requireOwnName(plugin: string, value: unknown): void {
  if (value === undefined || value === null)
    throw new Error(`${plugin} contributes ${value} (is it exported, and returned by what makes it?)`);
  if (typeof value !== 'object') return;
  const own = `plugin/${plugin}/`;
  const { name, prefix }: { readonly name?: unknown; readonly prefix?: unknown } = value;
  for (const given of [name, prefix])
    if (typeof given === 'string' && given.startsWith('plugin/') && !given.startsWith(own))
      throw new Error(`${plugin} contributes ${given}: what it contributes is called ${own}…`);
}

/** The offer of a name, of two the one that came first; undefined while no plugin that runs has it. */
export function offerNamed<T extends Offer>(name: string, offers: readonly T[]): T | undefined {
  return offers.find((offer) => offer?.name === name);
}

/**
 * Why there is no offer of a name, for the operator.
 *
 * @param place where the name is written: a variable, or a file with its line
 */
export function lacksOffer(place: string, name: string, offers: readonly Offer[]): string {
  const known = offers.map((offer) => String(offer?.name));
  return `${place} names ${name}, which no plugin that runs offers${didYouMean(name, known)}`;
}
