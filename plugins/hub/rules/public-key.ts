import { createPublicKey, type KeyObject } from 'node:crypto';

/** Bytes of a public key of Ed25519. */
const BYTES = 32;
/** The prefix of the 32 bytes in the DER form (RFC 8410). */
const DER_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * Points of small order, zero among them, without the bit of the sign: under such a key, signatures made without a
 * private key are valid (RFC 8032, 8.4, and "Taming the many EdDSAs", table 6a).
 */
const WEAK: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
]);

/**
 * Why a text is no public key of a node, which is 32 bytes in base64 and no weak key. Undefined for a valid one. Pure.
 */
export function publicKeyProblem(text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== BYTES || bytes.toString('base64') !== text) return 'must be 32 bytes in base64';
  bytes[BYTES - 1]! &= 0x7f;
  return WEAK.has(bytes.toString('hex')) ? 'is no key that only its owner can sign with' : undefined;
}

/** The key of 32 bytes in base64. */
export function publicKeyOf(text: string): KeyObject {
  const key = Buffer.concat([DER_PREFIX, Buffer.from(text, 'base64')]);
  return createPublicKey({ key, format: 'der', type: 'spki' });
}

/** 32 bytes in base64. */
export function publicKeyText(key: KeyObject): string {
  return key.export({ format: 'der', type: 'spki' }).subarray(DER_PREFIX.length).toString('base64');
}
