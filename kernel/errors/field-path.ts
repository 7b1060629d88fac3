import type { FieldError } from '../../foundation/base/gateway-error.ts';

/** The path of a bad field without the place that it is in: `/body/messages/0/role` → `messages[0].role`. */
export function fieldPath({ pointer }: FieldError): string {
  const [, ...parts] = pointer.split('/').slice(1);
  return parts.reduce(
    (path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`),
    '',
  );
}
