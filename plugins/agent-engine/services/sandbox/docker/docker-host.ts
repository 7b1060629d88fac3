import type Docker from 'dockerode';

/**
 * How the client reaches the engine that `DOCKER_HOST` names. Certificates for TLS come from `DOCKER_CERT_PATH`, which the client reads
 * itself. Throws a TypeError for an address of another kind.
 */
export function dockerOptions(host: string | undefined): Docker.DockerOptions {
  if (host === undefined || host === '') return { socketPath: '/var/run/docker.sock' };
  if (host.startsWith('unix://')) return { socketPath: host.slice('unix://'.length) };
  const url = URL.canParse(host) ? new URL(host) : undefined;
  if (url?.protocol === 'tcp:') return { host: url.hostname, port: url.port || '2375' };
  if (url?.protocol === 'http:') return { protocol: 'http', host: url.hostname, port: url.port || '80' };
  if (url?.protocol === 'https:') return { protocol: 'https', host: url.hostname, port: url.port || '443' };
  throw new TypeError('DOCKER_HOST: must be unix:// and a path, or tcp://host:port');
}
