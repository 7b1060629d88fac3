import { fileURLToPath } from 'node:url';
import protoLoader from '@grpc/proto-loader';
import type { GrpcErrorStatus } from '../errors/render-grpc.ts';

const RICH_ERRORS = protoLoader.loadSync(
  fileURLToPath(new URL('./proto/google/rpc/status.proto', import.meta.url)),
  { keepCase: true },
);

type MessageType = protoLoader.MessageTypeDefinition<object, object>;

const STATUS = RICH_ERRORS['google.rpc.Status'] as MessageType;
const BAD_REQUEST = RICH_ERRORS['google.rpc.BadRequest'] as MessageType;
const BAD_REQUEST_URL = 'type.googleapis.com/google.rpc.BadRequest';

/** Trailer in which clients of all languages look for the details of an error. */
export const STATUS_DETAILS = 'grpc-status-details-bin';

/** The value of `grpc-status-details-bin`: a `google.rpc.Status` that names the bad fields of the request. */
export function encodeStatusDetails({ code, details, violations }: GrpcErrorStatus): Buffer {
  const badRequest = BAD_REQUEST.serialize({ field_violations: violations });
  return STATUS.serialize({
    code,
    message: details,
    details: [{ type_url: BAD_REQUEST_URL, value: badRequest }],
  });
}

/** A bad field as `decodeStatusDetails` reads it. */
export interface ReadViolation {
  readonly field: string;
  readonly description: string;
}

/** The bad fields that an error of the gateway named, for clients. */
export function decodeStatusDetails(bytes: Buffer): readonly ReadViolation[] {
  const { details = [] } = STATUS.deserialize(bytes) as {
    details?: { type_url: string; value: Buffer }[];
  };
  const found = details.find(({ type_url }) => type_url === BAD_REQUEST_URL);
  if (found === undefined) return [];
  const { field_violations = [] } = BAD_REQUEST.deserialize(found.value) as {
    field_violations?: ReadViolation[];
  };
  return field_violations;
}
