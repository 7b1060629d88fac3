/** `/v1/me` for `http://gateway.example/v1/me`: a server takes both (RFC 9112, 3.2.2). */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const [, rest] = /^https?:\/\/[^/?]+(.*)$/i.exec(target) ?? [];
  if (rest === undefined) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}
