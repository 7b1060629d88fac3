import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { GatewayError, orAborted, within } from 'agent-gateway';
import Docker from 'dockerode';
import { type SandboxEnd, SandboxErrors } from '../../contract.ts';
import {
  containerInput,
  containerName,
  containerSpec,
  DEADLINE_LABEL,
  dockerOptions,
  SANDBOX_LABEL,
} from './docker-container.ts';
import {
  type ContainerEngineOptions,
  type EngineRun,
  keepSweeping,
  LEFTOVER_MS,
  outOfMemory,
  type SandboxEngine,
  type WriteOutput,
} from './engine.ts';

/** What the Docker engine works with. */
export interface DockerEngineOptions extends ContainerEngineOptions {
  /** `DOCKER_HOST`; the local socket where it is undefined. */
  readonly host: string | undefined;
}

/** How long the stream may stay open once the container has ended. */
const DRAIN_MS = 2000;
const INSPECT_MS = 5000;
const CREATE_MS = 60_000;

/**
 * Code in Docker: one container each, made for it and removed after it. Images are never pulled.
 *
 * @throws ConfigurationError for a host that is no address
 */
export function openDockerEngine(options: DockerEngineOptions): SandboxEngine {
  const { images, allowNetwork, memoryBytes, startTimeoutMs, clock, ids, log } = options;
  const docker = new Docker(dockerOptions(options.host));
  let isPodman: boolean | undefined;

  async function run({ job, stop, started, stdout, stderr }: EngineRun): Promise<SandboxEnd> {
    const runId = ids.opaque();
    const image = images[job.language];
    const input = containerInput(job);
    const deadline = clock.now() + startTimeoutMs + job.timeoutMs + LEFTOVER_MS;
    const hasNetwork = allowNetwork && job.allowNetwork;
    let stream: Duplex | undefined;
    let wantedImage: string | undefined = image;
    try {
      isPodman ??= await isEngineOfPodman(docker);
      const plan = { job, runId, image, hasNetwork, memoryBytes, deadline, isPodman };
      const spec = containerSpec(plan, input.length);
      // Not aborted by `stop`: the engine would make the container all the same, after its removal.
      const container = await ask(AbortSignal.timeout(CREATE_MS), (signal) =>
        docker.createContainer({ ...spec, ...signal }),
      );
      stop.throwIfAborted();
      wantedImage = undefined;
      const streams = { stream: true, stdin: true, stdout: true, stderr: true, hijack: true };
      stream = (await ask(stop, (signal) => container.attach({ ...streams, ...signal }))) as Duplex;
      stream.on('data', createFrameReader(stdout, stderr));
      const drained = finished(stream, { writable: false }).catch(() => undefined);
      await ask(stop, (signal) => container.start(signal));
      started();
      stream.write('\n');
      stream.end(input);
      const ended = ask(stop, (signal) => container.wait(signal));
      // Only the stream shows that an engine went away.
      await Promise.race([ended, drained]);
      await within(DRAIN_MS, 'the end', Promise.all([ended, drained])).catch(() => inspect(container));
      const { StatusCode } = (await ended) as { StatusCode: number };
      return (await inspect(container)).State.OOMKilled ? outOfMemory(memoryBytes) : { exitCode: StatusCode };
    } catch (error) {
      if (!stop.aborted) log.warn({ err: error }, 'the Docker engine could not run code');
      throw dockerFailure(error, wantedImage);
    } finally {
      stream?.destroy();
      // Also where the answer to its creation never came: the gateway chose the name.
      await remove(containerName(runId));
    }
  }

  async function remove(name: string): Promise<void> {
    try {
      await removeContainer(docker, name);
    } catch (err) {
      log.warn({ err, container: name }, 'a container could not be removed now; the sweep will');
    }
  }

  const sweeping = keepSweeping(
    () => removeLeftovers(docker, clock.now()),
    {
      done: 'containers that a gateway had left were removed',
      failed: 'leftover containers could not be removed',
    },
    log,
  );
  return { graceMs: 0, run, ...sweeping };
}

/**
 * Asks the engine something, until the signal. The client alone would wait for ever where the engine goes away in the
 * middle of its answer.
 */
function ask<T>(
  abortSignal: AbortSignal,
  call: (options: { abortSignal: AbortSignal }) => Promise<T>,
): Promise<T> {
  return orAborted(call({ abortSignal }), abortSignal);
}

function inspect(container: Docker.Container): Promise<Docker.ContainerInspectInfo> {
  return ask(AbortSignal.timeout(INSPECT_MS), (signal) => container.inspect(signal));
}

async function isEngineOfPodman(docker: Docker): Promise<boolean> {
  const { Components } = await within(INSPECT_MS, 'the version of the engine', docker.version());
  return Components?.some(({ Name }) => Name === 'Podman Engine') ?? false;
}

/** Milliseconds for the list, and for each removal. */
const CALL_MS = 20_000;

/**
 * Removes containers that no gateway waits for any more: leftovers of a crashed gateway, of any of those that share the
 * engine. Returns how many; throws the first error of the engine, after trying all.
 */
async function removeLeftovers(docker: Docker, now: number): Promise<number> {
  const filters = JSON.stringify({ label: [SANDBOX_LABEL] });
  const containers = await ask(AbortSignal.timeout(CALL_MS), (signal) =>
    docker.listContainers({ all: true, filters, ...signal }),
  );
  const over = containers.filter(({ Labels }) => Number(Labels[DEADLINE_LABEL] ?? 0) < now);
  const failures: unknown[] = [];
  for (const { Id } of over) {
    try {
      await removeContainer(docker, Id);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return over.length;
}

/** Kills and removes a container; one that is gone is fine. */
async function removeContainer(docker: Docker, nameOrId: string): Promise<void> {
  try {
    await ask(AbortSignal.timeout(CALL_MS), (signal) =>
      docker.getContainer(nameOrId).remove({ force: true, v: true, ...signal }),
    );
  } catch (error) {
    if (statusOf(error) !== 404) throw error;
  }
}

/**
 * The engine's failure as `sandbox.unavailable`, which says what an operator can do. What the engine said is in the
 * cause.
 *
 * @param wantedImage the image, while the container is still to be created: only then is a 404 about it
 */
function dockerFailure(error: unknown, wantedImage: string | undefined): GatewayError {
  if (error instanceof GatewayError) return error;
  const extras = { cause: error };
  const status = statusOf(error);
  if (status === undefined)
    return SandboxErrors.unavailable('the Docker engine does not answer; is DOCKER_HOST right?', extras);
  if (status === 404 && wantedImage !== undefined) {
    return SandboxErrors.unavailable(
      `the Docker engine lacks the image ${wantedImage}; the gateway pulls none, so pull it there`,
      extras,
    );
  }
  return SandboxErrors.unavailable(`the Docker engine failed with status ${status}`, extras);
}

function statusOf(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' ? status : undefined;
}

const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * Takes the stream of a container without a terminal apart: frames of `[stream, 0, 0, 0, length]` and so many bytes
 * (Docker Engine API, "Attach to a container"). Any split of the bytes gives the same output.
 */
export function createFrameReader(stdout: WriteOutput, stderr: WriteOutput): WriteOutput {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let left = 0;
  return (bytes) => {
    let at = 0;
    while (at < bytes.length) {
      if (left > 0) {
        const part = bytes.subarray(at, at + left);
        (header[0] === STDERR ? stderr : stdout)(part);
        left -= part.length;
        at += part.length;
        continue;
      }
      const part = bytes.subarray(at, at + HEADER_BYTES - headerBytes);
      header.set(part, headerBytes);
      headerBytes += part.length;
      at += part.length;
      if (headerBytes < HEADER_BYTES) continue;
      headerBytes = 0;
      left = header.readUInt32BE(4);
    }
  };
}
