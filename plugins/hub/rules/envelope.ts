import { createHash, type KeyObject, sign, verify } from 'node:crypto';
import { NODE_ID } from '../../evolution/contract.ts';
import { ENVELOPE, signedText } from '../contract.ts';

/** Seconds that the clocks of signer and verifier may differ. */
export const CLOCK_SKEW_S = 300;
/** Bytes of a signature of Ed25519. */
const SIGNATURE_BYTES = 64;
const TIMESTAMP = /^[1-9]\d{0,11}$/;
const NONCE = /^[\x21-\x7e]{1,128}$/;

/** What is wrong with an envelope; each has a code of its own. */
export type EnvelopeProblem = 'incomplete' | 'clock' | 'signature';

/** A received envelope: complete and well formed, but not verified. */
export interface Envelope {
  readonly signer: string;
  readonly timestamp: string;
  readonly nonce: string;
  readonly signature: Buffer;
}

/** Reads the headers. Pure. */
export function readEnvelope(header: (name: string) => string | undefined): Envelope | EnvelopeProblem {
  const signer = header(ENVELOPE.node);
  const timestamp = header(ENVELOPE.timestamp);
  const nonce = header(ENVELOPE.nonce);
  const text = header(ENVELOPE.signature);
  if (signer === undefined || timestamp === undefined || nonce === undefined || text === undefined)
    return 'incomplete';
  if (!NODE_ID.test(signer) || !TIMESTAMP.test(timestamp) || !NONCE.test(nonce)) return 'incomplete';
  const signature = Buffer.from(text, 'base64');
  // Only the canonical base64: another spelling of the same bytes would look like another signature in a comparison of
  // texts.
  if (signature.length !== SIGNATURE_BYTES || signature.toString('base64') !== text) return 'signature';
  return { signer, timestamp, nonce, signature };
}

/** A request as it was received. */
export interface SignedRequest {
  readonly method: string;
  /** The path with its query. */
  readonly target: string;
  readonly body: Uint8Array;
}

/** Why an envelope is not valid for a request, under a key, at a time. Undefined for a valid one. Pure. */
export function envelopeProblem(
  envelope: Envelope,
  request: SignedRequest,
  key: KeyObject,
  /** Unix milliseconds. */
  now: number,
): EnvelopeProblem | undefined {
  const { signer, timestamp, signature } = envelope;
  if (Math.abs(now / 1000 - Number(timestamp)) > CLOCK_SKEW_S) return 'clock';
  const text = Buffer.from(signedText({ ...request, timestamp, signer }));
  return verify(null, text, key, signature) ? undefined : 'signature';
}

/**
 * The hashes that are stored of an accepted envelope, so that neither its nonce nor its signed text is accepted again
 * under the same key.
 */
export function spentOf(
  { signer, nonce, timestamp }: Envelope,
  request: SignedRequest,
  /** In base64. */
  publicKey: string,
): readonly string[] {
  const digest = (kind: string, text: string) =>
    createHash('sha256').update(`${kind}\n${publicKey}\n${text}`).digest('hex');
  // The text and not the signature: this holds even if one text could have two valid signatures.
  const text = signedText({ ...request, timestamp, signer });
  return [digest('nonce', `${signer}\n${nonce}`), digest('text', text)];
}

/** The headers that sign a request. */
export function signRequest(
  request: SignedRequest,
  by: { readonly signer: string; readonly key: KeyObject; readonly nonce: string; readonly now: number },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(by.now / 1000));
  const text = Buffer.from(signedText({ ...request, timestamp, signer: by.signer }));
  return {
    [ENVELOPE.node]: by.signer,
    [ENVELOPE.timestamp]: timestamp,
    [ENVELOPE.nonce]: by.nonce,
    [ENVELOPE.signature]: sign(null, text, by.key).toString('base64'),
  };
}
