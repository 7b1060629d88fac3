import Type, { type Static } from 'typebox';
import type { Memory } from '../../../records/contract.ts';
import { Timestamp, toTimestamp } from './common.ts';

/** A memory as it is told (specification 1, Memory entry). */
export const MemorySchema = Type.Object({
  key: Type.String(),
  value: Type.String(),
  created_at: Timestamp,
  updated_at: Timestamp,
});

/** The `{key}` of a path. What cannot be a key is unknown, not malformed: 404. */
export const KeyParams = Type.Object({ key: Type.String() });

/** The `{key}` of a memory that is written. */
export const NewKeyParams = Type.Object({
  key: Type.String({
    pattern: '^(?!\\.{1,2}$)[^\\p{Cc}\\p{Cs}]{1,128}$',
    patternErrorMessage: 'must have 1 to 128 characters, without control characters, and be neither . nor ..',
    description: '1 to 128 characters, percent-encoded; no control characters, neither . nor ..',
  }),
});

/** What is to be remembered. */
export const MemoryBody = Type.Object({ value: Type.String({ minLength: 1, maxLength: 8192 }) });

/** A memory on the wire. */
export function toMemory({ key, value, createdAt, updatedAt }: Memory): Static<typeof MemorySchema> {
  return { key, value, created_at: toTimestamp(createdAt), updated_at: toTimestamp(updatedAt) };
}
