import { isStorableText } from 'agent-gateway';
import { ChannelErrors } from '../errors.ts';

/** A JSON object of a provider's answer. */
export type Answer = Readonly<Record<string, unknown>>;

/** A request to a provider's API. */
export interface ProviderRequest {
  readonly url: URL;
  /** Sent as JSON with POST; absent: GET. */
  readonly body?: object;
  /** A token of the API, sent as bearer. */
  readonly bearer?: string;
}

/**
 * Asks a provider, within the time of the login. Redirects are not followed.
 *
 * @throws channel.provider-failed for anything but a JSON object. Status and content type do not matter: providers
 * report their errors with status 200 and `text/plain`. channel.provider-timeout when the time is over.
 */
export type Ask = (request: ProviderRequest) => Promise<Answer>;

/** The parameters with which a browser is sent to a provider's page. */
export interface Departure {
  readonly appKey: string;
  readonly redirectUri: string;
  readonly state: string;
}

/** The user who came back from the provider's page. */
export interface Arrival {
  readonly appKey: string;
  readonly secret: string;
  readonly code: string;
}

/** A platform: its page, on which people log in, and its API, which says who came back from there. */
export interface Provider {
  /** Where the secrets of apps are sent. */
  readonly api: URL;
  /** The page. */
  authorizeUrl(departure: Departure): string;
  /**
   * The id that the provider gives to the user in this app.
   *
   * @throws channel.code-refused, channel.not-member, and what `ask` throws; channel.provider-failed for any other
   * refusal. No error quotes the provider; the provider's error number is in the cause.
   */
  identify(arrival: Arrival, ask: Ask): Promise<string>;
}

/** Characters of a user id at most. */
const MAX_ID = 256;

/** A text of an answer. @throws channel.provider-failed */
export function textOf(answer: Answer, name: string): string {
  const value = answer[name];
  if (typeof value === 'string' && value !== '') return value;
  throw ChannelErrors.providerFailed(undefined, { cause: new Error(`the answer has no ${name}`) });
}

/** A user id of an answer. @throws channel.provider-failed */
export function userIdOf(answer: Answer, name: string): string {
  const id = textOf(answer, name);
  if (id.length <= MAX_ID && isStorableText(id)) return id;
  throw ChannelErrors.providerFailed(undefined, { cause: new Error(`${name} of the answer is no id`) });
}

/** Which of a provider's error numbers mean what; all others are failures. */
export interface Refusals {
  /** The code is wrong, old or was used. */
  readonly code: ReadonlySet<unknown>;
  /** The user is not a member of the app. */
  readonly member?: ReadonlySet<unknown>;
}

/** Throws where the answer reports an error: a number in `name` that is not 0. */
export function requireSuccess(answer: Answer, name: string, refusals: Refusals): void {
  const number = answer[name];
  if (number === undefined || number === 0) return;
  const shown = Number.isInteger(number) ? number : 'no number';
  const cause = new Error(`the provider answered with ${name} ${shown}`);
  if (refusals.code.has(number)) throw ChannelErrors.codeRefused(undefined, { cause });
  if (refusals.member?.has(number)) throw ChannelErrors.notMember(undefined, { cause });
  throw ChannelErrors.providerFailed(undefined, { cause });
}

/** A URL with a query. */
export function urlOf(base: string, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(`${base}${path}`);
  url.search = new URLSearchParams(query).toString();
  return url;
}
