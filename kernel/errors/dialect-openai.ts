import type { ErrorKind, FieldError, GatewayError } from '../../foundation/base/gateway-error.ts';
import { fieldPath } from './field-path.ts';

/** `{error: {message, type, param, code}}`, as OpenAI's clients read it. */
export function openAiBody(error: GatewayError): object {
  return {
    error: {
      message: messageWithFields(error),
      type: TYPES[error.kind] ?? 'server_error',
      param: error.extras.param ?? firstParam(error.extras.errors),
      code: error.code,
    },
  };
}

const TYPES: Partial<Record<ErrorKind, string>> = {
  invalid: 'invalid_request_error',
  'too-large': 'invalid_request_error',
  'unsupported-media': 'invalid_request_error',
  'method-not-allowed': 'invalid_request_error',
  conflict: 'invalid_request_error',
  gone: 'invalid_request_error',
  'precondition-failed': 'invalid_request_error',
  'client-closed': 'invalid_request_error',
  unauthenticated: 'authentication_error',
  forbidden: 'permission_error',
  'not-found': 'not_found_error',
  'rate-limited': 'rate_limit_error',
};

/** The dialect has no list of fields, so the sentence names them all. */
function messageWithFields(error: GatewayError): string {
  const { errors } = error.extras;
  if (errors === undefined || errors.length === 0) return error.detail;
  return `${error.detail}: ${errors.map((field) => `${fieldPath(field)} ${field.message}`).join('; ')}`;
}

function firstParam(errors: readonly FieldError[] | undefined): string | null {
  return errors?.[0] === undefined ? null : fieldPath(errors[0]);
}
