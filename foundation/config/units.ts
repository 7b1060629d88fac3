import { isIP, isIPv6 } from 'node:net';

/** Milliseconds of each unit. `d` is a day of 24 hours; Go has none, deployments want it. */
const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;

/** What a duration looks like, also for editors (JSON Schema). Linear: every group ends in a letter. */
export const DURATION_PATTERN = '^(?:\\d+(?:\\.\\d+)?(?:ms|s|m|h|d))+$|^\\d+(?:\\.\\d+)?$';

const WHOLE = new RegExp(DURATION_PATTERN);
const PART = /(\d+(?:\.\d+)?)(ms|[smhd])/g;
const BARE = /^\d+(?:\.\d+)?$/;
const MAX_LENGTH = 64;

/**
 * Reads a duration of Go's form (`30s`, `1h30m`, `720h`, `250ms`, `1.5h`, also `7d`); a bare number is seconds
 * (decisions 0.5). Returns whole milliseconds, or undefined when the text is no duration.
 */
export function parseDuration(text: string): number | undefined {
  if (text.length > MAX_LENGTH || !WHOLE.test(text)) return undefined;
  if (BARE.test(text)) return wholeMilliseconds(Number(text) * UNITS.s);
  let total = 0;
  for (const [, amount, unit] of text.matchAll(PART)) {
    total += Number(amount) * UNITS[unit as keyof typeof UNITS];
  }
  return wholeMilliseconds(total);
}

/**
 * The shortest text that `parseDuration` reads back as the same number of milliseconds, hours at most: `1h30m`, `0s`.
 */
export function formatDuration(milliseconds: number): string {
  let rest = milliseconds;
  let text = '';
  for (const unit of ['h', 'm', 's', 'ms'] as const) {
    const count = Math.floor(rest / UNITS[unit]);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * UNITS[unit];
  }
  return text === '' ? '0s' : text;
}

function wholeMilliseconds(value: number): number | undefined {
  const rounded = Math.round(value);
  return Number.isSafeInteger(rounded) ? rounded : undefined;
}

/** Bytes of each unit. `MB` and `MiB` are the same: 1 MB is 1,048,576 bytes (decisions 0.5). */
const BYTES = { K: 1024, M: 1024 ** 2, G: 1024 ** 3 } as const;

/** What a size looks like, also for editors (JSON Schema). */
export const SIZE_PATTERN = '^(?:\\d+ ?[Bb]?|\\d+(?:\\.\\d+)? ?[KMGkmg][Ii]?[Bb])$';

const SIZE = new RegExp(SIZE_PATTERN);
const PARTS = /^([\d.]+) ?([KMG])?/i;

/** Reads a size (`512`, `64 KiB`, `1MB`, `1.5GiB`). Returns whole bytes, or undefined when the text is no size. */
export function parseSize(text: string): number | undefined {
  if (text.length > MAX_LENGTH || !SIZE.test(text)) return undefined;
  const [, amount, prefix] = PARTS.exec(text) ?? [];
  const unit = prefix === undefined ? 1 : BYTES[prefix.toUpperCase() as keyof typeof BYTES];
  const bytes = Math.round(Number(amount) * unit);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** The text of a size in its largest whole unit: `1MiB`, `1500B`. `parseSize` reads it back as the same number. */
export function formatSize(bytes: number): string {
  for (const unit of ['G', 'M', 'K'] as const) {
    if (bytes > 0 && bytes % BYTES[unit] === 0) return `${bytes / BYTES[unit]}${unit}iB`;
  }
  return `${bytes}B`;
}

/** Where a server listens. */
export interface Address {
  /** IP address (version 6 without brackets) or host name. */
  readonly host: string;
  /** 0 lets the system choose a free port. */
  readonly port: number;
}

/** What an address looks like, for editors (JSON Schema); `parseAddress` is stricter. */
export const ADDRESS_PATTERN = '^(\\[[0-9A-Fa-f:.]+\\]|[^\\[\\]:\\s]*):(\\d{1,5})$';

const ADDRESS = new RegExp(ADDRESS_PATTERN);
const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*$/;
const EVERY_INTERFACE = '0.0.0.0';

/** Reads `host:port`, `[v6]:port` or `:port` (every interface). Returns undefined when the text is none of them. */
export function parseAddress(text: string): Address | undefined {
  const match = ADDRESS.exec(text);
  if (match === null) return undefined;
  const port = Number(match[2]);
  if (port > 65_535) return undefined;
  const written = match[1] ?? '';
  if (written === '') return { host: EVERY_INTERFACE, port };
  if (written.startsWith('[')) {
    const host = written.slice(1, -1);
    return isIPv6(host) ? { host, port } : undefined;
  }
  return isHost(written) ? { host: written, port } : undefined;
}

/** Is this an IP address (version 6 without brackets) or a host name? `1.2.3.999` is neither. */
export function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true;
  return !/^[\d.]+$/.test(text) && HOST_NAME.test(text);
}

/** What operators do about a URL that is not decodable: a password that holds a `%` has to have it as `%25`. */
export const WRITE_PERCENT = 'holds a % that begins no code, write it as %25';
