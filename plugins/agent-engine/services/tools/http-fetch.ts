import { buffer } from 'node:stream/consumers';
import type { Egress, EgressResponse } from 'agent-gateway';
import type { Tool } from '../../contract.ts';
import { builtinTool } from './builtin-tool.ts';

/** Bytes of an answer, and milliseconds for all of it, at most. */
const MAX_BYTES = 1024 * 1024;
const TIMEOUT = 20_000;
/** Characters of the body that the model gets; the rest is cut off with a note. */
const MAX_TEXT = 50_000;

/**
 * Fields of the connection, which are not the caller's to set (RFC 9110, 7.6.1), and what the gateway sets by itself.
 */
const REFUSED = new Set(
  'connection content-length expect host keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade via'.split(
    ' ',
  ),
);

const TEXTUAL =
  /^(?:text\/|application\/(?:[a-z0-9.+-]{0,80}\+)?(?:json|xml|yaml|x-yaml|javascript|x-ndjson|x-www-form-urlencoded)$)/;

/** The tool `http_fetch`: a request through egress, within the tenant's rules. */
export function httpFetch({ egress }: { readonly egress: Pick<Egress, 'request'> }): Tool {
  return builtinTool({
    name: 'http_fetch',
    description:
      'Fetches a public web page or calls a web API. HTML comes back as readable text, other text as it is, at most 50,000 characters; files that are no text are not shown. The first line of the result is the HTTP status.',
    properties: {
      url: { type: 'string', maxLength: 4_000, description: 'Absolute http or https URL' },
      method: { type: 'string', enum: ['GET', 'POST'], description: 'Default GET' },
      headers: {
        type: 'object',
        additionalProperties: { type: 'string', maxLength: 4_000 },
        maxProperties: 30,
        description: 'Request headers',
      },
      body: { type: 'string', maxLength: 200_000, description: 'For POST' },
    },
    required: ['url'],
    // Later than the timeout of egress, whose message is better.
    timeoutMs: TIMEOUT + 5_000,
    async invoke(input, { principal, requestId, sessionId, signal }) {
      const { url, method = 'GET', headers = {}, body } = input as unknown as FetchInput;
      const refused = Object.keys(headers).filter((name) => REFUSED.has(name.toLowerCase()));
      if (refused.length > 0) return failed(`These headers cannot be set: ${refused.join(', ')}.`);
      if (method === 'GET' && body !== undefined) return failed('A GET request has no body.');
      const answer = await egress.request(principal.tenantId, {
        url,
        method,
        headers,
        signal,
        requestId,
        sessionId,
        ...(body === undefined ? {} : { body }),
        userId: principal.identityId,
        timeout: TIMEOUT,
        maxBytes: MAX_BYTES,
      });
      return { content: await show(answer) };
    },
  });
}

interface FetchInput {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

function failed(message: string) {
  return { content: `Error: ${message}`, isError: true };
}

async function show({ status, statusText, headers, body, url, redirected }: EgressResponse): Promise<string> {
  const [type = '', ...parameters] = String(headers['content-type'] ?? 'text/plain').split(';');
  const mime = type.trim().toLowerCase();
  const head = [
    `HTTP ${status} ${statusText}`.trim(),
    `content-type: ${mime}`,
    ...(redirected ? [`redirected to: ${url}`] : []),
  ].join('\n');
  if (!TEXTUAL.test(mime)) {
    body.destroy();
    return `${head}\n\n[the body is no text and is not shown]`;
  }
  const text = decoderFor(parameters).decode(await buffer(body));
  const readable = /html/.test(mime) ? readableText(text) : text;
  if (readable.length <= MAX_TEXT) return `${head}\n\n${readable}`;
  return `${head}\n\n${readable.slice(0, MAX_TEXT).toWellFormed()}\n[cut: ${readable.length} characters in all]`;
}

/** By the `charset` that the answer names; UTF-8 where it names none, or an unknown one. */
function decoderFor(parameters: readonly string[]) {
  const [, charset] =
    parameters.map((one) => one.trim().split('=')).find(([name]) => name === 'charset') ?? [];
  try {
    return new TextDecoder(charset?.replaceAll('"', '') || 'utf-8');
  } catch {
    return new TextDecoder();
  }
}

/** Elements whose content is not read. */
const SKIPPED = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'head',
  'iframe',
  'object',
  'title',
]);
/** Those that take the rest of the page with them when they do not end. */
const SWALLOWING = new Set(['script', 'style', 'title']);
/** Elements that begin a line of their own. */
const BLOCKS = new Set(
  'address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tbody tfoot thead title tr ul'.split(
    ' ',
  ),
);
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  copy: '©',
  euro: '€',
  shy: '',
};

const TAG = /<(?:!--|[!?]|(\/?)([a-zA-Z][a-zA-Z0-9]*))/g;
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g;

/**
 * The text of an HTML page as a reader sees it, roughly: without tags, scripts and styles, one line for each
 * block. One pass, linear in the length; not a sanitizer.
 */
export function readableText(html: string): string {
  const title = titleOf(html);
  /** Elements that end nowhere: looking for their ends again and again would make the pass quadratic. */
  const endless = new Set<string>();
  function skip(name: string, from: number): number {
    if (endless.has(name)) return from;
    const close = new RegExp(`</${name}\\b`, 'gi');
    close.lastIndex = from;
    const end = close.exec(html)?.index;
    if (end !== undefined) return end;
    endless.add(name);
    return SWALLOWING.has(name) ? html.length : from;
  }
  const pieces: string[] = title === '' ? [] : [title, '\n'];
  let at = 0;
  TAG.lastIndex = 0;
  for (let tag = TAG.exec(html); tag !== null; tag = TAG.exec(html)) {
    pieces.push(html.slice(at, tag.index));
    const isComment = tag[0] === '<!--';
    const end = html.indexOf(isComment ? '-->' : '>', TAG.lastIndex);
    // A tag that does not end takes the rest of the page with it, as in browsers.
    if (end < 0) return tidy(pieces.join(''));
    at = end + (isComment ? 3 : 1);
    const name = tag[2]?.toLowerCase();
    if (name !== undefined) {
      if (BLOCKS.has(name)) pieces.push('\n');
      else if (name === 'td' || name === 'th') pieces.push(' ');
      if (tag[1] === '' && SKIPPED.has(name)) at = skip(name, at);
    }
    TAG.lastIndex = at;
  }
  pieces.push(html.slice(at));
  return tidy(pieces.join(''));
}

function titleOf(html: string): string {
  const start = /<title\b[^<>]{0,200}>/i.exec(html);
  if (start === null) return '';
  const from = start.index + start[0].length;
  return html
    .slice(from, from + 300)
    .split('<')[0]!
    .trim();
}

function tidy(text: string): string {
  return decode(text)
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function decode(text: string): string {
  return text.replace(ENTITY, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? NAMED[name]! : whole;
    const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
    const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : '';
  });
}
