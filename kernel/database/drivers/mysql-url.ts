/** `user:password@tcp(host:port)/database?parameters`, the form that the Go driver calls a DSN. */
const GO_DSN = /^(?<user>[^:@/]*)(?::(?<password>.*))?@tcp\((?<host>[^)]*)\)\/(?<database>[^?]*)/s;

/**
 * A MySQL address as a URL. `MYSQL_DSN` may hold the Go driver's form; its parameters (`parseTime`, `charset`, `loc`) tell
 * that driver how to convert values and mean nothing here.
 */
export function mysqlUrl(address: string): string {
  const dsn = GO_DSN.exec(address)?.groups;
  if (dsn === undefined) return address;
  const url = new URL(`mysql://${dsn.host}/${dsn.database}`);
  url.username = encodeURIComponent(dsn.user ?? '');
  url.password = encodeURIComponent(dsn.password ?? '');
  return url.href;
}
